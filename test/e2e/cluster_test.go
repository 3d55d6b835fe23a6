package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestCluster deploys as deploy/kustomize/README.md says, on a real cluster of one node, and takes it through the incidents
// as its users meet them. The steps build on each other; each leaves the node well.
func TestCluster(t *testing.T) {
	c := newCluster(t)
	step(t, "the API server takes every overlay", func(t *testing.T) { c.testManifests(t) })
	step(t, "the API server takes the remedies' samples", func(t *testing.T) { c.testSamples(t) })
	step(t, "the manifests deploy and all four conditions are False", func(t *testing.T) { c.deploy(t) })
	step(t, "the pod sees what the node sees", func(t *testing.T) { c.testSameView(t) })
	step(t, "the pod starts while the CNI is broken", func(t *testing.T) { c.testStartsWithoutNetwork(t) })
	step(t, "look-alikes", func(t *testing.T) { c.testLookAlikes(t) })
	step(t, "a limit of 300m", func(t *testing.T) { c.testTypo(t) })
	step(t, "kubectl describe node", func(t *testing.T) { c.testDescribe(t) })
	step(t, "flannel without subnet.env", func(t *testing.T) { c.testFlannel(t) })
	step(t, "a power cut between create and start", func(t *testing.T) { c.testStaleJob(t) })
	step(t, "pause killed over and over", func(t *testing.T) { c.testPauseKilled(t) })
	step(t, "uninstall", func(t *testing.T) { c.testUninstall(t) })
}

// delay logs how long after a fault its condition was on the API, in units of the interval.
func (c *cluster) delay(t *testing.T, what string, since time.Time) {
	t.Helper()
	took := time.Since(since)
	t.Logf("DELAY %s: %s, %.1f intervals of %s", what, took.Round(time.Second), took.Seconds()/interval.Seconds(), *interval)
}

// testTypo: the pods fail for their own limit. The node is not to blame, and says what is.
func (c *cluster) testTypo(t *testing.T) {
	before := c.conditions()["PodSandboxCrashLoop"]
	fault := time.Now()
	c.apply(t, deployment("typo", 1, `, resources: {limits: {memory: 300m}}`))
	told := c.waitNode(t, "PodSandboxStartOOM", "True")
	c.delay(t, "300m, PodSandboxStartOOM", fault)
	pods := c.podsOf(t, "app=typo")
	if len(pods) != 1 {
		t.Fatalf("%d pods, want 1", len(pods))
	}
	mustTell(t, told, "MemoryLimitKillsSandbox", "default/"+pods[0], "below one page", "m means milli: write Mi")
	c.mustReport(t, pods[0], "limit")
	c.mustTellOnce(t, "PodStartOOMKilled", pods[0])
	c.mustBlameLimit(t, pods[0])
	if after := c.conditions()["PodSandboxCrashLoop"]; after.Status != "False" || !after.LastTransitionTime.Equal(before.LastTransitionTime) {
		t.Errorf("PodSandboxCrashLoop was %+v and is %+v", before, after)
	}
	c.mustBe(t, "CNIConfigProblem", "False")

	cured := time.Now()
	c.apply(t, deployment("typo", 1, `, resources: {limits: {memory: 300Mi}}`))
	c.do(t, "rollout", "status", "deployment/typo", "--timeout=3m")
	c.waitNode(t, "PodSandboxStartOOM", "False")
	c.delay(t, "300m mended", cured)
	c.do(t, "delete", "deployment", "typo")
	c.mustBeWell(t)
}

// mustBlameLimit: one pod of an unknown cause would be kept silent by --min-pods, and a new one by --start-grace. Without them
// the pod's own limit alone explains the silence.
func (c *cluster) mustBlameLimit(t *testing.T, pod string) {
	t.Helper()
	strict := []string{"--min-pods", "1", "--start-grace", "5s"}
	if said := c.askNode(t, append([]string{"check", "sandbox-crashloop"}, strict...)...); said.exit != 0 {
		t.Errorf("sandbox-crashloop %v: exit %d: %s", strict, said.exit, said.line)
	}
	report := c.askNode(t, append([]string{"report"}, strict...)...)
	if !strings.Contains(report.line, "sandbox-crashloop of default/"+pod) {
		t.Errorf("the report does not say that the limit explains the loop of %s:\n%s", pod, report.line)
	}
}

