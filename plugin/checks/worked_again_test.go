package checks_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/capture"
	"sandbox-checker/plugin/checks"
	"sandbox-checker/plugin/state"
)

// workedAgain are the two pods of the capture with four sandboxes that their limit killed, all still listed, and a fifth that is
// as last says.
func workedAgain(t *testing.T, last string) *capture.File {
	t.Helper()
	f := read(t, raised)
	var items []string
	for i, uid := range []string{"000062aa-5ce2-7011-1aa8-b39793bddc1b", "000062aa-5ce2-7011-1aa8-b39793bddc1c"} {
		for attempt := range 5 {
			is, ago := "SANDBOX_NOTREADY", time.Duration(5-attempt)*40*time.Second
			if attempt == 4 {
				is, ago = last, 10*time.Second
			}
			items = append(items, fmt.Sprintf(`{"id": "%d%063d", "metadata": {"name": "typo-%d", "uid": %q, "namespace": "default", "attempt": %d}, "state": %q, "createdAt": "%d"}`,
				attempt, i, i+1, uid, attempt, is, f.Now.Add(-ago).UnixNano()))
		}
	}
	f.CRI.Pods = []byte(`{"items": [` + strings.Join(items, ",") + `]}`)
	return f
}

// TestWorkedAfterItsLimitKilled: pods that start at last, after their own limit killed many of their sandboxes, blame no node. One
// that fails again for a reason that nobody knows does.
func TestWorkedAfterItsLimitKilled(t *testing.T) {
	t.Parallel()
	for last, exit := range map[string]int{"SANDBOX_READY": 0, "SANDBOX_NOTREADY": 1} {
		f, store := workedAgain(t, last), &state.Memory{}
		for _, wait := range []time.Duration{0, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute} {
			now := later(t, f, wait)
			now.KernelClock += wait
			if v, _ := lookWith(t, now, store, checks.SandboxCrashLoopName, plugin.Defaults()); int(v.Status) != exit {
				t.Errorf("%s, after %s: exit %d, want %d: %s", last, wait, v.Status, exit, v.Line)
			}
		}
	}
}

// TestOOMAfterAnUnseenStep: the clock was set on a little before the first look. The history makes the fault known once the pod has
// waited for its time since that look.
func TestOOMAfterAnUnseenStep(t *testing.T) {
	t.Parallel()
	f, o := read(t, "testdata/"+checks.SandboxOOMName+"/c78-crio-refuses-10M.txtar"), plugin.Defaults()
	for _, by := range []time.Duration{30 * time.Second, 2 * time.Minute, 10 * time.Minute} {
		store := &state.Memory{}
		var v plugin.Verdict
		for wait := time.Duration(0); wait <= o.StartGrace+2*time.Minute; wait += time.Minute {
			v, _ = lookWith(t, clockSet(t, later(t, f, wait), by), store, checks.SandboxOOMName, o)
		}
		if v.Status != plugin.Problem {
			t.Errorf("set on by %s: exit %d: %s", by, v.Status, v.Line)
		}
	}
}

// TestLineStaysAfterAStep: what was seen of a sandbox before the clock was set holds for as long as the sandbox is listed, also when
// the history of other pods has been dropped for its age.
func TestLineStaysAfterAStep(t *testing.T) {
	t.Parallel()
	f := read(t, "testdata/"+checks.StaleCreatedName+"/containerd-2.4-kill-all-lost-sandbox.txtar")
	store := &state.Memory{}
	first, _ := lookWith(t, f, store, checks.StaleCreatedName, plugin.Defaults())
	for wait := time.Minute; wait < 5*time.Hour; wait += 10 * time.Minute {
		v, _ := lookWith(t, clockSet(t, later(t, f, wait), time.Hour), store, checks.StaleCreatedName, plugin.Defaults())
		young := wait < 15*time.Minute && v.Status == plugin.OK // since the clock was set nothing is surely older
		if v.Line != first.Line && !young {
			t.Fatalf("after %s: %s\nfirst: %s", wait, v.Line, first.Line)
		}
	}
}

// TestNoLogDirectories: where pods have sandboxes, of whatever state, and no log directory is in sight, the mount is missing. That
// is no healthy node.
func TestNoLogDirectories(t *testing.T) {
	t.Parallel()
	for _, check := range []string{checks.SandboxCrashLoopName, checks.SandboxOOMName} {
		f := withoutPart(workedAgain(t, "SANDBOX_NOTREADY"), "/var/log/pods")
		if v, _ := lookWith(t, f, nil, check, plugin.Defaults()); v.Status != plugin.Unknown || !strings.Contains(v.Line, "mount /var/log/pods of the node") {
			t.Errorf("%s: exit %d: %s", check, v.Status, v.Line)
		}
	}
}
