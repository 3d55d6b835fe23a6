package checks_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/capture"
	"sandbox-checker/plugin/checks"
)

// made dates the pods' log directories anew.
func made(f *capture.File, at time.Time) *capture.File {
	out := *f
	out.Entries = slices.Clone(f.Entries)
	for i, e := range out.Entries {
		if strings.HasPrefix(e.Path, "/var/log/pods/") {
			out.Entries[i].Mod = at
		}
	}
	return &out
}

// TestPodsBegunWhileLooking: the kubelet makes a pod's log directory after the check has read the clock, so its date is in
// the future. Such a pod has waited for no time at all. Seen on a cluster under load, as an event about two healthy pods.
func TestPodsBegunWhileLooking(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/sandbox-*/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no captures: %v", err)
	}
	waiting := map[string]int{}
	for _, file := range files {
		check := filepath.Base(filepath.Dir(file))
		f := read(t, file)
		if check == checks.SandboxOOMName && len(f.Content["/dev/kmsg"]) > 0 {
			continue // the kernel's word needs no date of a directory
		}
		o := plugin.Defaults()
		o.MinPods = 1
		for _, after := range []time.Duration{time.Millisecond, 3 * time.Second, time.Hour} {
			_, long := lookWith(t, made(f, f.Now.Add(-time.Hour)), nil, check, o)
			_, now := lookWith(t, made(f, f.Now.Add(after)), nil, check, o)
			waiting[check] += waits(long)
			if waits(now) > 0 {
				t.Errorf("%s: begun %s after the look and told: %d findings, the first is %s", file, after, len(now.Findings), now.Findings[0].Cause)
			}
		}
	}
	for _, check := range []string{checks.SandboxCrashLoopName, checks.SandboxOOMName} {
		if waiting[check] == 0 {
			t.Errorf("%s: no capture has a pod that waits: this proves nothing", check)
		}
	}
}

// waits counts the findings that rest on how long a pod has been without its sandbox.
func waits(r plugin.Result) int {
	n := 0
	for _, f := range r.Findings {
		if f.Check == checks.SandboxOOMName || slices.ContainsFunc(f.Evidence, func(e plugin.Evidence) bool {
			return strings.HasPrefix(e.Text, "its sandbox cannot be made")
		}) {
			n++
		}
	}
	return n
}
