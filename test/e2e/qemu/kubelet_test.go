package qemu

import (
	"strings"
	"testing"
	"time"
)

// healthyPods are one of each class: their cgroups lie in different places.
var healthyPods = []string{"burstable", "guaranteed", "best-effort"}

// TestKubelet: a real kubelet makes the pods, their cgroups and log directories, on cgroup v2. It runs what lies in a
// directory, without an API server.
func TestKubelet(t *testing.T) {
	t.Parallel()
	n := kubeletNode{newMachine(t, withKubelet)}
	started := time.Now()
	n.bootKubelet(t)
	for _, part := range []struct {
		name string
		test func(*testing.T)
	}{
		{"healthy pods", n.testHealthy},
		{"restarts", n.testRestarts},
		{"limit of 300m", n.testFractionalLimit},
		{"power loss before the start", n.testNeverStarted},
	} {
		if !t.Run(part.name, part.test) {
			break // the next one needs its node
		}
	}
	t.Logf("done %s after power on", time.Since(started).Round(time.Second))
}

func (n kubeletNode) testHealthy(t *testing.T) {
	n.put(t, "burstable", "", "{requests: {memory: 16Mi}, limits: {memory: 64Mi}}")
	n.put(t, "guaranteed", "", `{limits: {cpu: "1", memory: 32Mi}}`)
	n.put(t, "best-effort", "hostNetwork: true", "{}")
	n.waitRunning(t, healthyPods...)
	n.mustHaveLimit(t, "/kubepods/burstable", "burstable", "67108864")
	n.mustHaveLimit(t, "/kubepods", "guaranteed", "33554432")
	n.mustHaveLimit(t, "/kubepods/besteffort", "best-effort", "max")
	n.mustBeWell(t)
}

// testRestarts: the sandboxes live on.
func (n kubeletNode) testRestarts(t *testing.T) {
	before := n.do(t, "crictl", "pods", "-q")
	n.restartKubelet(t)
	n.mustBeWell(t)
	n.waitRunning(t, healthyPods...)
	n.restartContainerd(t)
	n.mustBeWell(t)
	n.waitRunning(t, healthyPods...)
	n.mustBeWell(t)
	if after := n.do(t, "crictl", "pods", "-q"); after != before {
		t.Errorf("the sandboxes are\n%s\nwere\n%s", after, before)
	}
}

// testFractionalLimit: 300m is 0.3 byte, of which the kubelet makes one, and the kernel none.
func (n kubeletNode) testFractionalLimit(t *testing.T) {
	n.put(t, "typo", "", "{limits: {memory: 300m}}")
	n.wait(t, "sandbox-oom tells the limit", func() bool { return n.exit(t, "sandbox-oom") == 1 })
	n.mustHaveLimit(t, "/kubepods/burstable", "typo", "0")
	live := n.check(t, want{exit: 1, words: []string{"default/typo-" + nodeName, "below one page", unitHint}}, "sandbox-oom")
	n.capture(t, "qemu-kubelet-300m", live, "sandbox-oom")
	// The limit alone explains the silence: with --min-pods 1 a pod of an unknown cause would be told.
	n.check(t, want{exit: 0}, append([]string{"sandbox-crashloop", "--min-pods", "1"}, insideFlags...)...)

	n.put(t, "typo", "", "{limits: {memory: 300Mi}}")
	n.waitRunning(t, "typo")
	n.mustHaveLimit(t, "/kubepods/burstable", "typo", "314572800")
	// To the kubelet this is another pod. The log directory of the first goes with its next garbage collection, up to a minute later.
	n.wait(t, "the first pod's cgroup is gone", func() bool {
		return strings.TrimSpace(n.sh(t, "ls -d /sys/fs/cgroup/kubepods/burstable/pod* | wc -l")) == "2"
	})
	n.mustBeWell(t)
}

// testNeverStarted: the power goes between the creation of a container and its start, and the kubelet starts nothing any
// more for a pod that may never be restarted. The other pods come back.
func (n kubeletNode) testNeverStarted(t *testing.T) {
	n.holdStarts(t)
	n.put(t, "once", "restartPolicy: Never", "{}")
	n.wait(t, "the container is created", func() bool { return n.created(t) != "" })
	container := n.created(t)
	n.sh(t, "sync; sleep 2") // the boot's time has whole seconds
	n.powerLoss()
	n.bootKubelet(t)
	n.waitRunning(t, append(healthyPods, "typo")...)

	live := n.check(t, want{exit: 1, words: []string{"default/once-" + nodeName, "container main", "before this boot", "never started"},
		others: []string{"and 1 more"}}, "stale-created", "--grace", "1s")
	n.capture(t, "qemu-kubelet-never-started", live, "stale-created", "--grace", "1s")
	n.check(t, want{exit: 0}, "stale-created", "--grace", "1h")
	n.check(t, want{exit: 0}, append([]string{"sandbox-crashloop"}, insideFlags...)...)
	if phase := n.pods(t)["once"].Status.Phase; phase != "Pending" || n.created(t) != container {
		t.Errorf("the kubelet says %s and the runtime has created %q, want Pending and %s: this proves nothing", phase, n.created(t), container)
	}

	done := n.run(t, "", "sandbox-checker", "repair", "stale-created", "--grace", "1s", "--yes", "--timeout", "1m")
	if done.Exit != 0 || !strings.Contains(done.Stdout, "removed") || !strings.Contains(done.Stdout, container) {
		t.Errorf("repair --yes: exit %d: %s%s", done.Exit, done.Stdout, done.Stderr)
	}
	n.waitRunning(t, "once")
	n.mustBeWell(t)
}

// created are the containers that were created and not started.
func (n kubeletNode) created(t *testing.T) string {
	t.Helper()
	return n.do(t, "crictl", "ps", "-a", "-q", "--no-trunc", "--state", "created")
}
