package bench

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Inside calls do in mounts of its own, where each directory of binds, by its place, is seen. What do starts sees them too;
// the rest of this process does not.
func Inside(binds map[string]string, do func() error) error {
	done := make(chan error)
	go func() {
		// Mounts belong to the thread. It is never given back, so it ends with this function.
		runtime.LockOSThread()
		done <- inside(binds, do)
	}()
	return <-done
}

func inside(binds map[string]string, do func() error) error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("unshare mounts: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	for place, dir := range binds {
		if _, err := os.Stat(place); err != nil {
			return err
		}
		if err := unix.Mount(dir, place, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("mount %s on %s: %w", dir, place, err)
		}
	}
	return do()
}
