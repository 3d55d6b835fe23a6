package e2e

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var checkNames = []string{"stale-created", "sandbox-crashloop", "sandbox-oom", "cni-config"}

// testSameView: from inside the detector's pod each check sees what it sees on the node itself, and says the same, also after
// the runtime was restarted and its socket is a new one.
func (c *cluster) testSameView(t *testing.T) {
	c.apply(t, pausePod("seen", ""))
	c.waitPod(t, "seen", "Running")
	c.mustSeeSame(t)
	c.restart(t, "containerd")
	c.mustSeeSame(t)
	c.do(t, "delete", "pod", "seen", "--now")
}

// testStartsWithoutNetwork: the node has no CNI configuration and is not Ready, and the detector's pod is made anew.
func (c *cluster) testStartsWithoutNetwork(t *testing.T) {
	hidden := c.disk(clusterCNIFile) + ".hidden"
	rename(t, c.disk(clusterCNIFile), hidden)
	c.waitNode(t, "Ready", "False")
	old := c.detectorPod(t)
	c.do(t, "--namespace", "kube-system", "delete", "pod", old, "--now")
	if !eventuallyEach(2*time.Minute, time.Second, func() bool {
		out, err := c.tryKubectl("", "--namespace", "kube-system", "get", "pods", "-l", "app=node-problem-detector", "-o",
			`jsonpath={.items[*].metadata.name} {.items[*].status.conditions[?(@.type=="Ready")].status}`)
		return err == nil && !strings.Contains(out, old) && strings.HasSuffix(out, " True")
	}) {
		t.Fatal("the detector's pod does not start without the CNI")
	}
	told := c.waitNode(t, "CNIConfigProblem", "Unknown") // the directory has just changed
	mustTell(t, told, "NoCNIConfigProblem", "starting", "/etc/cni/net.d")
	rename(t, hidden, c.disk(clusterCNIFile))
	c.waitNode(t, "Ready", "True")
	c.mustBeWell(t)
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func (c *cluster) mustSeeSame(t *testing.T) {
	t.Helper()
	pod := c.detectorPod(t)
	for _, name := range checkNames {
		inside := c.askIn(t, "kube-system", pod, "check", name)
		outside := c.askNode(t, "check", name)
		inside.keepsProtocol(t)
		if inside.exit != outside.exit || inside.line != outside.line {
			t.Errorf("%s: in the pod exit %d: %s on the node exit %d: %s", name, inside.exit, inside.line, outside.exit, outside.line)
		}
	}
	inside, outside := sections(c.askIn(t, "kube-system", pod, "capture").line), sections(c.askNode(t, "capture").line)
	if !slices.Equal(inside, outside) {
		t.Errorf("captures differ: in the pod\n%v\non the node\n%v", inside, outside)
	}
	if len(inside) < 20 {
		t.Errorf("only %d files in a capture: %v", len(inside), inside)
	}
}

var sectionName = regexp.MustCompile(`(?m)^-- (.+) --$`)

// sections are the names of a capture's files: each thing that a check looked at. Ids of runtime processes are left out, for
// those of an exec come and go.
func sections(capture string) []string {
	var names []string
	for _, found := range sectionName.FindAllStringSubmatch(capture, -1) {
		if !strings.Contains(found[1], "proc/") {
			names = append(names, found[1])
		}
	}
	slices.Sort(names)
	return names
}
