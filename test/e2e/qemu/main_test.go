package qemu

import (
	"flag"
	"os"
	"testing"

	"sandbox-checker/test/e2e/internal/debian"
)

// run is the one run of the suite that this process is. TestMain makes it and takes it away.
var run suiteRun

// captures is for whoever wants them as test data: plugin/checks/testdata has some.
var captures = flag.String("captures", "", "the directory where captures of the node are kept")

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(runSuite(m))
}

func runSuite(m *testing.M) int {
	if err := debian.Install(neededFiles); err != nil {
		return suite.Complain(err)
	}
	suite.SweepDead(func(pid int) error { return runOf(pid).remove() })
	var err error
	if run, err = newRun(); err != nil {
		return suite.Complain(err)
	}
	suite.OnSignal(run.remove)
	code := m.Run()
	if err := run.remove(); err != nil {
		return suite.Complain(err)
	}
	return code
}
