package qemu

import (
	"strings"
	"testing"
)

// TestPowerLoss: a node goes down between the creation of a container and its start, by the mains and by the reset button.
func TestPowerLoss(t *testing.T) {
	for _, f := range []flavour{containerd1, containerd2} {
		t.Run("containerd "+f.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, f)
			m.boot(t)
			first := m.bootID
			m.goesDown(t, "mains", "qemu-power-loss-containerd-"+f.name, func() {
				m.powerLoss()
				m.boot(t)
			})
			m.goesDown(t, "button", "qemu-reset-containerd-"+f.name, func() { m.reset(t) })
			if m.bootID == first {
				t.Error("the boot id is that of the first boot: nothing was rebooted")
			}
		})
	}
}

// goesDown follows one container: created, cut off, found, removed.
func (m *machine) goesDown(t *testing.T, name, captured string, down func()) {
	t.Helper()
	sandbox, container := m.createdPod(t, "never-"+name)
	p := pod{name: "started-" + name}
	started := m.create(t, m.runPod(t, p), p, p.container(0))
	m.do(t, "crictl", "start", started)
	m.sh(t, "sync; sleep 2") // the boot's time has whole seconds
	m.check(t, want{exit: 0}, append([]string{"stale-created"}, soon...)...)

	before := m.bootID
	down()
	if m.bootID == before {
		t.Fatal("the boot id has stayed: nothing was rebooted")
	}
	told := want{1, []string{"default/never-" + name, "container main", "before this boot", "never started"}, []string{"default/started"}}
	m.check(t, want{exit: 0}, "stale-created", "--grace", "1h") // the kubelet is to have its time
	live := m.check(t, told, "stale-created", "--grace", "1s")
	m.capture(t, captured, live, "stale-created", "--grace", "1s")

	dry := m.run(t, "", "sandbox-checker", "repair", "stale-created", "--grace", "1s")
	if dry.Exit != 1 || !strings.Contains(dry.Stdout, container) || !strings.Contains(dry.Stdout, "--yes") {
		t.Errorf("repair without --yes: exit %d: %s%s", dry.Exit, dry.Stdout, dry.Stderr)
	}
	done := m.run(t, "", "sandbox-checker", "repair", "stale-created", "--grace", "1s", "--yes")
	t.Logf("repair: exit %d: %s", done.Exit, done.Stdout)
	if done.Exit != 0 || !strings.Contains(done.Stdout, "removed") || !strings.Contains(done.Stdout, container) {
		t.Errorf("repair --yes: exit %d: %s%s", done.Exit, done.Stdout, done.Stderr)
	}
	m.check(t, want{exit: 0}, "stale-created", "--grace", "1s")
	left := m.do(t, "crictl", "ps", "-a", "-q", "--no-trunc")
	if strings.Contains(left, container) || !strings.Contains(left, started) {
		t.Errorf("the runtime lists %s; want %s gone and %s left", left, container, started)
	}
	if pods := m.do(t, "crictl", "pods", "-q", "--no-trunc"); !strings.Contains(pods, sandbox) {
		t.Error("repair has removed the sandbox too")
	}
}

// TestUnsyncedPowerLoss: the container's state had not reached the disk. The runtime lists it as unknown, made at no time;
// the kubelet ends such a pod by itself.
func TestUnsyncedPowerLoss(t *testing.T) {
	t.Parallel()
	m := newMachine(t, containerd1)
	m.boot(t)
	// Else the journal writes every five seconds, and the create alone can take that long here.
	m.sh(t, "mount -o remount,commit=300 /state")
	_, container := m.createdPod(t, "unsynced")
	m.powerLoss()
	m.boot(t)
	list := strings.Join(strings.Fields(m.do(t, "crictl", "ps", "-a", "-o", "json")), " ")
	for _, sign := range []string{container, "CONTAINER_UNKNOWN", `"createdAt": "0"`} {
		if !strings.Contains(list, sign) {
			t.Fatalf("the runtime does not list %s: this proves nothing\n%s", sign, list)
		}
	}
	live := m.check(t, want{exit: 0}, append([]string{"stale-created"}, soon...)...)
	m.capture(t, "qemu-power-loss-unsynced", live, append([]string{"stale-created"}, soon...)...)
	done := m.run(t, "", append([]string{"sandbox-checker", "repair", "stale-created", "--yes"}, soon...)...)
	if done.Exit != 0 || !strings.Contains(done.Stdout, "nothing to repair") {
		t.Errorf("repair: exit %d: %s%s", done.Exit, done.Stdout, done.Stderr)
	}
}
