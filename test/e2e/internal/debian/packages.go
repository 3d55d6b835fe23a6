// Package debian installs and unpacks Debian's packages.
package debian

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"sandbox-checker/test/e2e/internal/process"
)

// Install installs the packages that are missing, and does nothing where all are there. needed says which file shows that a
// package is there. Without root it names what is missing.
func Install(needed map[string]string) error {
	missing := missingOf(needed)
	if len(missing) == 0 {
		return nil
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("missing packages, which only root can install: apt-get install %s", strings.Join(missing, " "))
	}
	started := time.Now()
	unlock, err := lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := update(); err != nil {
		return err
	}
	if err := Apt("", append([]string{"install", "-y", "-q", "--no-install-recommends"}, missing...)...); err != nil {
		return err
	}
	fmt.Printf("installed %s in %s\n", strings.Join(missing, " "), time.Since(started).Round(time.Second))
	return nil
}

func missingOf(needed map[string]string) []string {
	var missing []string
	for name, file := range needed {
		if _, err := os.Stat(file); err != nil {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	return missing
}

// lock is for the packages of this module, which go test runs beside each other: apt itself makes none wait for the lists of
// packages.
func lock() (unlock func(), err error) {
	dir, err := os.Open("/var/lib/apt")
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX); err != nil {
		_ = dir.Close() // the error above is the one to tell
		return nil, fmt.Errorf("lock /var/lib/apt: %w", err)
	}
	return func() { _ = dir.Close() }, nil
}

// Update fetches the lists of packages, once in a process.
func Update() error {
	unlock, err := lock()
	if err != nil {
		return err
	}
	defer unlock()
	return update()
}

// update is for who has the lock.
var update = sync.OnceValue(func() error { return Apt("", "update", "-q") })

// Apt runs apt-get in a directory, "" for this one.
func Apt(dir string, args ...string) error {
	cmd := exec.Command("apt-get", append([]string{"-o", "DPkg::Lock::Timeout=600"}, args...)...)
	cmd.Dir = dir
	// policy-rc.d is not touched: where services start by themselves, a system containerd does no harm to a suite's.
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	return process.Run(cmd)
}

// Unpack unpacks a package's file below root. Nothing is installed.
func Unpack(file, root string) error { return process.Run(exec.Command("dpkg", "-x", file, root)) }
