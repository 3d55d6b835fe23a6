package e2e

import (
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

func (n *node) repair(t *testing.T, flags ...string) answer {
	t.Helper()
	args := append([]string{"repair", "stale-created", "--runtime-endpoint", n.endpoint()}, append(soon, flags...)...)
	got := askWith(t, exec.Command(built(t, buildChecker), args...))
	t.Logf("repair %v: exit %d\n%s%s", flags, got.exit, got.line, got.stderr)
	return got
}

// TestRepair: among look-alikes only the container that keeps its pod waiting is removed.
func TestRepair(t *testing.T) {
	n := newNode(t, containerd1, "repair")
	stale := n.create(t, n.run(t, pod{name: "stale"}), pod{name: "stale"}, 0)
	second := n.create(t, n.run(t, pod{name: "second"}), pod{name: "second"}, 0)
	overtaken := n.create(t, n.run(t, pod{name: "overtaken"}), pod{name: "overtaken"}, 0)
	exited := n.create(t, n.run(t, pod{name: "exited"}), pod{name: "exited"}, 0)
	n.do(t, "start", exited)
	time.Sleep(grownOld)
	n.powerCut(t)
	n.start(t)
	kept := n.lookAlikes(t, 18, overtaken, exited)

	step(t, "the dry run lists and changes nothing", func(t *testing.T) {
		got := n.repair(t)
		if got.exit != 1 || !strings.Contains(got.line, stale) || !strings.Contains(got.line, second) || !strings.Contains(got.line, "--yes") {
			t.Errorf("exit %d, want 1 and both containers", got.exit)
		}
		n.mustExist(t, append(kept, stale, second)...)
	})
	step(t, "--yes removes the stale ones and nothing else", func(t *testing.T) {
		if got := n.repair(t, "--yes"); got.exit != 0 {
			t.Errorf("exit %d, want 0", got.exit)
		}
		n.mustExist(t, kept...)
		for _, id := range []string{stale, second} {
			if strings.Contains(n.do(t, "ps", "-a", "-q", "--no-trunc"), id) {
				t.Errorf("%s is still there", id)
			}
		}
	})
	step(t, "a second run finds nothing", func(t *testing.T) {
		if got := n.repair(t, "--yes"); got.exit != 0 || !strings.Contains(got.line, "nothing to repair") {
			t.Errorf("exit %d", got.exit)
		}
	})
}

// lookAlikes are containers that look stale and are not: created in ready sandboxes, exited, overtaken by a newer attempt.
func (n *node) lookAlikes(t *testing.T, created int, overtaken, exited string) []string {
	t.Helper()
	newer := pod{name: "overtaken", attempt: 1}
	running := n.create(t, n.run(t, newer), newer, 1)
	n.do(t, "start", running)
	kept := []string{overtaken, exited, running}
	for i := range created {
		p := pod{name: fmt.Sprintf("waits-%d", i)}
		kept = append(kept, n.create(t, n.run(t, p), p, 0))
	}
	return kept
}

func (n *node) mustExist(t *testing.T, ids ...string) {
	t.Helper()
	all := n.do(t, "ps", "-a", "-q", "--no-trunc")
	for _, id := range ids {
		if !strings.Contains(all, id) {
			t.Errorf("container %s is gone", id)
		}
	}
}

// TestRepairFinishesLater: the runtime dies half-way; the next run does the rest.
func TestRepairFinishesLater(t *testing.T) {
	n := newNode(t, containerd1, "repair2")
	for i := range 3 {
		p := pod{name: fmt.Sprintf("stale-%d", i)}
		n.create(t, n.run(t, p), p, 0)
	}
	time.Sleep(grownOld)
	n.powerCut(t)
	n.start(t)
	n.end(t, syscall.SIGKILL)
	if got := n.repair(t, "--yes"); got.exit != 2 || !strings.Contains(got.stderr, n.socket) {
		t.Errorf("exit %d, want 2 and the socket named", got.exit)
	}
	n.start(t)
	if got := n.repair(t, "--yes"); got.exit != 0 || strings.Count(got.line, "removed") != 3 {
		t.Errorf("exit %d, want 0 and three removed", got.exit)
	}
}

// TestAutomaticRepair: check --enable-repair removes what it tells, and not again within the cool-down.
func TestAutomaticRepair(t *testing.T) {
	n := newNode(t, containerd1, "repair3")
	flags := append([]string{"stale-created", "--runtime-endpoint", n.endpoint(), "--enable-repair", "--state-dir", t.TempDir()}, soon...)
	p := pod{name: "stale"}
	n.create(t, n.run(t, p), p, 0)
	time.Sleep(grownOld)
	n.powerCut(t)
	n.start(t)
	check(t, want{1, []string{"default/stale"}}, flags...)
	check(t, want{exit: 0}, flags...)

	again := pod{name: "again"}
	n.create(t, n.run(t, again), again, 0)
	time.Sleep(grownOld)
	n.powerCut(t)
	n.start(t)
	check(t, want{1, []string{"default/again"}}, flags...) // still cooling down
	check(t, want{1, []string{"default/again"}}, flags...)
	check(t, want{1, []string{"default/again"}}, append(flags, "--cooldown", "0s")...)
	check(t, want{exit: 0}, flags...)
}
