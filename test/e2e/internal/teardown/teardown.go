// Package teardown takes away runs of a suite that did not end by themselves. A run has one directory below /tmp, named by a
// prefix of its suite and the number of its process, and all else that it made is found by that name.
package teardown

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"sandbox-checker/test/e2e/internal/process"
)

// A Suite is what all of its runs have in common.
type Suite struct {
	Name   string // the package's: its test binary is NAME.test
	Prefix string // of the directories of its runs
}

// Dir is the directory of the run that is, or was, this process.
func (s Suite) Dir(pid int) string { return filepath.Join("/tmp", s.Prefix+strconv.Itoa(pid)) }

// SweepDead calls remove for the runs that were killed: go test's own -timeout gives no chance to tidy up. An error of it is
// told on stderr and does not keep the next run from beginning.
func (s Suite) SweepDead(remove func(pid int) error) {
	old, _ := filepath.Glob(filepath.Join("/tmp", s.Prefix+"*"))
	for _, dir := range old {
		pid, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(dir), s.Prefix))
		if err != nil || process.Runs(pid, s.Name+".test") && pid != os.Getpid() {
			continue // not ours, or not over
		}
		fmt.Printf("%s: taking away what an earlier run left: %s\n", s.Name, dir)
		if err := remove(pid); err != nil {
			s.Complain(err)
		}
	}
}

// OnSignal keeps Ctrl-C from leaving anything behind: remove is called, and the process ends.
func (s Suite) OnSignal(remove func() error) {
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		<-end
		if err := remove(); err != nil {
			s.Complain(err)
		}
		os.Exit(130)
	}()
}

// Complain tells an error on stderr, and gives the exit status of a suite that fails for it.
func (s Suite) Complain(err error) int {
	fmt.Fprintf(os.Stderr, "%s: %v\n", s.Name, err)
	return 1
}
