// Package build builds the programs of a run, each of a version that a go.mod fixes.
package build

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"sandbox-checker/test/e2e/internal/process"
)

// Go is a Go program. It is static unless parts of it are in C.
type Go struct {
	Module  string // the directory whose go.mod fixes the version
	Package string
	Tags    string
	Cgo     bool
	Flags   []string // more of go build
}

// Build builds the program into a file.
func (g Go) Build(out string) error {
	// go build takes it from its own directory.
	out, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	args := append([]string{"build", "-o", out, "-tags", g.Tags}, g.Flags...)
	cmd := exec.Command("go", append(args, g.Package)...)
	cmd.Dir = g.Module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if g.Cgo {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	}
	return Timed(filepath.Base(out), cmd)
}

// Timed runs a command that builds something, and says how long it took.
func Timed(what string, cmd *exec.Cmd) error {
	started := time.Now()
	if err := process.Run(cmd); err != nil {
		return fmt.Errorf("build %s: %w", what, err)
	}
	fmt.Printf("built %s in %s\n", what, time.Since(started).Round(100*time.Millisecond))
	return nil
}
