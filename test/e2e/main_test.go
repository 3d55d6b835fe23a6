package e2e

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// run is the one run of the suite that this process is. TestMain makes it and takes it away.
var run suiteRun

func TestMain(m *testing.M) { os.Exit(runSuite(m)) }

func runSuite(m *testing.M) int {
	if os.Geteuid() != 0 {
		// A skipped suite looks like a passed one, so this is a failure.
		return complain("needs root: it starts containerd and makes sandboxes")
	}
	if err := installPackages(); err != nil {
		return complain(err.Error())
	}
	sweepDeadRuns()
	before := machineState()
	var err error
	if run, err = newRun(); err != nil {
		return complain(err.Error())
	}
	removeOnSignal()
	code := m.Run()
	if err := run.remove(); err != nil {
		return complain(err.Error())
	}
	// What others do is over in a moment; what is left stays.
	eventually(20*time.Second, func() bool { return leftByRun(before, machineState()) == nil })
	if err := leftByRun(before, machineState()); err != nil {
		return complain(err.Error())
	}
	return code
}

// removeOnSignal keeps Ctrl-C from leaving containers behind.
func removeOnSignal() {
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		<-end
		if err := run.remove(); err != nil {
			complain(err.Error())
		}
		os.Exit(130)
	}()
}

func complain(what string) int {
	fmt.Fprintln(os.Stderr, "e2e:", what)
	return 1
}
