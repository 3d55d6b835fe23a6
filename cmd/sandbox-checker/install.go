package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

// install copies this program to DIR/sandbox-checker, atomically: NPD may run the old one at that moment. An image FROM
// scratch has no cp.
func install(dir string) (string, error) {
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return "", err
	}
	defer func() { _ = self.Close() }() // read only
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "sandbox-checker")
	return path, writeAtomically(path, 0o755, func(w io.Writer) error {
		_, err := io.Copy(w, self)
		return err
	})
}

// writeAtomically writes beside path and renames: whoever reads path sees the old file or the whole new one.
// A signal that would end the process waits until the new file is there or gone.
func writeAtomically(path string, mode os.FileMode, write func(io.Writer) error) (err error) {
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer signal.Stop(end)
	f, err := os.CreateTemp(filepath.Dir(path), ".sandbox-checker-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if err := write(f); err != nil {
		return err
	}
	if err := f.Chmod(mode); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	select {
	case sig := <-end:
		return fmt.Errorf("%s: %s", path, sig)
	default:
	}
	return os.Rename(f.Name(), path)
}