// testPauseKilled: two pods whose sandboxes die and go on dying, for a reason that nobody knows. A few deaths between two looks
// are no loop yet: just after a boot they could be those of the boot before, for containerd 1.6 does not date dead sandboxes.
func (c *cluster) testPauseKilled(t *testing.T) {
	names := []string{"dies-a", "dies-b"}
	for _, name := range names {
		c.apply(t, pausePod(name, ""))
		c.waitPod(t, name, "Running")
	}
	fault, kills := time.Now(), 0
	for ; c.conditions()["PodSandboxCrashLoop"].Status != "True"; kills++ {
		if time.Since(fault) > 2*time.Minute+4**interval {
			t.Fatalf("PodSandboxCrashLoop is not True after %d kills in %s", kills, time.Since(fault))
		}
		for _, name := range names {
			c.killSandbox(t, name)
		}
		for _, name := range names {
			c.waitSandbox(t, name)
		}
	}
	told := c.waitNode(t, "PodSandboxCrashLoop", "True")
	c.delay(t, fmt.Sprintf("pause killed %d times, PodSandboxCrashLoop (from the first kill)", kills), fault)
	mustTell(t, told, "PodSandboxesKeepFailing", "default/dies-a", "and 1 more", "keep dying")
	c.mustReport(t, "dies-a", "dies-b", "dying")
	c.mustTellOnce(t, "PodSandboxCrashLooping", names...)
	for _, name := range names {
		c.do(t, "delete", "pod", name, "--now")
	}
	c.waitNode(t, "PodSandboxCrashLoop", "False")
}

// killSandbox kills a pod's pause, which has the sandbox's id in its cgroup.
func (c *cluster) killSandbox(t *testing.T, pod string) {
	t.Helper()
	id := c.readySandbox(t, pod)
	if _, err := c.try("", "ctr", "-n", "k8s.io", "tasks", "kill", "-s", "SIGKILL", id); err != nil {
		t.Fatal(err)
	}
	if !eventuallyEach(20*time.Second, 200*time.Millisecond, func() bool { return c.readySandbox(t, pod) != id }) {
		t.Fatalf("the sandbox of %s lives on", pod)
	}
}

// waitSandbox waits until the kubelet has made a new one.
func (c *cluster) waitSandbox(t *testing.T, pod string) {
	t.Helper()
	if !eventuallyEach(3*time.Minute, 500*time.Millisecond, func() bool { return c.readySandbox(t, pod) != "" }) {
		t.Fatalf("%s has no new sandbox", pod)
	}
}

// readySandbox gives the id of a pod's sandbox, "" while it has none that is ready.
func (c *cluster) readySandbox(t *testing.T, pod string) string {
	t.Helper()
	out, err := c.try("", built(t, buildCrictl), "-r", "unix:///run/containerd/containerd.sock", "-t", "20s", "pods", "-q", "--no-trunc", "--state", "ready", "--name", "^"+pod+"$")
	if err != nil {
		t.Fatal(err)
	}
	id, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
	return id
}

func (c *cluster) mustBe(t *testing.T, kind, status string) {
	t.Helper()
	if got := c.conditions()[kind]; got.Status != status {
		t.Errorf("%s is %s, want %s: %s", kind, got.Status, status, got.Message)
	}
}

// mustReport: the node's report names it too.
func (c *cluster) mustReport(t *testing.T, words ...string) {
	t.Helper()
	report := c.askNode(t, "report")
	for _, word := range words {
		if report.exit != 1 || !strings.Contains(report.line, word) {
			t.Errorf("the report (exit %d) does not say %q:\n%s%s", report.exit, word, report.line, report.stderr)
		}
	}
}

func mustTell(t *testing.T, told nodeCondition, reason string, words ...string) {
	t.Helper()
	if told.Reason != reason {
		t.Errorf("reason %s, want %s", told.Reason, reason)
	}
	for _, word := range words {
		if !strings.Contains(told.Message, word) {
			t.Errorf("%s does not say %q: %s", told.Type, word, told.Message)
		}
	}
}

// deployment of pause pods; more is put into the container.
func deployment(name string, replicas int, more string) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  replicas: %[2]d
  progressDeadlineSeconds: 7200
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      automountServiceAccountToken: false
      terminationGracePeriodSeconds: 0
      containers:
      - {name: main, image: %[3]q, imagePullPolicy: Never%[4]s}
`, name, replicas, pauseImage, more)
}
