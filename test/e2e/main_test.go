package e2e

import (
	"errors"
	"io/fs"
	"os"
	"testing"
	"time"

	"sandbox-checker/test/e2e/internal/debian"
)

// run is the one run of the suite that this process is. TestMain makes it and takes it away.
var run suiteRun

// historyDir is where a look without --state-dir, as an operator makes it, remembers.
const historyDir = "/run/sandbox-checker"

func TestMain(m *testing.M) { os.Exit(runSuite(m)) }

func runSuite(m *testing.M) int {
	if os.Geteuid() != 0 {
		// A skipped suite looks like a passed one, so this is a failure.
		return suite.Complain(errors.New("needs root: it starts containerd and makes sandboxes"))
	}
	if err := debian.Install(neededFiles); err != nil {
		return suite.Complain(err)
	}
	suite.SweepDead(func(pid int) error { return runOf(pid).remove() })
	before := machineState()
	_, err := os.Lstat(historyDir)
	ownHistory := errors.Is(err, fs.ErrNotExist)
	if run, err = newRun(); err != nil {
		return suite.Complain(err)
	}
	suite.OnSignal(run.remove)
	code := m.Run()
	if err := run.remove(); err != nil {
		return suite.Complain(err)
	}
	if ownHistory {
		if err := os.RemoveAll(historyDir); err != nil {
			return suite.Complain(err)
		}
	}
	// What others do is over in a moment; what is left stays.
	eventually(20*time.Second, func() bool { return leftByRun(before, machineState()) == nil })
	if err := leftByRun(before, machineState()); err != nil {
		return suite.Complain(err)
	}
	return code
}
