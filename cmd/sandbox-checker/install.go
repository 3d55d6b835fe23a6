package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

func (c *cli) install(args []string) (int, error) {
	if len(args) != 1 || args[0] == "" {
		return 0, fmt.Errorf("install: want one directory")
	}
	if strings.HasPrefix(args[0], "-") {
		return 0, fmt.Errorf("install: unknown flag %q: it takes a directory alone", args[0])
	}
	path, err := install(args[0])
	if err != nil {
		return 0, fmt.Errorf("install: %w", err)
	}
	return 0, c.print("installed " + path + "\n")
}

// install copies this program to DIR/sandbox-checker, atomically: NPD may run the old one at that moment. An image FROM
// scratch has no cp.
func install(dir string) (string, error) {
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return "", err
	}
	defer func() { _ = self.Close() }() // read only
	path := filepath.Join(dir, "sandbox-checker")
	return path, inTime(path, writeWithin, endWithin, func(stopped func() error) error {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		return replace(path, 0o755, func(w io.Writer) error {
			_, err := io.Copy(w, self)
			return err
		}, stopped)
	})
}
