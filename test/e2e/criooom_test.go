package e2e

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// refusedLimits are limits that CRI-O refuses itself: it wants 12 MiB for a pod with runc. The kernel kills nothing then, and
// logs nothing.
var refusedLimits = []struct {
	name  string
	bytes int64
	says  []string
}{
	{"64 KiB", 64 * kib, []string{"64Ki", unitHint}},
	{"512 KiB", 512 * kib, []string{"512Ki", unitHint}},
	{"4 MiB", 4 * mib, []string{"4Mi"}},
	{"12 MiB less a page", 12*mib - 4*kib, nil},
}

// TestSandboxOOMOnCRIO makes pods as the kubelet makes them. CRI-O runs no pause process, so of a limit that the kernel would
// enforce only the first byte is left to it: there is no memory for the sandbox's cgroup.
func TestSandboxOOMOnCRIO(t *testing.T) {
	useKubepods(t)
	n := newNode(t, crio, "oom")
	n.checkOOM(t, want{exit: 0})
	t.Run("1 byte", func(t *testing.T) {
		n.testDeadlyLimit(t, n.kubePod("tiny"), 1, []string{"below one page", unitHint})
	})
	for _, limit := range refusedLimits {
		t.Run(limit.name, func(t *testing.T) {
			n.testRefusedLimit(t, n.kubePod("refused-"+strings.Fields(limit.name)[0]), limit.bytes, limit.says)
		})
	}
	t.Run("12 MiB", func(t *testing.T) { n.testEnough(t, n.kubePod("enough"), 12*mib) })
	t.Run("application at its container's limit", func(t *testing.T) {
		n.testApplication(t, n.kubePod("app"), 0, limited{"/eat", 32 * mib})
	})
	t.Run("application at its pod's limit", func(t *testing.T) {
		n.testApplication(t, n.kubePod("app-in-pod"), 32*mib, limited{"/eat", 0})
	})
	t.Run("container's creation at its pod's limit", func(t *testing.T) { n.testContainerCreation(t, n.kubePod("create")) })
	t.Run("without the kernel log", func(t *testing.T) { n.testWithoutKernelLog(t, n.kubePod("unlogged")) })
}

// testRefusedLimit: the limit is all the evidence there is, so it counts when the pod has had time to start.
func (n *node) testRefusedLimit(t *testing.T, p pod, limit int64, says []string) {
	mark := markKernelLog(t)
	n.likeKubelet(t, p, limit)
	defer n.forget(p)
	_, err := n.tryRun(t, p)
	if err == nil || !strings.Contains(err.Error(), "too low") {
		t.Fatalf("CRI-O does not refuse the limit: %v", err)
	}
	t.Logf("CRI-O says: %s", n.short(err.Error()))
	n.checkOOM(t, want{exit: 0}) // the pod may still be starting
	time.Sleep(grownOld)
	live := n.checkOOM(t, want{1, append(says, "default/"+p.name)}, "--start-grace", "1s")
	n.checkOOMCapture(t, live, "--start-grace", "1s")
	if mentions(mark.since(t), p) {
		t.Error("the kernel's log names the pod: this case is about silence")
	}
}

// testContainerCreation: CRI-O runs a container's init when it creates it, so that is when the pod's limit hits.
func (n *node) testContainerCreation(t *testing.T, p pod) {
	mark := markKernelLog(t)
	n.likeKubelet(t, p, 0)
	defer n.forget(p)
	sandbox := n.run(t, p)
	setMemoryLimit(t, p, memoryUsage(t, p)+256*kib)
	mkdirAll(t, filepath.Join(p.logs(n), "main"))
	container := n.jsonFile(t, "container-"+p.name, p.container(0))
	_, err := n.try("create", sandbox, container, n.jsonFile(t, "pod-"+p.name, p.config(n)))
	if err == nil {
		t.Fatal("the container is created: this proves nothing")
	}
	t.Logf("CRI-O says: %s", n.short(err.Error()))
	if !mentions(mark.since(t), p) {
		t.Error("the kernel's log does not name the pod: this proves nothing")
	}
	n.checkOOM(t, want{exit: 0})
	report := askInView(t, "", "report", "--runtime-endpoint", n.endpoint(), "--state-dir", n.history())
	t.Logf("report:\n%s", report.line)
	report.holds(t, want{0, []string{"default/" + p.name, "kills a container at start"}})
}
