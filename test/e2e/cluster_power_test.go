package e2e

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

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
	c.powerOff(t)
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
	c.mustTellOnce(t, "ContainerStuckCreated", pod)
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
	out, err := c.try("", built(t, buildCrictl), "-r", "unix:///run/containerd/containerd.sock", "-t", "20s", "ps", "-a", "-q", "--state", "created")
	if err != nil {
		t.Fatal(err)
	}
	return len(strings.Fields(out))
}
