package qemu

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"sandbox-checker/test/e2e/internal/crictl"
	"sandbox-checker/test/e2e/internal/document"
)

// A pod is what the kubelet would ask for. All are on the node's network: the CNI is not what this suite is about.
type pod struct {
	name    string
	attempt int
}

// uid is a UUID as the API server makes them: nothing in it tells the name.
func (p pod) uid() string {
	sum := sha256.Sum256([]byte(p.name))
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

func (p pod) cgroup() string { return "/kubepods/burstable/pod" + p.uid() }
func (p pod) logs() string   { return "/var/log/pods/default_" + p.name + "_" + p.uid() }

// asked is the pod as the runtime is asked for it.
func (p pod) asked() crictl.Pod {
	return crictl.Pod{Name: p.name, UID: p.uid(), Attempt: p.attempt, Logs: p.logs(), Cgroup: p.cgroup()}
}

func (p pod) config(privileged bool) map[string]any {
	return p.asked().Sandbox(map[string]any{"namespace_options": nodeNetwork(), "privileged": privileged})
}

func (p pod) container(attempt int) map[string]any {
	return p.asked().Container(pauseImage, attempt, map[string]any{"namespace_options": nodeNetwork()})
}

// nodeNetwork are CRI's NamespaceOption: network 2 is the node's, pid 1 the container's own.
func nodeNetwork() map[string]any { return map[string]any{"network": 2, "pid": 1} }

// likeKubelet does for a pod what the kubelet does before it asks for the sandbox: the log directory, and a cgroup with the
// pod's limit in bytes, 0 for none.
func (m *machine) likeKubelet(t testing.TB, p pod, limit int64) {
	t.Helper()
	m.sh(t, fmt.Sprintf(`mkdir -p %[1]s /sys/fs/cgroup%[2]s
		for c in $(cat /sys/fs/cgroup%[2]s/cgroup.controllers); do echo +$c >/sys/fs/cgroup%[2]s/cgroup.subtree_control; done
		if [ %[3]d -gt 0 ]; then echo %[3]d >/sys/fs/cgroup%[2]s/memory.max; fi`, p.logs(), p.cgroup(), limit))
}

// forget takes a pod away as the kubelet does: sandbox, cgroup, logs.
func (m *machine) forget(t testing.TB, p pod) {
	t.Helper()
	m.sh(t, fmt.Sprintf(`for s in $(crictl pods -q --label io.kubernetes.pod.uid=%s); do crictl rmp -f $s >/dev/null; done
		find /sys/fs/cgroup%[2]s -depth -type d -exec rmdir {} \;
		rm -rf %[3]s`, p.uid(), p.cgroup(), p.logs()))
}

// tryRun asks for a sandbox that may not start.
func (m *machine) tryRun(t testing.TB, p pod) (string, error) {
	t.Helper()
	file := "/run/pod-" + p.name + ".json"
	m.writeFile(t, file, document.JSON(p.config(false)))
	r := m.run(t, "", "crictl", "runp", file)
	if r.Exit != 0 {
		return "", fmt.Errorf("crictl runp: %s", crictl.Complaint(r.Stderr))
	}
	return strings.TrimSpace(r.Stdout), nil
}

// runPod starts a sandbox, as the kubelet would, and gives its id.
func (m *machine) runPod(t testing.TB, p pod) string {
	t.Helper()
	m.likeKubelet(t, p, 0)
	id, err := m.tryRun(t, p)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// create makes a container of the pod's sandbox and does not start it.
func (m *machine) create(t testing.TB, sandbox string, p pod, container map[string]any) string {
	t.Helper()
	file := "/run/container-" + p.name + ".json"
	m.writeFile(t, file, document.JSON(container))
	return m.sh(t, fmt.Sprintf("mkdir -p %s/main; crictl create %s %s /run/pod-%s.json", p.logs(), sandbox, file, p.name))
}

// createdPod is a pod whose container was created and not started.
func (m *machine) createdPod(t testing.TB, name string) (sandbox, container string) {
	t.Helper()
	p := pod{name: name}
	sandbox = m.runPod(t, p)
	return sandbox, m.create(t, sandbox, p, p.container(0))
}
