package e2e

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

const flannelFile = "/run/flannel/subnet.env"

// testFlannel: the file that flannel's agent writes is gone. New pods do not start, and after a power cut the old ones do
// not come back; the scheduler sends no pod to the node while a controller has made a taint of the condition.
func (c *cluster) testFlannel(t *testing.T) {
	c.apply(t, deployment("old", 2, ""))
	c.do(t, "rollout", "status", "deployment/old", "--timeout=2m")
	c.mustBeWell(t)
	g := c.gate(t)
	c.startOmissions(t)
	c.askOmissions(t, map[string]int{})
	c.waitForBootGrace(t)

	step(t, "the file is lost", func(t *testing.T) { c.testFileLost(t) })
	step(t, "the scheduler acts on the taint", func(t *testing.T) { g.testScheduler(t) })
	step(t, "new pods", func(t *testing.T) { c.testNewPods(t) })
	step(t, "one thing left out", func(t *testing.T) { c.testOmissionsWhenSick(t) })
	c.agentIsGone = true
	g.halt()
	c.powerCut(t) // /run is empty after it
	g.begin(t)
	step(t, "old pods after a power cut", func(t *testing.T) { c.testOldPods(t) })
	step(t, "the cure", func(t *testing.T) { c.testFileRestored(t) })
	step(t, "the scheduler places the pod after the cure", func(t *testing.T) { g.testOpen(t) })
	c.do(t, "delete", "deployment", "old", "new")
	c.mustBeWell(t)
}

func (c *cluster) testFileLost(t *testing.T) {
	fault := time.Now()
	c.onNode(t, "rm", flannelFile)
	told := c.waitNode(t, "CNIConfigProblem", "True")
	c.delay(t, "subnet.env lost, CNIConfigProblem", fault)
	mustTell(t, told, "PodNetworkSetupWouldFail", flannelFile, "missing")
}

func (c *cluster) testNewPods(t *testing.T) {
	fault := time.Now()
	c.apply(t, tolerant(deployment("new", 2, "")))
	told := c.waitNodeFor(t, 8*time.Minute, "PodSandboxCrashLoop", "True")
	c.delay(t, "new pods, PodSandboxCrashLoop (--start-grace is 3m)", fault)
	pods := c.waitPodsOf(t, "app=new", 2)
	mustTell(t, told, "PodSandboxesKeepFailing", "default/"+slices.Min(pods), "and 1 more", flannelFile)
	c.mustReport(t, pods[0], pods[1], flannelFile)
	c.mustTellOnce(t, "PodSandboxCrashLooping", pods...)
	if is := c.podIs(pods[0]); is != "Pending ContainerCreating" {
		t.Errorf("a new pod is %s, want Pending ContainerCreating", is)
	}
}

// testOmissionsWhenSick: the same pods, now that three checks have something to find.
func (c *cluster) testOmissionsWhenSick(t *testing.T) {
	c.apply(t, tolerant(deployment("typo", 1, `, resources: {limits: {memory: 300m}}`)))
	c.waitNode(t, "PodSandboxStartOOM", "True")
	c.askOmissions(t, map[string]int{"sandbox-crashloop": 1, "sandbox-oom": 1, "cni-config": 1})
	c.endOmissions(t)
	c.do(t, "delete", "deployment", "typo")
}

// testOldPods: the machine has booted and nobody writes the file.
func (c *cluster) testOldPods(t *testing.T) {
	fault := time.Now()
	old := c.waitPodsOf(t, "app=old", 2)
	told := c.waitNodeAnew(t, 10*time.Minute, "PodSandboxCrashLoop", "True")
	c.delay(t, "after the power cut, PodSandboxCrashLoop (from the node's Ready)", fault)
	mustTell(t, told, "PodSandboxesKeepFailing", flannelFile)
	told = c.waitNodeAnew(t, 10*time.Minute, "CNIConfigProblem", "True")
	c.delay(t, "after the power cut, CNIConfigProblem (from the node's Ready; --boot-grace is 5m)", fault)
	mustTell(t, told, "PodNetworkSetupWouldFail", flannelFile, "missing")
	var report string
	if !eventuallyEach(8*time.Minute, time.Second, func() bool {
		report = c.askNode(t, "report").line
		return strings.Contains(report, old[0]) && strings.Contains(report, old[1])
	}) {
		t.Errorf("the old pods are not reported: %s", report)
	}
	c.delay(t, "after the power cut, old pods named in the report (from the node's Ready)", fault)
	// The history went with /run, so the new pods are told once more: two before the cut, four after it.
	c.mustTellOfPods(t, "PodSandboxCrashLooping", flannelFile, 2+4)
}

func (c *cluster) testFileRestored(t *testing.T) {
	cured := time.Now()
	c.agentIsGone = false
	c.writeSubnet(t)
	c.waitNode(t, "CNIConfigProblem", "False")
	c.delay(t, "subnet.env restored, CNIConfigProblem clears", cured)
	c.waitNode(t, "PodSandboxCrashLoop", "False")
	c.delay(t, "subnet.env restored, PodSandboxCrashLoop clears", cured)
	for _, name := range []string{"old", "new"} {
		c.do(t, "rollout", "status", "deployment/"+name, "--timeout=3m")
	}
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
