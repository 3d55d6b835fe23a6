package qemu

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"sandbox-checker/test/e2e/internal/debian"
)

// neededFiles says which file shows that a Debian package is there: what debian.Install wants to know.
var neededFiles = map[string]string{
	"qemu-system-x86":             "/usr/bin/qemu-system-x86_64",
	"busybox-static":              "/usr/bin/busybox",
	"cpio":                        "/usr/bin/cpio",
	"e2fsprogs":                   "/usr/sbin/mkfs.ext4",
	"containerd":                  "/usr/bin/containerd",
	"runc":                        "/usr/sbin/runc",
	"containernetworking-plugins": "/usr/lib/cni/bridge",
}

// A kernel is Debian's, unpacked: the image, and the directory of its modules.
type kernel struct{ image, modules, version string }

// fetchKernel downloads Debian 12's kernel for virtual machines, a sixth of the size of the ordinary one, and unpacks it
// into the run's directory. Nothing of it is installed.
var fetchKernel = sync.OnceValues(func() (kernel, error) {
	started := time.Now()
	name, err := newestKernel()
	if err != nil {
		// A machine that has installed its packages long ago may have no lists any more.
		if err = debian.Update(); err == nil {
			name, err = newestKernel()
		}
	}
	if err != nil {
		return kernel{}, err
	}
	dir := filepath.Join(run.dir, "kernel")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return kernel{}, err
	}
	if err := download(dir, name); err != nil {
		return kernel{}, err
	}
	packages, _ := filepath.Glob(filepath.Join(dir, "*.deb"))
	if len(packages) != 1 {
		return kernel{}, fmt.Errorf("apt-get download %s: %d packages", name, len(packages))
	}
	if err := debian.Unpack(packages[0], dir); err != nil {
		return kernel{}, err
	}
	fmt.Printf("fetched %s in %s\n", name, time.Since(started).Round(100*time.Millisecond))
	version := strings.TrimPrefix(name, "linux-image-")
	return kernel{filepath.Join(dir, "boot", "vmlinuz-"+version), filepath.Join(dir, "lib/modules", version), version}, nil
})

// download tries again with new lists: those of yesterday name a package that is gone.
func download(dir, name string) error {
	if debian.Apt(dir, "download", "-q", name) == nil {
		return nil
	}
	return errors.Join(debian.Update(), debian.Apt(dir, "download", "-q", name))
}

var kernelName = regexp.MustCompile(`^linux-image-6\.1\.0-(\d+)-cloud-amd64$`)

func newestKernel() (string, error) {
	out, err := exec.Command("apt-cache", "pkgnames", "linux-image-6.1.0-").Output()
	if err != nil {
		return "", fmt.Errorf("apt-cache pkgnames: %w", err)
	}
	newest, name := -1, ""
	for _, word := range strings.Fields(string(out)) {
		if m := kernelName.FindStringSubmatch(word); m != nil {
			if n, err := strconv.Atoi(m[1]); err == nil && n > newest {
				newest, name = n, word
			}
		}
	}
	if name == "" {
		return "", errors.New("apt-cache knows no linux-image-6.1.0-*-cloud-amd64")
	}
	return name, nil
}
