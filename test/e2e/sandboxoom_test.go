package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	kib = 1 << 10
	mib = 1 << 20
)

// deadlyLimits are those within which no sandbox starts. Each needs other evidence: of the first the kernel kills nothing,
// then it kills what runc forks, then what is to become pause.
var deadlyLimits = []struct {
	name  string
	bytes int64
	says  []string
}{
	{"1 byte", 1, []string{"below one page", unitHint}},
	{"64 KiB", 64 * kib, []string{"64Ki", unitHint}},
	{"512 KiB", 512 * kib, []string{"512Ki", unitHint}},
	{"2 MiB", 2 * mib, []string{"2Mi"}},
}

// unitHint is the cure of a limit that nobody can have meant.
const unitHint = "m means milli: write Mi"

// TestSandboxOOM makes pods as the kubelet makes them, with limits from too small to enough, and programs that outgrow
// a limit without a sandbox being to blame.
func TestSandboxOOM(t *testing.T) {
	useKubepods(t)
	inTurn(t, everyContainerd, func(t *testing.T, f flavour) {
		n := newNode(t, f, "oom")
		n.checkOOM(t, want{exit: 0})
		for i, limit := range deadlyLimits {
			t.Run(limit.name, func(t *testing.T) {
				n.testDeadlyLimit(t, n.kubePod(fmt.Sprintf("tiny-%d", i)), limit.bytes, limit.says)
			})
		}
		t.Run("4 MiB", func(t *testing.T) { n.testEnough(t, n.kubePod("enough"), 4*mib) })
		t.Run("application at its container's limit", func(t *testing.T) {
			n.testApplication(t, n.kubePod("app"), 0, limited{"/eat", 32 * mib})
		})
		t.Run("application at its pod's limit", func(t *testing.T) {
			n.testApplication(t, n.kubePod("app-in-pod"), 32*mib, limited{"/eat", 0})
		})
		t.Run("container's start at its pod's limit", func(t *testing.T) { n.testContainerStart(t, n.kubePod("start")) })
		t.Run("container's start at its own limit", func(t *testing.T) { n.testContainerLimit(t, n.kubePod("own")) })
		t.Run("without the kernel log", func(t *testing.T) { n.testWithoutKernelLog(t, n.kubePod("unlogged")) })
	})
}

// kubePod: the kernel's log outlives a node, so no two nodes may have the same pod.
func (n *node) kubePod(name string) pod {
	return pod{name: name + "-" + n.flavour.name, kube: true}
}

func (n *node) checkOOM(t *testing.T, w want, flags ...string) answer {
	t.Helper()
	return n.checkOOMInView(t, w, "", flags...)
}

func (n *node) checkOOMInView(t *testing.T, w want, more string, flags ...string) answer {
	t.Helper()
	args := append([]string{"check", "sandbox-oom", "--runtime-endpoint", n.endpoint()}, flags...)
	return judge(t, w, "sandbox-oom", askInView(t, more, args...))
}

// checkOOMCapture: the capture is made in the same view, and looked at without any.
func (n *node) checkOOMCapture(t *testing.T, live answer, flags ...string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "node.txtar")
	if made := askInView(t, "", "capture", "-o", file, "--runtime-endpoint", n.endpoint()); made.exit != 0 {
		t.Fatalf("capture: exit %d: %s%s", made.exit, made.line, made.stderr)
	}
	got := check(t, want{exit: live.exit}, append([]string{"sandbox-oom", "--node", file}, flags...)...)
	if got.line != live.line {
		t.Errorf("the capture says\n%sthe node said\n%s", got.line, live.line)
	}
}

func (n *node) testDeadlyLimit(t *testing.T, p pod, limit int64, says []string) {
	mark := markKernelLog(t)
	n.likeKubelet(t, p, limit)
	defer n.forget(p)
	n.runUntilKilled(t, p)
	live := n.checkOOM(t, want{1, append(says, "default/"+p.name)})
	n.checkOOMCapture(t, live)

	records := mark.since(t)
	kills := killsIn(records, p)
	t.Logf("the kernel killed %d processes for it", kills)
	if !mentions(records, p) {
		t.Error("the kernel's log does not name the pod")
	}
	if killed := kills > 0; killed != (limit > 1) {
		t.Errorf("killed for it: %v; this case is about the opposite", killed)
	}
}

// runUntilKilled tries more than once: with 2 MiB a start is close, and half of them come through.
func (n *node) runUntilKilled(t *testing.T, p pod) {
	t.Helper()
	const tries = 30
	for range tries {
		id, err := n.tryRun(t, p)
		if err != nil {
			t.Logf("the runtime says: %s", n.short(err.Error()))
			return
		}
		t.Log("the sandbox started within its limit: once more")
		n.do(t, "rmp", "-f", id)
	}
	t.Fatalf("the sandbox starts, %d times of %d: this proves nothing", tries, tries)
}

