package qemu

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
)

// run is the one run of the suite that this process is. TestMain makes it and takes it away.
var run suiteRun

// keep is for whoever wants the captures as test data: plugin/checks/testdata has some.
var keep = flag.String("keep", "", "the directory where captures of the node are kept")

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(runSuite(m))
}

func runSuite(m *testing.M) int {
	if err := installPackages(); err != nil {
		return complain(err)
	}
	sweepDeadRuns()
	var err error
	if run, err = newRun(); err != nil {
		return complain(err)
	}
	removeOnSignal()
	code := m.Run()
	if err := run.remove(); err != nil {
		return complain(err)
	}
	return code
}

// removeOnSignal keeps Ctrl-C from leaving machines behind.
func removeOnSignal() {
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		<-end
		if err := run.remove(); err != nil {
			complain(err)
		}
		os.Exit(130)
	}()
}

func complain(err error) int {
	fmt.Fprintln(os.Stderr, "qemu:", err)
	return 1
}
