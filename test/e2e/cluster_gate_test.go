package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// A gate does what node-readiness-controller is documented to do with a rule of mode continuous: the taint is on the node
// unless each condition has its required status; an absent condition has its default. It lives in this suite alone.
type gate struct {
	*cluster
	rule readinessRule
	halt func()
}

// readinessRule is the part of a NodeReadinessRule's spec that a gate follows.
type readinessRule struct {
	Conditions []struct {
		Type           string `yaml:"type"`
		RequiredStatus string `yaml:"requiredStatus"`
		DefaultStatus  string `yaml:"defaultStatus"`
	} `yaml:"conditions"`
	Taint struct {
		Key    string `yaml:"key"`
		Value  string `yaml:"value"`
		Effect string `yaml:"effect"`
	} `yaml:"taint"`
}

// gate reads the sample of deploy/remedies and follows it until the test ends.
func (c *cluster) gate(t *testing.T) *gate {
	t.Helper()
	content, err := os.ReadFile("../../deploy/remedies/node-readiness-controller/problem-gate.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var sample struct {
		Spec readinessRule `yaml:"spec"`
	}
	if err := yaml.Unmarshal(content, &sample); err != nil || len(sample.Spec.Conditions) == 0 || sample.Spec.Taint.Key == "" {
		t.Fatalf("problem-gate.yaml: %v: %+v", err, sample)
	}
	g := &gate{cluster: c, rule: sample.Spec}
	g.begin(t)
	return g
}

// begin follows the rule until the test ends or halt is called, as when the machine loses its power.
func (g *gate) begin(t *testing.T) {
	t.Helper()
	g.halt = eachSecond(t, g.follow)
}

// follow looks once. While the API server is away it does nothing, as a controller would.
func (g *gate) follow() {
	conditions := g.conditions()
	if conditions == nil {
		return
	}
	well := true
	for _, want := range g.rule.Conditions {
		status := conditions[want.Type].Status
		if status == "" {
			status = want.DefaultStatus
		}
		well = well && status == want.RequiredStatus
	}
	taint := fmt.Sprintf("%s=%s:%s", g.rule.Taint.Key, g.rule.Taint.Value, g.rule.Taint.Effect)
	if well {
		taint = g.rule.Taint.Key + "-"
	}
	_, _ = g.tryKubectl("", "taint", "node", nodeName, "--overwrite", taint) // refused when it is not there
}

func (g *gate) tainted() bool {
	out, _ := g.tryKubectl("", "get", "node", nodeName, "-o", "jsonpath={.spec.taints[*].key}")
	return strings.Contains(out, g.rule.Taint.Key)
}

// testScheduler: a new pod stays Pending, and the scheduler says that it is for a taint; there is no other than ours.
func (g *gate) testScheduler(t *testing.T) {
	if !eventuallyEach(30*time.Second, time.Second, g.tainted) {
		t.Fatal("no taint")
	}
	g.apply(t, pausePod("gated", ""))
	var why string
	if !eventuallyEach(time.Minute, time.Second, func() bool {
		why, _ = g.tryKubectl("", "get", "pod", "gated", "-o", `jsonpath={.status.conditions[?(@.type=="PodScheduled")].message}`)
		return strings.Contains(why, "untolerated taint")
	}) {
		t.Fatalf("the scheduler does not say that it is for a taint: %s", why)
	}
	taints := g.do(t, "get", "node", nodeName, "-o", "jsonpath={.spec.taints[*].key}")
	t.Logf("the scheduler: %s; the node's taints: %s", why, taints)
	if taints != g.rule.Taint.Key { // 1.36 does not name it
		t.Errorf("the node has the taints %s, want only %s", taints, g.rule.Taint.Key)
	}
	if is := g.podIs("gated"); !strings.HasPrefix(is, "Pending") {
		t.Errorf("the pod is %s, want Pending", is)
	}
}

// testOpen: after the cure the taint goes and the pod is placed.
func (g *gate) testOpen(t *testing.T) {
	g.waitPod(t, "gated", "Running")
	if g.tainted() {
		t.Error("the taint is still there")
	}
	g.do(t, "delete", "pod", "gated", "--now")
}
