// Package crictl writes what crictl is given, with the metadata and labels that the kubelet gives a pod, and reads its complaints.
package crictl

import (
	"fmt"
	"strings"
)

// A Pod is in the namespace default and has one container, main.
type Pod struct {
	Name    string
	UID     string
	Attempt int    // of its sandbox
	Logs    string // its log directory, on the node
	Cgroup  string // its cgroup, with a leading slash
}

func (p Pod) labels() map[string]string {
	return map[string]string{
		"io.kubernetes.pod.name":      p.Name,
		"io.kubernetes.pod.namespace": "default",
		"io.kubernetes.pod.uid":       p.UID,
	}
}

// Sandbox is the configuration of its sandbox, a PodSandboxConfig of CRI. A security context of nil leaves all to the runtime.
func (p Pod) Sandbox(security map[string]any) map[string]any {
	linux := map[string]any{"cgroup_parent": p.Cgroup}
	if security != nil {
		linux["security_context"] = security
	}
	return map[string]any{
		"metadata":      map[string]any{"name": p.Name, "namespace": "default", "uid": p.UID, "attempt": p.Attempt},
		"labels":        p.labels(),
		"log_directory": p.Logs,
		"linux":         linux,
	}
}

// Container is the configuration of its container, a ContainerConfig of CRI. A security context of nil leaves all to the
// runtime.
func (p Pod) Container(image string, attempt int, security map[string]any) map[string]any {
	labels := p.labels()
	labels["io.kubernetes.container.name"] = "main"
	config := map[string]any{
		"metadata": map[string]any{"name": "main", "attempt": attempt},
		"image":    map[string]any{"image": image},
		"labels":   labels,
		"log_path": fmt.Sprintf("main/%d.log", attempt),
	}
	if security != nil {
		config["linux"] = map[string]any{"security_context": security}
	}
	return config
}

// Complaint is the last line of what crictl printed on stderr, where it says it once: the lines before say the same as its
// libraries log it.
func Complaint(stderr string) string {
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	return lines[len(lines)-1]
}
