package e2e

import (
	"strings"
	"testing"
	"time"
)

// testDescribe: with node-problem-detector 1.34 `kubectl describe node` shows the condition and the event; from 1.35 on it
// shows the condition alone (deploy/README.md says so).
func (c *cluster) testDescribe(t *testing.T) {
	c.useDetector(t, "v1.34.0")
	c.apply(t, deployment("described", 1, `, resources: {limits: {memory: 300m}}`))
	told := c.waitNode(t, "PodSandboxStartOOM", "True")
	var shown string
	if !eventuallyEach(3**interval+30*time.Second, time.Second, func() bool {
		shown = c.do(t, "describe", "node", nodeName)
		return strings.Contains(shown, "PodStartOOMKilled") && strings.Contains(shown, "MemoryLimitKillsSandbox")
	}) {
		t.Error("kubectl describe node does not show both")
	}
	pod := c.podsOf(t, "app=described")[0]
	if !strings.Contains(shown, told.Message) || strings.Count(shown, "default/"+pod) < 2 {
		t.Errorf("want the message and the event of %s:\n%s", pod, shown)
	}
	for line := range strings.Lines(shown) {
		if strings.Contains(line, pod) {
			t.Log(strings.TrimSpace(line))
		}
	}
	c.do(t, "delete", "deployment", "described")
	c.useDetector(t, "v1.36.0")
	c.mustBeWell(t)
}

func (c *cluster) useDetector(t *testing.T, version string) {
	t.Helper()
	c.do(t, "--namespace", "kube-system", "set", "image", "daemonset/node-problem-detector", "node-problem-detector="+detectorImage+version)
	c.do(t, "--namespace", "kube-system", "rollout", "status", "daemonset/node-problem-detector", "--timeout=3m")
}
