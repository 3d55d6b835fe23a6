package e2e

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// testManifests: the real API server judges every overlay. Nothing is kept: a server-side dry run.
func (c *cluster) testManifests(t *testing.T) {
	c.deployed(t, "")
	overlays, _ := filepath.Glob("../../deploy/kustomize/overlays/*")
	if len(overlays) < 9 {
		t.Fatalf("only %d overlays", len(overlays))
	}
	for _, dir := range overlays {
		overlay := filepath.Base(dir)
		out, err := c.tryKubectl("", "apply", "--dry-run=server", "-k", c.deployed(t, overlay))
		if err != nil {
			t.Errorf("%s: %v", overlay, err)
		}
		t.Logf("%s: %d objects", overlay, strings.Count(out, "\n"))
	}
}

// samples with the CRD that judges each. What no CRD covers is held to lists of names in deploy's own tests.
var samples = map[string][]string{
	"nodereadinessrules.yaml":  {"node-readiness-controller/bootstrap-gate.yaml", "node-readiness-controller/problem-gate.yaml"},
	"nodehealthchecks.yaml":    {"medik8s/nodehealthcheck.yaml"},
	"machinehealthchecks.yaml": {"cluster-api/machinehealthcheck-v1beta1.yaml", "cluster-api/machinehealthcheck-v1beta2.yaml"},
	"nodepools.yaml":           {"karpenter/nodepool.yaml"},
}

// spoiled is a sample that the API server must refuse, with what becomes what, and the words by which it does: this proves that
// it looks.
var spoiled = map[string][3]string{
	"node-readiness-controller/problem-gate.yaml":   {"key: readiness.k8s.io/", "key: example.com/", "spec.taint"},
	"medik8s/nodehealthcheck.yaml":                  {"status: \"True\"", "status: [x]", "spec.unhealthyConditions"},
	"cluster-api/machinehealthcheck-v1beta2.yaml":   {"timeoutSeconds: 900", "timeoutSeconds: -1", "timeoutSeconds: Invalid value"},
	"cluster-api/machinehealthcheck-v1beta1.yaml":   {"clusterName: my-cluster", "clusterName: \"\"", "spec.clusterName: Invalid value"},
	"karpenter/nodepool.yaml":                       {"operator: In", "operator: Is", "operator: Unsupported value"},
	"node-readiness-controller/bootstrap-gate.yaml": {"effect: NoSchedule", "effect: Nothing", "effect: Unsupported value"},
}

// testSamples: with the CRDs of the remedies it judges every sample that has one.
func (c *cluster) testSamples(t *testing.T) {
	crds := cmp.Or(os.Getenv("CRDS"), "../../deploy/testdata/crds") // as the tests of deploy have it
	copied := filepath.Join(run.dir, "crds")
	if err := errors.Join(os.CopyFS(copied, os.DirFS(crds)), os.CopyFS(filepath.Join(run.dir, "remedies"), os.DirFS("../../deploy/remedies"))); err != nil {
		t.Fatal(err)
	}
	c.do(t, "apply", "--server-side", "-f", copied)
	c.do(t, "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
	for crd, files := range samples {
		if _, err := os.Stat(filepath.Join(crds, crd)); err != nil {
			t.Error(err)
		}
		for _, file := range files {
			path := filepath.Join(run.dir, "remedies", file)
			if _, err := c.tryKubectl("", "apply", "--dry-run=server", "-f", path); err != nil {
				t.Errorf("%s: %v", file, err)
			}
			bad := strings.Replace(readFile(t, path), spoiled[file][0], spoiled[file][1], 1)
			if bad == readFile(t, path) {
				t.Errorf("%s has no %q to spoil", file, spoiled[file][0])
			}
			_, err := c.tryKubectl(bad, "apply", "--dry-run=server", "-f", "-")
			if err == nil || !strings.Contains(err.Error(), spoiled[file][2]) {
				t.Errorf("%s with %q: want it refused for %q: %v", file, spoiled[file][1], spoiled[file][2], err)
			}
			t.Logf("%s: taken; spoiled: %v", file, err)
		}
	}
	c.do(t, "delete", "--wait=false", "-f", copied)
}
