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
	move(t, c.disk(clusterCNIFile), hidden)
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
	move(t, hidden, c.disk(clusterCNIFile))
	c.waitNode(t, "Ready", "True")
	c.mustBeWell(t)
}

func move(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func (c *cluster) mustSeeSame(t *testing.T) {
	t.Helper()
	pod := c.detectorPod(t)
	if !eventuallyEach(time.Minute, time.Second, func() bool { return c.askNode(t, "report").exit == 0 }) {
		t.Fatalf("a node that is well: %s", c.askNode(t, "report").line) // two that are blind see the same too
	}
	for _, name := range checkNames {
		inside := c.askIn(t, "kube-system", pod, "check", name)
		outside := c.askNode(t, "check", name)
		inside.keepsProtocol(t)
		if inside.exit != 0 || inside.exit != outside.exit || inside.line != outside.line {
			t.Errorf("%s: in the pod exit %d: %s on the node exit %d: %s", name, inside.exit, inside.line, outside.exit, outside.line)
		}
	}
	inside, outside := sections(c.askIn(t, "kube-system", pod, "capture").line), sections(c.askNode(t, "capture").line)
	for name := range moving {
		if inside[name] == "" || outside[name] == "" {
			t.Errorf("a capture without %s", name)
		}
		delete(inside, name)
		delete(outside, name)
	}
	if len(inside) < 8 {
		t.Errorf("only %d sections in a capture", len(inside))
	}
	for name := range inside {
		if _, is := outside[name]; !is {
			t.Errorf("%s is in the pod's capture alone", name)
		}
	}
	for name := range outside {
		if inside[name] != outside[name] {
			t.Errorf("%s: in the pod\n%s\non the node\n%s", name, inside[name], outside[name])
		}
	}
}

// moving are the sections that are never the same twice. The kernel's log is one: records come between two looks.
var moving = map[string]bool{"now": true, "kernel-clock": true, "/dev/kmsg": true}

var sectionName = regexp.MustCompile(`(?m)^-- (.+) --$`)

// sections are the parts of a capture by name: each thing that a check looks at.
func sections(capture string) map[string]string {
	parts := map[string]string{}
	at := sectionName.FindAllStringSubmatchIndex(capture, -1)
	for i, m := range at {
		end := len(capture)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		name := capture[m[2]:m[3]]
		if strings.HasPrefix(name, "/run/sandbox-checker/") || strings.HasPrefix(name, "/proc/") && name != "/proc/stat" {
			continue // the history grows with each look; the process is another one
		}
		parts[name] = comparableText(capture[m[1]:end])
	}
	return parts
}

// movingPaths have times that move, or are the container's own.
var movingPaths = regexp.MustCompile(` (/run/sandbox-checker.*|/proc/.*|/etc|/etc/cni)$|^(cpu|intr|ctxt|softirq|processes|procs_)`)

// comparableText is a section without what moves, in an order of its own: a runtime lists in any.
func comparableText(section string) string {
	var kept []string
	for line := range strings.Lines(section) {
		if line = strings.TrimRight(line, ",\n"); !movingPaths.MatchString(line) {
			kept = append(kept, line)
		}
	}
	slices.Sort(kept)
	return strings.Join(kept, "\n")
}
