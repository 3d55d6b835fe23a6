package deploy_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Replacing or rebooting a node for the other two makes more of them, or moves them to the next node.
func TestRemediesNameTwoConditions(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for _, p := range append(files(t, "remedies", ".yaml"), files(t, "remedies", ".md")...) {
		for _, c := range conditions() {
			switch {
			case !strings.Contains(read(t, p), c):
			case slices.Contains(remediable, c):
				found[c] = true
			case p != "remedies/README.md": // which says why
				t.Errorf("%s names %s", p, c)
			}
		}
	}
	for _, c := range remediable {
		if !found[c] {
			t.Errorf("no remedy for %s", c)
		}
	}
	// A misspelt type would match nothing, for ever and in silence.
	known := append([]string{"Ready", "KernelDeadlock", "ReadonlyFilesystem", "DiskPressure", "NetworkUnavailable"}, remediable...)
	for _, p := range files(t, "remedies", ".yaml") {
		for _, doc := range documents(t, p, read(t, p)) {
			for _, got := range conditionTypes(doc) {
				if !slices.Contains(known, got) {
					t.Errorf("%s: condition %s", p, got)
				}
			}
		}
	}
}

var drainoCondition = regexp.MustCompile(`^([A-Z]\w+)=(True|False|Unknown),\d+[smh]$`)

// conditionTypes finds the condition types in the ways the consumers write them.
func conditionTypes(v any) (out []string) {
	switch v := v.(type) {
	case object:
		if _, ok := v["status"]; ok || v["requiredStatus"] != nil {
			out = append(out, text(v["type"]))
		}
		for _, n := range list(v["nodeConditions"]) {
			out = append(out, text(n))
		}
		for _, e := range v {
			out = append(out, conditionTypes(e)...)
		}
	case []any:
		for _, e := range v {
			out = append(out, conditionTypes(e)...)
		}
	case string:
		if m := drainoCondition.FindStringSubmatch(v); m != nil {
			out = append(out, m[1])
		}
	}
	return out
}

// Every remedy begins dry where its consumer can, never acts on Unknown of ours, and leaves a time and a cap.
func TestRemediesAreCareful(t *testing.T) {
	t.Parallel()
	load := func(p string) object { return documents(t, p, read(t, filepath.Join("remedies", p)))[0] }
	for _, p := range []string{"bootstrap-gate", "problem-gate"} {
		doc := load("node-readiness-controller/" + p + ".yaml")
		if at(doc, "spec", "dryRun") != true {
			t.Errorf("%s: no dryRun", p)
		}
		for _, c := range list(at(doc, "spec", "conditions")) {
			if at(c, "requiredStatus") != "False" || (at(c, "defaultStatus") != nil) != (p == "problem-gate") {
				t.Errorf("%s: %v", p, c)
			}
		}
	}
	for p, rows := range map[string][]any{
		"medik8s/nodehealthcheck.yaml":                  {"spec", "unhealthyConditions"},
		"cluster-api/machinehealthcheck-v1beta1.yaml":   {"spec", "unhealthyConditions"},
		"cluster-api/machinehealthcheck-openshift.yaml": {"spec", "unhealthyConditions"},
		"cluster-api/machinehealthcheck-v1beta2.yaml":   {"spec", "checks", "unhealthyNodeConditions"},
	} {
		doc, ready := load(p), 0
		for _, row := range list(at(doc, rows...)) {
			switch {
			case at(row, "type") == "Ready":
				ready++
			case at(row, "status") != "True":
				t.Errorf("%s acts on %v", p, row)
			}
		}
		if ready != 2 {
			t.Errorf("%s: %d rows for Ready, want 2: the list replaces the default", p, ready)
		}
		if at(doc, "spec", "minHealthy") == nil && at(doc, "spec", "maxUnhealthy") == nil && at(doc, "spec", "remediation", "triggerIf") == nil {
			t.Errorf("%s: no cap", p)
		}
	}
	if args := read(t, "remedies/draino/args.yaml"); !strings.Contains(args, "- --dry-run\n") {
		t.Error("draino: not dry")
	}
}

