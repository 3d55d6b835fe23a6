package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// cniPlugins is where Debian's containernetworking-plugins lie.
const cniPlugins = "/usr/lib/cni"

// neededFiles says which file shows that a Debian package is there.
var neededFiles = map[string]string{
	"containerd":                  "/usr/bin/containerd",
	"runc":                        "/usr/sbin/runc",
	"containernetworking-plugins": cniPlugins + "/bridge",
	"iproute2":                    "/usr/sbin/ip",
	"iptables":                    "/usr/sbin/iptables",
	// CRI-O: what it needs to run, and what is built from C.
	"conmon":         "/usr/bin/conmon",
	"gcc":            "/usr/bin/gcc",
	"libc6-dev":      "/usr/include/stdlib.h",
	"libseccomp-dev": "/usr/include/seccomp.h",
	"pkg-config":     "/usr/bin/pkg-config",
}

// installPackages installs the Debian packages that are missing, and nothing where all are there.
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
	started := time.Now()
	give, err := takePackageLock()
	if err != nil {
		return err
	}
	defer give()
	if err := apt("update", "-q"); err != nil {
		return err
	}
	if err := apt(append([]string{"install", "-y", "-q", "--no-install-recommends"}, missing...)...); err != nil {
		return err
	}
	fmt.Printf("e2e: installed %s in %s\n", strings.Join(missing, " "), time.Since(started).Round(time.Second))
	return nil
}

func apt(args ...string) error {
	cmd := exec.Command("apt-get", args...)
	// policy-rc.d is not touched: where services start by themselves, a system containerd does no harm to ours.
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("apt-get %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// takePackageLock is for the packages of this module, which go test runs beside each other: apt itself makes none wait for the
// lists of packages.
func takePackageLock() (give func(), err error) {
	dir, err := os.Open("/var/lib/apt")
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX); err != nil {
		return nil, err
	}
	return func() { _ = dir.Close() }, nil
}
