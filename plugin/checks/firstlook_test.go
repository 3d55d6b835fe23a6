package checks_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/capture"
	"sandbox-checker/plugin/checks"
	"sandbox-checker/plugin/state"
)

// setOnUnseen are steps of the wall clock that nobody saw: all that is there was dated before.
var setOnUnseen = []time.Duration{10 * time.Minute, time.Hour, 24 * time.Hour, 365 * 24 * time.Hour}

// justMade is the capture with every log directory of a pod that has no container made a moment ago.
func justMade(f *capture.File, ago time.Duration) *capture.File {
	out := *f
	out.Entries = slices.Clone(f.Entries)
	for i, e := range out.Entries {
		if strings.HasPrefix(e.Path, "/var/log/pods/") {
			out.Entries[i].Mod = f.Now.Add(-ago)
		}
	}
	return &out
}

// TestFirstLookAfterUnseenStep: whoever looks for the first time after the clock was set on calls no pod failing that he would
// not have called so before.
func TestFirstLookAfterUnseenStep(t *testing.T) {
	t.Parallel()
	captures := crashloopCaptures(t)
	delete(captures, "cause-apparmor-dated-two-hours-ago") // dated by the wall clock
	delete(captures, "own-crio-log-of-pause")              // its runtime started long after the boot: nothing tells of the step
	for _, name := range []string{"cause-unknown-two-pods", "cause-cni-one-pod", "cause-image-gone", "cause-own-limit-two-pods", "cause-unknown-no-kernel-log"} {
		captures[name+", being made"] = justMade(captures[name], 5*time.Second)
	}
	for name, f := range captures {
		for _, check := range []string{checks.SandboxCrashLoopName, checks.SandboxOOMName} {
			before, _ := lookWith(t, f, nil, check, plugin.Defaults())
			if before.Status == plugin.Problem {
				continue // it is told either way
			}
			for _, by := range setOnUnseen {
				t.Run(name+"/"+check+"/"+by.String(), func(t *testing.T) {
					t.Parallel()
					store := &state.Memory{}
					for _, since := range []time.Duration{0, 5 * time.Second} {
						v, _ := lookWith(t, clockSet(t, later(t, f, since), by), store, check, plugin.Defaults())
						if v.Status == plugin.Problem {
							t.Errorf("%s later: %s", since, v.Line)
						}
					}
				})
			}
		}
	}
}

// TestFaultIsToldAfterUnseenStep: a fault is told all the same, --start-grace after the first look, and where nothing can be
// remembered by what else was made since.
func TestFaultIsToldAfterUnseenStep(t *testing.T) {
	t.Parallel()
	captures := crashloopCaptures(t)
	for _, name := range []string{"cause-unknown-two-pods", "cause-cni-one-pod", "cause-image-gone", "seen-8-image-gone", "seen-8-power-cut-no-subnet-env"} {
		f := captures[name]
		before, _ := lookWith(t, f, nil, checks.SandboxCrashLoopName, plugin.Defaults())
		if before.Status != plugin.Problem {
			t.Fatalf("%s: exit %d: %s: this proves nothing", name, before.Status, before.Line)
		}
		for _, by := range setOnUnseen {
			t.Run(name+"/"+by.String(), func(t *testing.T) {
				t.Parallel()
				store := &state.Memory{}
				lookWith(t, clockSet(t, f, by), store, checks.SandboxCrashLoopName, plugin.Defaults())
				v, _ := lookWith(t, clockSet(t, later(t, f, 3*time.Minute), by), store, checks.SandboxCrashLoopName, plugin.Defaults())
				if v.Line != before.Line {
					t.Errorf("with history:\n%s\nwant\n%s", v.Line, before.Line)
				}
			})
		}
	}
	// Since the clock was set an hour on, nothing was made; then a third pod has got its sandbox.
	f := clockSet(t, captures["cause-unknown-two-pods"], time.Hour)
	if v, _ := lookWith(t, f, nil, checks.SandboxCrashLoopName, plugin.Defaults()); v.Status != plugin.OK {
		t.Errorf("without history, nothing made since: exit %d: %s", v.Status, v.Line)
	}
	since := f.Now.Add(-4 * time.Minute).UnixNano()
	f.CRI.Pods = bytes.Replace(f.CRI.Pods, []byte(`"items": [`), fmt.Appendf(nil, `"items": [
{"id": "0a1b2c3d4e5f6", "metadata": {"name": "new-0", "uid": "a91caf34-bb24-41d5-895d-089884e06a37", "namespace": "default", "attempt": 0},
 "state": "SANDBOX_READY", "createdAt": "%d", "labels": {}},`, since), 1)
	if v, _ := lookWith(t, f, nil, checks.SandboxCrashLoopName, plugin.Defaults()); v.Status != plugin.Problem {
		t.Errorf("without history: exit %d: %s", v.Status, v.Line)
	}
}
