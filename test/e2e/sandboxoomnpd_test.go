package e2e

import (
	"os/exec"
	"testing"
	"time"
)

// oomWindow is long enough for a few looks of node-problem-detector, and for a test to outwait it.
const oomWindow = 20 * time.Second

// TestSandboxOOMUnderNPD: the condition comes while a pod fails, and goes by itself when its limit is mended.
func TestSandboxOOMUnderNPD(t *testing.T) {
	useKubepods(t)
	n := newNode(t, containerd1, "oomnpd")
	p := n.kubePod("typo")
	n.likeKubelet(t, p, 0) // before the detector starts: it sees the pods that are there
	d := startDetectorAs(t, func(cmd *exec.Cmd) { inView(cmd, "") }, shippedConfig(t, "sandbox-oom.json", n.dir,
		"--runtime-endpoint", n.endpoint(), "--oom-window", oomWindow.String()))
	step(t, "False on a healthy node", func(t *testing.T) {
		d.mustBeWell(t, "PodSandboxStartOOM", "NoPodSandboxStartOOM")
	})
	step(t, "True while the pod keeps failing", func(t *testing.T) {
		setMemoryLimit(t, p, 1)
		n.mustKeepFailing(t, p, 2)
		told := d.mustTell(t, "PodSandboxStartOOM", "MemoryLimitKillsSandbox")
		mustBeLine(t, told, n.checkOOM(t, want{1, []string{"default/" + p.name, unitHint}}, "--oom-window", oomWindow.String()))
		n.mustKeepFailing(t, p, 3)
		d.mustTell(t, "PodSandboxStartOOM", "MemoryLimitKillsSandbox")
	})
	step(t, "False when the limit is mended, and it stays so", func(t *testing.T) {
		setMemoryLimit(t, p, 64*mib)
		n.run(t, p)
		mended := time.Now()
		d.mustBeWell(t, "PodSandboxStartOOM", "NoPodSandboxStartOOM")
		t.Logf("False %s after the sandbox started", time.Since(mended).Round(100*time.Millisecond))
		time.Sleep(time.Until(mended.Add(oomWindow + 3*time.Second)))
		d.mustBeWell(t, "PodSandboxStartOOM", "NoPodSandboxStartOOM")
	})
}

// mustKeepFailing tries as the kubelet does, once a second.
func (n *node) mustKeepFailing(t *testing.T, p pod, times int) {
	t.Helper()
	for range times {
		if _, err := n.tryRun(t, p); err == nil {
			t.Fatal("the sandbox starts")
		}
		time.Sleep(time.Second)
	}
}
