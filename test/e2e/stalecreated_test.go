package e2e

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

// soon lets every container of a test be too old at once.
var soon = []string{"--grace", "1s", "--stale-after", "1s"}

// grownOld is longer than those flags: silence before it would prove nothing.
const grownOld = 1500 * time.Millisecond

func (n *node) checkStale(t testing.TB, w want) answer {
	t.Helper()
	return check(t, w, append([]string{"stale-created", "--runtime-endpoint", n.endpoint(), "--state-dir", n.history()}, soon...)...)
}

var lostSandbox = want{1, []string{"default/k7q2x", "main", "lost sandbox"}}

// TestPowerCutLeavesAStaleContainer follows one pod through the incident: created, cut off, found, looked at from a
// capture, stopped in vain, overtaken by a newer attempt, removed. Each step needs the one before.
func TestPowerCutLeavesAStaleContainer(t *testing.T) { onEachContainerd(t, testPowerCut) }

func testPowerCut(t *testing.T, f flavour) {
	n := newNode(t, f, "cut")
	waits := pod{name: "k7q2x"}
	stale := n.create(t, n.run(t, waits), waits, 0)
	time.Sleep(grownOld)

	step(t, "created in a ready sandbox is silent", func(t *testing.T) {
		n.checkStale(t, want{exit: 0})
	})
	n.powerCut(t)
	n.start(t)
	var live answer
	step(t, "a lost sandbox is told", func(t *testing.T) {
		live = n.checkStale(t, lostSandbox)
	})
	step(t, "a capture says the same", func(t *testing.T) {
		n.checkCapture(t, live, "stale-created", soon...)
	})
	step(t, "a redacted capture says it without names", func(t *testing.T) {
		n.checkRedactedStaleCapture(t, live)
	})
	step(t, "StopContainer changes nothing", func(t *testing.T) {
		n.do(t, "stop", stale)
		n.checkStale(t, lostSandbox)
	})
	next := pod{name: "k7q2x", attempt: 1}
	var sandbox string
	step(t, "a leftover beside a newer attempt is silent", func(t *testing.T) {
		sandbox = n.run(t, next)
		n.do(t, "start", n.create(t, sandbox, next, 1))
		n.checkStale(t, want{exit: 0})
	})
	step(t, "without the newer attempt it is told again", func(t *testing.T) {
		n.do(t, "rmp", "-f", sandbox)
		n.checkStale(t, lostSandbox)
	})
	step(t, "RemoveContainer ends it", func(t *testing.T) {
		n.do(t, "rm", stale)
		n.checkStale(t, want{exit: 0})
	})
}

// step is a subtest that the next ones build on: when it fails they could only repeat it.
func step(t *testing.T, name string, f func(*testing.T)) {
	t.Helper()
	if !t.Run(name, f) {
		t.Fatalf("the steps after %q rest on it", name)
	}
}

func (n *node) checkRedactedStaleCapture(t *testing.T, live answer) {
	t.Helper()
	file := n.capture(t, "--redact")
	if strings.Contains(readFile(t, file), "k7q2x") {
		t.Errorf("the redacted capture names the pod")
	}
	check(t, want{live.exit, []string{"lost sandbox"}}, append([]string{"stale-created", "--node", file}, soon...)...)
}

// TestRuntimeRestartLeavesAStaleContainer: the runtime goes and comes back, the sandbox never noticed.
func TestRuntimeRestartLeavesAStaleContainer(t *testing.T) { onEachFlavour(t, testRuntimeRestart) }

func testRuntimeRestart(t *testing.T, f flavour) {
	n := newNode(t, f, "restart")
	waits := pod{name: "k7q2x"}
	n.create(t, n.run(t, waits), waits, 0)
	before := socketTimes(t, n.socket)
	time.Sleep(grownOld)
	n.checkStale(t, want{exit: 0})

	n.restart(t)
	after := socketTimes(t, n.socket)
	t.Logf("socket before the restart: %s", before)
	t.Logf("socket after the restart:  %s", after)
	if !after.changed.After(before.changed) || !after.modified.After(before.modified) {
		t.Errorf("the socket's times do not tell the restart: the check rests on it")
	}
	time.Sleep(grownOld)
	n.checkStale(t, want{1, []string{"default/k7q2x", "main", "runtime restart"}})
}

// inodeTimes leaves the inode's number out: ext4 gives the new socket the number of the old one.
type inodeTimes struct{ modified, changed time.Time }

func (i inodeTimes) String() string {
	const clock = "15:04:05.000000000"
	return "mtime " + i.modified.Format(clock) + " ctime " + i.changed.Format(clock)
}

func socketTimes(t testing.TB, path string) inodeTimes {
	t.Helper()
	var s syscall.Stat_t
	if err := syscall.Stat(path, &s); err != nil {
		t.Fatal(err)
	}
	return inodeTimes{time.Unix(s.Mtim.Unix()), time.Unix(s.Ctim.Unix())}
}