// The taints' keys meet in four projects: one name, spelt alike.
func TestTaintKeys(t *testing.T) {
	t.Parallel()
	load := func(p string) object { return documents(t, p, read(t, filepath.Join("remedies", p)))[0] }
	bootstrap := text(at(load("node-readiness-controller/bootstrap-gate.yaml"), "spec", "taint", "key"))
	problem := text(at(load("node-readiness-controller/problem-gate.yaml"), "spec", "taint", "key"))
	if bootstrap == problem || !strings.HasPrefix(bootstrap, "readiness.k8s.io/") || !strings.HasPrefix(problem, "readiness.k8s.io/") {
		t.Errorf("keys %q and %q", bootstrap, problem)
	}
	if got := at(load("karpenter/nodepool.yaml"), "spec", "template", "spec", "startupTaints", 0, "key"); got != bootstrap {
		t.Errorf("karpenter: %v, want %s", got, bootstrap)
	}
	if got := at(load("cluster-autoscaler/args.yaml"), "args"); len(list(got)) != 2 || at(got, 0) != "--status-taint="+problem || at(got, 1) != "--startup-taint="+bootstrap {
		t.Errorf("cluster-autoscaler: %v", got)
	}
	if !strings.Contains(read(t, "remedies/descheduler/policy.yaml"), "includedTaints: ["+problem+"]") {
		t.Error("descheduler: another taint")
	}
	keys := regexp.MustCompile(`readiness\.k8s\.io/[a-z-]+`)
	for _, p := range append(files(t, ".", ".md"), files(t, "remedies", ".yaml")...) {
		for _, k := range keys.FindAllString(read(t, p), -1) {
			if k = strings.TrimRight(k, "-"); k != bootstrap && k != problem {
				t.Errorf("%s: %s", p, k)
			}
		}
	}
}

// Names that no CRD here covers, from the projects' sources of August 2026: cluster-autoscaler 1.36.1, descheduler 0.36,
// machine-controller-manager, draino.
var flags = map[string][]string{
	"cluster-autoscaler": {"--status-taint", "--startup-taint", "--startup-taint-prefix", "--max-total-unready-percentage",
		"--ok-total-unready-count", "--scale-down-utilization-threshold", "--scale-down-unneeded-time", "--scale-down-unready-time"},
	"draino":                    {"--node-label", "--node-label-expr", "--dry-run", "--skip-drain", "--drain-buffer", "--max-grace-period", "--eviction-headroom"},
	"descheduler":               {"--dry-run"},
	"node-readiness-controller": {"--register-with-taints"}, // the kubelet's
	"gardener":                  {"--unknown-as"},           // ours
}

func TestFlagsOfOthers(t *testing.T) {
	t.Parallel()
	flag := regexp.MustCompile("(?m)(?:^|[`\" ])(--[a-z][a-z-]+)")
	for consumer, known := range flags {
		for _, p := range append(files(t, "remedies/"+consumer, ".md"), files(t, "remedies/"+consumer, ".yaml")...) {
			for _, m := range flag.FindAllStringSubmatch(read(t, p), -1) {
				if line := m[1]; !slices.Contains(known, line) && line != "--type" { // kubectl's
					t.Errorf("%s: %s is not known to have a flag %s", p, consumer, line)
				}
			}
		}
	}
	policy := documents(t, "", read(t, "remedies/descheduler/policy.yaml"))[0]
	for _, name := range list(at(policy, "profiles", 0, "plugins", "deschedule", "enabled")) {
		if named(at(policy, "profiles", 0, "pluginConfig"), text(name)) == nil {
			t.Errorf("descheduler: %v has no arguments", name)
		}
	}
	shoot := at(documents(t, "", read(t, "remedies/gardener/shoot-fragment.yaml"))[0], "spec", "provider", "workers", 0, "machineControllerManager", "nodeConditions")
	for i, want := range []string{"KernelDeadlock", "ReadonlyFilesystem", "DiskPressure", "NetworkUnavailable", remediable[0]} {
		if at(shoot, i) != want {
			t.Errorf("gardener: %v at %d, want %s: the list replaces the default", at(shoot, i), i, want)
		}
	}
}

// Nobody but the named consumers reads the conditions, and no page may promise it.
func TestNoFalsePromise(t *testing.T) {
	t.Parallel()
	for _, want := range []string{"cluster-autoscaler", "karpenter"} {
		p := "remedies/" + want + "/README.md"
		if !strings.Contains(read(t, p), "does not read our conditions") {
			t.Errorf("%s does not say that %s does not read our conditions", p, want)
		}
	}
	if !strings.Contains(read(t, "remedies/README.md"), "The scheduler, cluster-autoscaler and Karpenter do not read its conditions.") {
		t.Error("remedies/README.md does not say who reads nothing")
	}
}
