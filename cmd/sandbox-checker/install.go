package main

import (
	"io"
	"os"
	"path/filepath"
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
func writeAtomically(path string, mode os.FileMode, write func(io.Writer) error) (err error) {
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
	return os.Rename(f.Name(), path)
}