func (n *node) testEnough(t *testing.T, p pod, limit int64) {
	n.likeKubelet(t, p, limit)
	defer n.forget(p)
	n.run(t, p)
	n.checkOOM(t, want{exit: 0})
}

// testApplication: a program that wants more than it may have is killed beside a sandbox that is well.
func (n *node) testApplication(t *testing.T, p pod, podLimit int64, l limited) {
	mark := markKernelLog(t)
	n.likeKubelet(t, p, podLimit)
	defer n.forget(p)
	container := n.createLimited(t, n.run(t, p), p, l)
	n.do(t, "start", container)
	killed := func() bool { return strings.Contains(n.do(t, "inspect", container), `"exitCode": 137`) }
	if !eventually(10*time.Second, killed) {
		t.Fatalf("the program was not killed: %s", n.do(t, "inspect", container))
	}
	if kills := killsIn(mark.since(t), p); kills == 0 {
		t.Error("it was not killed for memory: this proves nothing")
	}
	n.checkOOM(t, want{exit: 0})
}

// testContainerStart: the sandbox is up when its pod's limit shrinks, and the next container's start hits it. kubectl
// shows that at the container, so it is not what the condition is about. report tells it.
func (n *node) testContainerStart(t *testing.T, p pod) {
	mark := markKernelLog(t)
	n.likeKubelet(t, p, 0)
	defer n.forget(p)
	container := n.createLimited(t, n.run(t, p), p, limited{program: "/pause"})
	setMemoryLimit(t, p, memoryUsage(t, p)+256*kib)
	n.mustNotStart(t, container)
	if kills := killsIn(mark.since(t), p); kills == 0 {
		t.Error("nothing was killed for memory: this proves nothing")
	}
	n.checkOOM(t, want{exit: 0})
	report := askInView(t, "", "report", "--runtime-endpoint", n.endpoint(), "--state-dir", n.history())
	t.Logf("report:\n%s", report.line)
	report.holds(t, want{0, []string{"default/" + p.name, "main", "kills a container at start"}})
}

// testContainerLimit: on cgroup v1 runc sets a container's limit when its init is up already. The kernel refuses a limit
// below what is in use, and kills nothing.
func (n *node) testContainerLimit(t *testing.T, p pod) {
	mark := markKernelLog(t)
	n.likeKubelet(t, p, 0)
	defer n.forget(p)
	n.mustNotStart(t, n.createLimited(t, n.run(t, p), p, limited{"/pause", 512 * kib}))
	if mentions(mark.since(t), p) {
		t.Error("the kernel's log names the pod: this case is about silence")
	}
	n.checkOOM(t, want{exit: 0})
}

func (n *node) mustNotStart(t *testing.T, container string) {
	t.Helper()
	_, err := n.try("start", container)
	if err == nil {
		t.Fatal("the container starts: this proves nothing")
	}
	t.Logf("the runtime says: %s", n.short(err.Error()))
}

// testWithoutKernelLog: in a container that is not privileged only the cgroup is left to tell.
func (n *node) testWithoutKernelLog(t *testing.T, p pod) {
	n.likeKubelet(t, p, 1)
	if _, err := n.tryRun(t, p); err == nil {
		t.Fatal("the sandbox starts: this proves nothing")
	}
	n.checkBlind(t, want{2, []string{"kernel log"}}) // the pod may still be starting
	time.Sleep(grownOld)
	n.checkBlind(t, want{1, []string{"default/" + p.name, "below one page", unitHint}}, "--start-grace", "1s")
	n.forget(p)
	n.checkBlind(t, want{2, []string{"kernel log"}}, "--start-grace", "1s")
}

func (n *node) checkBlind(t *testing.T, w want, flags ...string) {
	t.Helper()
	n.checkOOMInView(t, w, noKernelLog, flags...)
}

// forget takes a pod away as the kubelet does: sandbox, cgroup, logs.
func (n *node) forget(p pod) {
	for _, id := range n.sandboxesOf(p) {
		_, _ = n.try("rmp", "-f", id) // what stays fails the end of the run
	}
	own := suiteRun{name: "none", kubePods: []string{p.uid()}}
	removeCgroups(own.cgroups)
	removePodLogs(own.kubePods)
}

func (n *node) sandboxesOf(p pod) []string {
	ids, _ := n.try("pods", "-q", "--no-trunc", "--label", "io.kubernetes.pod.uid="+p.uid())
	return strings.Fields(ids)
}
