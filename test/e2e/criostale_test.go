package e2e

import (
	"syscall"
	"testing"
	"time"

	"sandbox-checker/test/e2e/internal/process"
)

// TestPowerCutOnCRIO: after a power cut CRI-O deletes every sandbox and container, so the incident's container does not
// outlive it. Silence is right there: the pod starts anew.
func TestPowerCutOnCRIO(t *testing.T) {
	n := newNode(t, crio, "cut")
	waits := pod{name: "k7q2x"}
	stale := n.create(t, n.run(t, waits), waits, 0)
	time.Sleep(grownOld)
	n.checkStale(t, want{exit: 0})
	n.powerCut(t)
	n.start(t)
	step(t, "nothing is listed and nothing is said", func(t *testing.T) {
		if all := n.do(t, "pods", "-q") + n.do(t, "ps", "-a", "-q"); all != "" {
			t.Errorf("CRI-O lists %s after the cut: it may hold %s", all, stale)
		}
		live := n.checkStale(t, want{exit: 0})
		n.checkCapture(t, live, "stale-created", soon...)
	})
	step(t, "the pod starts anew", func(t *testing.T) {
		n.do(t, "start", n.create(t, n.run(t, waits), waits, 0))
		n.checkStale(t, want{exit: 0})
	})
}

// TestKilledCRIO: all processes are killed and what lies in memory stays. A created container has a process on CRI-O, so it
// has exited then, and the kubelet makes the next one.
func TestKilledCRIO(t *testing.T) {
	n := newNode(t, crio, "killed")
	waits := pod{name: "k7q2x"}
	created := n.create(t, n.run(t, waits), waits, 0)
	n.end(t, syscall.SIGKILL)
	process.KillAll(n.traces().processes)
	n.start(t)
	time.Sleep(grownOld)
	if state := n.stateOf(t, created); state != "CONTAINER_EXITED" {
		t.Errorf("the container is %s, want it exited", state)
	}
	n.checkStale(t, want{exit: 0})
}
