package e2e

import (
	"syscall"
	"testing"
	"time"
)

// TestFIFOAmongTheFiles: a named pipe that is called like a configuration. containerd opens it when it next reads its
// directory, and waits for ever. The check must not wait with it.
func TestFIFOAmongTheFiles(t *testing.T) { onEachContainerd(t, testFIFO) }

func testFIFO(t *testing.T, f flavour) {
	n := newNode(t, f, "fifo", ownNetwork)
	n.healNetwork(t)
	pipe := n.conf("00-pipe.conf")
	step(t, "before the runtime looks, pods start and the check cannot tell", func(t *testing.T) {
		if err := syscall.Mkfifo(pipe, 0o644); err != nil {
			t.Fatal(err)
		}
		time.Sleep(settled)
		n.checkNetwork(t, want{2, []string{pipe, "not a regular file"}})
		n.proveByPod(t, true)
	})
	step(t, "then the runtime hangs, and the check says that in time", func(t *testing.T) {
		n.reload(t)
		if !eventually(5*time.Second, func() bool { _, err := n.tryFor("1s", "info"); return err != nil }) {
			t.Fatal("the runtime still answers: this proves nothing")
		}
		got := check(t, want{2, []string{n.socket, "no answer"}},
			"cni-config", "--runtime-endpoint", n.endpoint(), "--timeout", askedTimeout)
		if got.took > mustEnd {
			t.Errorf("took %s with --timeout %s", got.took, askedTimeout)
		}
		hangs := pod{name: "hangs-" + f.name}
		if _, err := n.tryFor("1s", "runp", n.jsonFile(t, "pod-hangs", hangs.config(n))); err == nil {
			t.Error("a sandbox starts")
		}
	})
	step(t, "a restart does not help while it is there", func(t *testing.T) {
		n.end(t, syscall.SIGTERM)
		n.launch(t)
		if n.answers(3 * time.Second) {
			t.Error("the runtime answers")
		}
		n.end(t, syscall.SIGKILL)
	})
	step(t, "without it all is well", func(t *testing.T) {
		remove(t, pipe)
		n.start(t)
		time.Sleep(settled)
		n.checkNetwork(t, want{exit: 0})
		n.proveByPod(t, true)
	})
}
