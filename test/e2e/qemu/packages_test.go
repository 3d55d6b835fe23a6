package qemu

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// neededFiles says which file shows that a Debian package is there.
var neededFiles = map[string]string{
	"qemu-system-x86":             "/usr/bin/qemu-system-x86_64",
	"busybox-static":              "/usr/bin/busybox",
	"cpio":                        "/usr/bin/cpio",
	"e2fsprogs":                   "/usr/sbin/mkfs.ext4",
	"containerd":                  "/usr/bin/containerd",
	"runc":                        "/usr/sbin/runc",
	"containernetworking-plugins": "/usr/lib/cni/bridge",
}

// installPackages installs the Debian packages that are missing, and nothing where all are there. The suite on the
// machine's own runtime, which may run beside this one, does the same: a lock on apt's directory lets one of them wait.
func installPackages() error {
	var missing []string
	for name, file := range neededFiles {
		if _, err := os.Stat(file); err != nil {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	if os.Geteuid() != 0 {
		return fmt.Errorf("missing packages, which only root can install: apt-get install %s", strings.Join(missing, " "))
	}
	started := time.Now()
	lock, err := os.Open("/var/lib/apt")
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }() // which gives it back
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	if err := aptUpdate(); err != nil {
		return err
	}
	args := append([]string{"install", "-y", "-q", "--no-install-recommends"}, missing...)
	if err := apt("", args...); err != nil {
		return err
	}
	fmt.Printf("qemu: installed %s in %s\n", strings.Join(missing, " "), time.Since(started).Round(time.Second))
	return nil
}

var aptUpdate = sync.OnceValue(func() error { return apt("", "update", "-q") })

func apt(dir string, args ...string) error {
	return command(dir, "apt-get", append([]string{"-o", "DPkg::Lock::Timeout=600"}, args...)...)
}

func command(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
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
		if err = aptUpdate(); err == nil {
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
	if err := command(dir, "dpkg", "-x", packages[0], "."); err != nil {
		return kernel{}, err
	}
	fmt.Printf("qemu: fetched %s in %s\n", name, time.Since(started).Round(100*time.Millisecond))
	version := strings.TrimPrefix(name, "linux-image-")
	return kernel{filepath.Join(dir, "boot", "vmlinuz-"+version), filepath.Join(dir, "lib/modules", version), version}, nil
})

// download tries again with new lists: those of yesterday name a package that is gone.
func download(dir, name string) error {
	if apt(dir, "download", "-q", name) == nil {
		return nil
	}
	return errors.Join(aptUpdate(), apt(dir, "download", "-q", name))
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
