package e2e

import (
	"strings"
	"testing"
	"time"

	"sandbox-checker/test/e2e/internal/document"
)

// An omission is the detector's pod with one thing left out. What then cannot be looked at must be said, by its name.
type omission struct {
	name   string
	change func(t *testing.T, spec map[string]any)
	// says has, for each check that cannot look any more, what its line must name. The other checks say what they always say.
	says map[string]string
	// findsYet are checks of says that still find a fault when there is one.
	findsYet map[string]bool
}

func allChecks(word string) map[string]string {
	says := map[string]string{}
	for _, name := range checkNames {
		says[name] = word
	}
	return says
}

var omissions = []omission{
	{name: "nothing", change: func(*testing.T, map[string]any) {}},
	{name: "runtime", change: without("sc-runtime"), says: allChecks("no runtime socket: mount its directory")},
	{name: "cgroup", change: without("sc-cgroup"), says: map[string]string{"sandbox-crashloop": "/sys/fs/cgroup", "sandbox-oom": "/sys/fs/cgroup"}},
	{name: "pod-logs", change: without("sc-pod-logs"), says: map[string]string{"sandbox-crashloop": "/var/log/pods", "sandbox-oom": "/var/log/pods"}},
	{name: "cni-conf", change: without("sc-cni-conf"), says: map[string]string{"cni-config": "/etc/cni/net.d"}},
	{
		name: "cni-bin", change: without("sc-cni-bin"), says: map[string]string{"cni-config": "/opt/cni/bin"},
		findsYet: map[string]bool{"cni-config": true}, // the agent's file is not there
	},
	{name: "flannel", change: without("sc-flannel"), says: map[string]string{"cni-config": "/run/flannel"}},
	{name: "cni-state", change: without("sc-cni-state")},
	{name: "calico", change: without("sc-calico")},
	{name: "state", change: without("sc-state")},
	{name: "kmsg", change: without("sc-kmsg")}, // a privileged container has all devices
	{name: "host-network", change: func(_ *testing.T, spec map[string]any) { delete(spec, "hostNetwork") }},
	{
		name: "privilege", change: unprivileged(0), says: map[string]string{"sandbox-oom": "kernel log"},
		findsYet: map[string]bool{"sandbox-oom": true},
	},
	{name: "root", change: unprivileged(65532), says: allChecks("permission denied")},
}

// without leaves a mount out.
func without(volume string) func(*testing.T, map[string]any) {
	return func(t *testing.T, spec map[string]any) {
		container := detectorContainer(t, spec)
		mounts, _ := container["volumeMounts"].([]any)
		var kept []any
		for _, m := range mounts {
			if mount, _ := m.(map[string]any); mount["name"] != volume {
				kept = append(kept, m)
			}
		}
		if len(kept) != len(mounts)-1 {
			t.Fatalf("no mount %s", volume)
		}
		container["volumeMounts"] = kept
	}
}

// unprivileged is what the component of that name makes, for any user.
func unprivileged(uid int) func(*testing.T, map[string]any) {
	return func(t *testing.T, spec map[string]any) {
		without("sc-kmsg")(t, spec)
		detectorContainer(t, spec)["securityContext"] = map[string]any{
			"privileged": false, "allowPrivilegeEscalation": false, "runAsUser": uid, "runAsGroup": uid, "readOnlyRootFilesystem": true, // the group too: the socket is open to it
			"capabilities": map[string]any{"drop": []string{"ALL"}},
		}
	}
}

func detectorContainer(t *testing.T, spec map[string]any) map[string]any {
	t.Helper()
	containers, _ := spec["containers"].([]any)
	if len(containers) != 1 {
		t.Fatalf("%d containers in the DaemonSet, want 1", len(containers))
	}
	return containers[0].(map[string]any)
}

// startOmissions runs a pod for each, in which nothing runs: it is only looked from.
func (c *cluster) startOmissions(t *testing.T) {
	t.Helper()
	for _, o := range omissions {
		spec := c.podSpec(t, "containerd")
		o.change(t, spec)
		container := detectorContainer(t, spec)
		container["command"] = []string{"/pause"}
		delete(container, "resources")
		c.apply(t, document.JSON(map[string]any{
			"apiVersion": "v1", "kind": "Pod",
			"metadata": map[string]any{"name": "without-" + o.name, "namespace": "kube-system"},
			"spec":     spec,
		}))
	}
	for _, o := range omissions {
		c.do(t, "--namespace", "kube-system", "wait", "--for=condition=Ready", "--timeout=3m", "pod/without-"+o.name)
	}
}

func (c *cluster) endOmissions(t *testing.T) {
	t.Helper()
	for _, o := range omissions {
		c.do(t, "--namespace", "kube-system", "delete", "pod", "without-"+o.name, "--now", "--wait=false")
	}
}

// askOmissions holds each pod's answers against the exit statuses that a pod with all mounts gives.
func (c *cluster) askOmissions(t *testing.T, exits map[string]int) {
	for _, o := range omissions {
		t.Run("without "+o.name, func(t *testing.T) {
			for _, name := range checkNames {
				got := c.askIn(t, "kube-system", "without-"+o.name, "check", name)
				got.keepsProtocol(t)
				t.Logf("%s: exit %d in %s: %s", name, got.exit, got.took.Round(time.Millisecond), strings.TrimSpace(got.line))
				word, blind := o.says[name]
				if blind && (exits[name] != 1 || !o.findsYet[name]) {
					got.holds(t, want{2, []string{word}})
					continue
				}
				got.holds(t, want{exit: exits[name]})
			}
		})
	}
}
