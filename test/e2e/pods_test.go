package e2e

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A pod is what the kubelet would ask for: its uid stays, its attempt grows with each new sandbox.
type pod struct {
	name    string
	attempt int
	host    bool // on the host's network: the CNI is then not asked
}

// uid is a UUID as the API server makes them: nothing in it tells the name.
func (p pod) uid() string {
	sum := sha256.Sum256([]byte(p.name))
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

func (p pod) labels() map[string]string {
	return map[string]string{
		"io.kubernetes.pod.name":      p.name,
		"io.kubernetes.pod.namespace": "default",
		"io.kubernetes.pod.uid":       p.uid(),
	}
}

func (p pod) config(n *node) map[string]any {
	options := map[string]any{}
	if p.host {
		options["network"] = 2
	}
	return map[string]any{
		"metadata":      map[string]any{"name": p.name, "namespace": "default", "uid": p.uid(), "attempt": p.attempt},
		"labels":        p.labels(),
		"log_directory": p.logs(n),
		"linux": map[string]any{
			"cgroup_parent":    "/" + filepath.Join(n.cgroup(), "pod"+p.uid()),
			"security_context": map[string]any{"namespace_options": options},
		},
	}
}

func (p pod) container(attempt int) map[string]any {
	labels := p.labels()
	labels["io.kubernetes.container.name"] = "main"
	return map[string]any{
		"metadata": map[string]any{"name": "main", "attempt": attempt},
		"image":    map[string]any{"image": pauseImage},
		"labels":   labels,
		"log_path": fmt.Sprintf("main/%d.log", attempt),
	}
}

func (p pod) logs(n *node) string { return filepath.Join(n.dir, "logs", p.uid()) }

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
	if err := os.MkdirAll(filepath.Join(p.logs(n), "main"), 0o755); err != nil {
		t.Fatal(err)
	}
	container := n.jsonFile(t, "container-"+p.name, p.container(attempt))
	return n.do(t, "create", sandbox, container, n.jsonFile(t, "pod-"+p.name, p.config(n)))
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

func (n *node) try(args ...string) (string, error) {
	words := append([]string{"-r", n.endpoint(), "-i", n.endpoint(), "-t", "20s"}, args...)
	cmd := exec.Command(n.crictl, words...)
	var out, complaint strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("crictl %s: %w: %s", strings.Join(args, " "), err, lastLine(complaint.String()))
	}
	return strings.TrimSpace(out.String()), nil
}

// lastLine is where crictl says it once; the lines before say the same as its libraries log it.
func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

func (n *node) jsonFile(t testing.TB, name string, v any) string {
	t.Helper()
	path := filepath.Join(n.dir, name+".json")
	writeFile(t, path, string(asJSON(v)))
	return path
}
