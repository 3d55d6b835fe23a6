package e2e

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sandbox-checker/test/e2e/internal/crictl"
	"sandbox-checker/test/e2e/internal/document"
)

// A pod is what the kubelet would ask for: its uid stays, its attempt grows with each new sandbox.
type pod struct {
	name    string
	attempt int
	// hostNetwork: the CNI is not asked.
	hostNetwork bool
	kube        bool // where the kubelet puts it: its cgroup below /kubepods, its logs in /var/log/pods
}

// uid is a UUID as the API server makes them: nothing in it tells the name. Its first half tells the run.
func (p pod) uid() string {
	sum := sha256.Sum256([]byte(p.name))
	return fmt.Sprintf("%s-%x-%x-%x", uidPrefix(os.Getpid()), sum[:2], sum[2:4], sum[4:10])
}

// uidPrefix is common to all pods of a run, so that what a killed run left is found again.
func uidPrefix(pid int) string { return fmt.Sprintf("%08x-5ce2", pid) }

func (p pod) config(n *node) map[string]any {
	asked := crictl.Pod{Name: p.name, UID: p.uid(), Attempt: p.attempt, Logs: p.logs(n), Cgroup: "/" + p.cgroup(n)}
	return asked.Sandbox(p.security())
}

func (p pod) container(attempt int) map[string]any {
	return crictl.Pod{Name: p.name, UID: p.uid()}.Container(pauseImage, attempt, p.security())
}

// security leaves all to the runtime, but for a pod on the node's network.
func (p pod) security() map[string]any {
	if !p.hostNetwork {
		return nil
	}
	return map[string]any{"namespace_options": p.namespaces()}
}

// namespaces are CRI's NamespaceOption: 2 is the node's.
func (p pod) namespaces() map[string]any { return map[string]any{"network": 2} }

func (p pod) cgroup(n *node) string {
	if p.kube {
		return kubeCgroup(p.uid())
	}
	return filepath.Join(n.cgroup(), "pod"+p.uid())
}

func (p pod) logs(n *node) string {
	if p.kube {
		return filepath.Join(podLogs, "default_"+p.name+"_"+p.uid())
	}
	return filepath.Join(n.dir, "logs", p.uid())
}

// run starts a sandbox and gives its id.
func (n *node) run(t testing.TB, p pod) string {
	t.Helper()
	id, err := n.tryRun(t, p)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// tryRun is for pods whose sandbox may not start.
func (n *node) tryRun(t testing.TB, p pod) (string, error) {
	t.Helper()
	return n.try("runp", n.jsonFile(t, "pod-"+p.name, p.config(n)))
}

// create makes a container of the pod's sandbox and does not start it.
func (n *node) create(t testing.TB, sandbox string, p pod, attempt int) string {
	t.Helper()
	mkdirAll(t, filepath.Join(p.logs(n), "main"))
	container := n.jsonFile(t, "container-"+p.name, p.container(attempt))
	return n.do(t, "create", sandbox, container, n.jsonFile(t, "pod-"+p.name, p.config(n)))
}

// A limited container runs a program of the image within a memory limit, 0 for none.
type limited struct {
	program string
	memory  int64
}

// createLimited makes such a container in the pod's sandbox.
func (n *node) createLimited(t testing.TB, sandbox string, p pod, l limited) string {
	t.Helper()
	mkdirAll(t, filepath.Join(p.logs(n), "main"))
	config := p.container(0)
	config["command"] = []string{l.program}
	config["linux"] = map[string]any{"resources": map[string]any{"memory_limit_in_bytes": l.memory}}
	file := n.jsonFile(t, "container-"+p.name, config)
	return n.do(t, "create", sandbox, file, n.jsonFile(t, "pod-"+p.name, p.config(n)))
}

// do asks the runtime and ends the test when it refuses.
func (n *node) do(t testing.TB, args ...string) string {
	t.Helper()
	out, err := n.try(args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (n *node) try(args ...string) (string, error) { return n.tryFor("20s", args...) }

// tryFor asks with a time limit; crictl gives RunPodSandbox twice as long.
func (n *node) tryFor(timeout string, args ...string) (string, error) {
	words := append([]string{"-r", n.endpoint(), "-i", n.endpoint(), "-t", timeout}, args...)
	cmd := exec.Command(n.crictl, words...)
	var out, complaint strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("crictl %s: %w: %s", strings.Join(args, " "), err, crictl.Complaint(complaint.String()))
	}
	return strings.TrimSpace(out.String()), nil
}

func (n *node) jsonFile(t testing.TB, name string, v any) string {
	t.Helper()
	path := filepath.Join(n.dir, name+".json")
	writeFile(t, path, document.JSON(v))
	return path
}
