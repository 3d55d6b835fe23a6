package qemu

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sandbox-checker/test/e2e/internal/process"
	"sandbox-checker/test/e2e/internal/teardown"
)

// A suiteRun owns everything a run makes: one directory, and machines whose disks lie in it. So what a killed run left is
// found by the next one. A port goes with its machine.
type suiteRun struct{ dir string }

var suite = teardown.Suite{Name: "qemu", Prefix: "scqemu-"}

func runOf(pid int) suiteRun { return suiteRun{dir: suite.Dir(pid)} }

func newRun() (suiteRun, error) {
	r := runOf(os.Getpid())
	if err := os.MkdirAll(r.tmp(), 0o755); err != nil {
		return r, err
	}
	return r, os.Setenv("TMPDIR", r.tmp()) // what a test makes for itself goes with the run too
}

// remove takes the run away and says what would not go: it looks at the machine, not at what it did.
func (r suiteRun) remove() error {
	process.KillAll(r.processes)
	if err := os.RemoveAll(r.dir); err != nil {
		return err
	}
	process.KillAll(r.processes) // a test may have started one more; without disks there is no next one
	if left := r.processes(); len(left) > 0 {
		return fmt.Errorf("left behind: processes %v", left)
	}
	if _, err := os.Lstat(r.dir); err == nil {
		return fmt.Errorf("left behind: %s", r.dir)
	}
	return nil
}

func (r suiteRun) tmp() string { return filepath.Join(r.dir, "tmp") }

// processes are all that have inherited where the run's temporary files lie, and its machines: QEMU with a disk in its directory.
func (r suiteRun) processes() []int {
	return append(process.WithEnv("TMPDIR="+r.tmp()), process.With(func(exe string, args []string) bool {
		return strings.HasPrefix(filepath.Base(exe), "qemu-system") && strings.Contains(strings.Join(args, " "), r.dir+"/")
	})...)
}
