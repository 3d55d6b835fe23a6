package e2e

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

const flannelFile = "/run/flannel/subnet.env"

// testStaleJob: the very incident. The kubelet starts nothing any more for a pod that may never be restarted.
func (c *cluster) testStaleJob(t *testing.T) {
	writeFile(t, c.disk("/etc/hold-starts"), "")
	c.apply(t, `apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec:
  backoffLimit: 0
  template:
    metadata: {labels: {app: once}}
    spec:
      restartPolicy: Never
      automountServiceAccountToken: false
      containers:
      - {name: main, image: "`+pauseImage+`", imagePullPolicy: Never, command: [/pause, done]}
`)
	pod := c.waitPodsOf(t, "app=once", 1)[0]
	if !eventuallyEach(time.Minute, time.Second, func() bool { return c.created(t) == 1 }) {
		t.Fatal("the container is not created")
	}
	syscall.Sync()
	c.powerOff()
	if err := os.Remove(c.disk("/etc/hold-starts")); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second) // firmware takes longer; the boot time has whole seconds
	fault := time.Now()
	c.start(t)
	told := c.waitNodeFor(t, 8*time.Minute, "StaleCreatedContainer", "True")
	c.delay(t, "power cut between create and start, StaleCreatedContainer (from the boot; --grace is 3m)", fault)
	mustTell(t, told, "ContainerNeverStarted", "default/"+pod, "main", "before this boot", "repair stale-created")
	c.mustReport(t, pod, "never started")
	eventuallyEach(2**interval+10*time.Second, time.Second, func() bool { return len(c.nodeEvents(t, "ContainerStuckCreated")) > 0 })
	if events := c.nodeEvents(t, "ContainerStuckCreated"); len(events) != 1 || !strings.Contains(events[0], pod) {
		t.Errorf("want one event of %s: %v", pod, events)
	}
	if is := c.podIs(pod); !strings.HasPrefix(is, "Pending") {
		t.Errorf("the pod is %s, want Pending", is)
	}

	cured := time.Now()
	if repaired := c.askNode(t, "repair", "stale-created", "--yes"); repaired.exit != 0 || !strings.Contains(repaired.line, pod) {
		t.Errorf("repair: exit %d: %s%s", repaired.exit, repaired.line, repaired.stderr)
	}
	c.do(t, "wait", "--for=condition=complete", "--timeout=2m", "job/once")
	c.waitNode(t, "StaleCreatedContainer", "False")
	c.delay(t, "repaired", cured)
	c.do(t, "delete", "job", "once")
	c.mustBeWell(t)
}

// created counts the containers that were created and not started.
func (c *cluster) created(t *testing.T) int {
	t.Helper()
	out, err := c.try("", built(t, buildCrictl), "-r", "unix:///run/containerd/containerd.sock", "ps", "-a", "-q", "--state", "created")
	if err != nil {
		t.Fatal(err)
	}
	return len(strings.Fields(out))
}

// testFlannel: the file that flannel's agent writes is gone. New pods do not start, and after a power cut the old ones do
// not come back; the scheduler sends no pod to the node while a controller has made a taint of the condition.
func (c *cluster) testFlannel(t *testing.T) {
	c.apply(t, deployment("old", 2, ""))
	c.do(t, "rollout", "status", "deployment/old", "--timeout=2m")
	c.mustBeWell(t)
	gate := c.gate(t)
	c.startOmissions(t)
	c.askOmissions(t, map[string]int{})
	c.waitForBootGrace(t)

	fault := time.Now()
	c.onNode(t, "rm", flannelFile)
	told := c.waitNode(t, "CNIConfigProblem", "True")
	c.delay(t, "subnet.env lost, CNIConfigProblem", fault)
	mustTell(t, told, "PodNetworkSetupWouldFail", flannelFile, "missing")
	step(t, "the scheduler acts on the taint", func(t *testing.T) { gate.testScheduler(t) })
	fault = time.Now()
	c.apply(t, tolerant(deployment("new", 2, "")))
	told = c.waitNodeFor(t, 8*time.Minute, "PodSandboxCrashLoop", "True")
	c.delay(t, "new pods, PodSandboxCrashLoop (--start-grace is 3m)", fault)
	pods := c.waitPodsOf(t, "app=new", 2)
	mustTell(t, told, "PodSandboxesKeepFailing", "default/"+slices.Min(pods), "and 1 more", flannelFile)
	c.mustReport(t, pods[0], pods[1], flannelFile)
	c.apply(t, tolerant(deployment("typo", 1, `, resources: {limits: {memory: 300m}}`)))
	c.waitNode(t, "PodSandboxStartOOM", "True")
	c.askOmissions(t, map[string]int{"sandbox-crashloop": 1, "sandbox-oom": 1, "cni-config": 1})
	c.endOmissions(t)
	c.do(t, "delete", "deployment", "typo")
	if is := c.podIs(pods[0]); is != "Pending ContainerCreating" {
		t.Errorf("a new pod is %s, want Pending ContainerCreating", is)
	}

	c.agentIsGone = true
	c.powerCut(t) // /run is empty after it
	fault = time.Now()
	old := c.waitPodsOf(t, "app=old", 2)
	told = c.waitNodeFor(t, 10*time.Minute, "PodSandboxCrashLoop", "True")
	if !eventuallyEach(8*time.Minute, time.Second, func() bool {
		report := c.askNode(t, "report").line
		return strings.Contains(report, old[0]) && strings.Contains(report, old[1])
	}) {
		t.Errorf("the old pods are not reported: %s", c.askNode(t, "report").line)
	}
	c.delay(t, "old pods after the power cut, named in the report (from the node's Ready; --boot-grace is 5m)", fault)
	mustTell(t, told, "PodSandboxesKeepFailing", flannelFile)

	cured := time.Now()
	c.agentIsGone = false
	c.writeSubnet(t)
	for _, name := range []string{"old", "new"} {
		c.do(t, "rollout", "status", "deployment/"+name, "--timeout=3m")
	}
	c.waitNode(t, "CNIConfigProblem", "False")
	c.waitNode(t, "PodSandboxCrashLoop", "False")
	c.delay(t, "subnet.env restored, both clear", cured)
	step(t, "the scheduler places the pod after the cure", func(t *testing.T) { gate.testOpen(t) })
	c.do(t, "delete", "deployment", "old", "new")
}

// tolerant makes pods that the taint does not keep away.
func tolerant(deployment string) string {
	return strings.Replace(deployment, "      automount", "      tolerations: [{operator: Exists}]\n      automount", 1)
}

// waitForBootGrace waits until nothing of the CNI can be "starting" any more: five minutes after the boot, and after the
// last change of its directory.
func (c *cluster) waitForBootGrace(t *testing.T) {
	t.Helper()
	changed, err := os.Stat(c.disk("/etc/cni/net.d"))
	if err != nil {
		t.Fatal(err)
	}
	last := changed.ModTime()
	if c.booted.After(last) {
		last = c.booted
	}
	time.Sleep(time.Until(last.Add(5*time.Minute + 5*time.Second)))
}

// writeSubnet is what flannel's agent does.
func (c *cluster) writeSubnet(t *testing.T) {
	t.Helper()
	c.onNode(t, "sh", "-c", "mkdir -p /run/flannel && printf 'FLANNEL_NETWORK=10.244.0.0/16\\nFLANNEL_SUBNET=10.244.0.1/24\\nFLANNEL_MTU=1450\\nFLANNEL_IPMASQ=false\\n' > "+flannelFile)
}

func (c *cluster) onNode(t *testing.T, words ...string) string {
	t.Helper()
	out, err := c.try("", words...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
