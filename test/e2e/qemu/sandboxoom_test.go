package qemu

import (
	"strings"
	"testing"
)

const (
	kib = 1 << 10
	mib = 1 << 20
)

// unitHint is the cure of a limit that nobody can have meant.
const unitHint = "m means milli: write Mi"

// deadlyLimits are those within which no sandbox starts. 1 byte is what 300m becomes; the kernel keeps whole pages, so it
// reads back as 0, and nothing is there to be killed.
var deadlyLimits = []struct {
	name  string
	bytes int64
	kills bool
	says  []string
}{
	{"0", 1, false, []string{"below one page", unitHint}},
	{"64-kib", 64 * kib, true, []string{"64Ki", unitHint}},
	{"2-mib", 2 * mib, true, []string{"2Mi", "raise the memory limit"}},
}

// TestSandboxOOM: a pod's limit kills its sandbox at start, on cgroup v2.
func TestSandboxOOM(t *testing.T) {
	for _, f := range []flavour{containerd1, containerd2} {
		t.Run("containerd "+f.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, f)
			m.boot(t)
			m.check(t, want{exit: 0}, "sandbox-oom")
			t.Run("4 MiB", func(t *testing.T) { m.testEnough(t, "qemu-oom-4-mib-containerd-"+f.name) })
			for _, limit := range deadlyLimits {
				t.Run(limit.name, func(t *testing.T) {
					captured := "qemu-oom-" + limit.name + "-containerd-" + f.name
					m.testDeadly(t, pod{name: "tiny-" + limit.name}, limit.bytes, limit.kills, limit.says, captured)
				})
			}
		})
	}
}

func (m *machine) testEnough(t *testing.T, captured string) {
	p := pod{name: "enough"}
	m.likeKubelet(t, p, 4*mib)
	if _, err := m.tryRun(t, p); err != nil {
		t.Fatal(err)
	}
	live := m.check(t, want{exit: 0}, "sandbox-oom")
	m.capture(t, captured, live, "sandbox-oom")
	m.checkBlind(t, want{exit: 2, words: []string{"kernel log"}}, "--start-grace", "1s")
	m.forget(t, p)
}

func (m *machine) testDeadly(t *testing.T, p pod, limit int64, kills bool, says []string, captured string) {
	m.likeKubelet(t, p, limit)
	for range 3 {
		m.runUntilKilled(t, p)
	}
	told := want{exit: 1, words: append(says, "default/"+p.name)}
	live := m.check(t, told, "sandbox-oom")
	m.capture(t, captured, live, "sandbox-oom")
	m.checkEvidence(t, p, kills)
	// Its own limit is nothing that the node can be blamed for, however often. A single pod of an unknown cause would be told.
	m.check(t, want{exit: 0}, "sandbox-crashloop", "--start-grace", "1s", "--min-pods", "1")

	m.checkBlind(t, want{exit: 2, words: []string{"kernel log"}}, "--start-grace", "1h") // the pod may still be starting
	m.checkBlind(t, told, "--start-grace", "1s")
	m.forget(t, p)
	m.checkBlind(t, want{exit: 2, words: []string{"kernel log"}}, "--start-grace", "1s")
	m.check(t, want{exit: 0}, "sandbox-oom")
}

// runUntilKilled tries more than once: with 2 MiB a start is close, and some come through.
func (m *machine) runUntilKilled(t *testing.T, p pod) {
	t.Helper()
	const tries = 30
	for range tries {
		id, err := m.tryRun(t, p)
		if err != nil {
			t.Logf("the runtime says: %v", err)
			return
		}
		t.Log("the sandbox started within its limit: once more")
		m.do(t, "crictl", "rmp", "-f", id)
	}
	t.Fatalf("the sandbox starts, %d times of %d: this proves nothing", tries, tries)
}

// checkEvidence holds the case to what it is about, by what kernel and cgroup say themselves.
func (m *machine) checkEvidence(t *testing.T, p pod, kills bool) {
	t.Helper()
	events := m.do(t, "cat", "/sys/fs/cgroup"+p.cgroup()+"/memory.events")
	log := m.do(t, "dmesg")
	t.Logf("memory.events: %s", strings.ReplaceAll(events, "\n", ", "))
	if strings.Contains(events, "oom 0\n") {
		t.Error("the cgroup counts no failure: this proves nothing")
	}
	if killed := !strings.Contains(events, "oom_kill 0"); killed != kills {
		t.Errorf("killed for it: %v; this case is about the opposite", killed)
	}
	if !strings.Contains(log, p.uid()) {
		t.Error("the kernel's log does not name the pod")
	}
}

// noKernelLog hides the kernel's log, as it is hidden in a container that is not privileged. Root may read every file, so
// another one has to lie there.
var noKernelLog = []string{"unshare", "-m", "sh", "-c", `mount --bind /dev/null /dev/kmsg && exec "$@"`, "sh"}

func (m *machine) checkBlind(t *testing.T, w want, flags ...string) {
	t.Helper()
	m.checkIn(t, w, noKernelLog, append([]string{"sandbox-oom"}, flags...)...)
}
