package checks_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/capture"
	"sandbox-checker/plugin/checks"
	"sandbox-checker/plugin/state"
)

// clockSet is the capture with its wall clock set: all that is dated keeps its date.
func clockSet(t *testing.T, f *capture.File, by time.Duration) *capture.File {
	t.Helper()
	out := *f
	out.Now = f.Now.Add(by)
	out.Content = maps.Clone(f.Content)
	if word, is := strings.CutPrefix(strings.TrimSpace(string(f.Content["/proc/stat"])), "btime "); is {
		btime, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		out.Content["/proc/stat"] = fmt.Appendf(nil, "btime %d\n", btime+int64(by.Seconds()))
	}
	return &out
}

// clockSteps are what a node that boots with a wrong clock sees when it learns the time.
var clockSteps = map[string]time.Duration{
	"an hour on": time.Hour, "an hour back": -time.Hour, "a year on": 365 * 24 * time.Hour, "a year back": -365 * 24 * time.Hour,
}

// keptThroughStep are captures of faults that a second look after the step must still tell: what was known at the first look
// is remembered by the boot clock.
var keptThroughStep = []string{
	"cause-cni-one-pod", "cause-unknown-two-pods", "cause-image-gone", "seen-8-power-cut-no-subnet-env", "seen-8-image-gone",
	"loop-two-listed-three-in-history",
}

// TestClockStepMakesNoLoop: no pod fails because the clock is set, and none is well. What waits for seconds is no older than
// before; a loop that ended an hour ago does not begin again.
func TestClockStepMakesNoLoop(t *testing.T) {
	t.Parallel()
	captures := crashloopCaptures(t)
	// A log that a person copied is dated by the wall clock. The kernel's own is not.
	delete(captures, "cause-apparmor-dated-two-hours-ago")
	for name, f := range captures {
		for step, by := range clockSteps {
			t.Run(name+"/"+step, func(t *testing.T) {
				t.Parallel()
				store := hostWith(t, f, nil).State
				before, _ := lookWith(t, f, store, checks.SandboxCrashLoopName, plugin.Defaults())
				after, _ := lookWith(t, clockSet(t, later(t, f, 5*time.Second), by), store, checks.SandboxCrashLoopName, plugin.Defaults())
				if before.Status != plugin.Problem && after.Status == plugin.Problem {
					t.Errorf("the clock is set and the verdict becomes %s", after.Line)
				}
				if slices.Contains(keptThroughStep, name) && after.Line != before.Line {
					t.Errorf("the clock is set and the verdict becomes\n%s\nit was\n%s", after.Line, before.Line)
				}
			})
		}
	}
}

// perhapsBefore are captures whose container may be of the boot before: its sandbox is, or its date lies in the future, as on a
// node that booted with its clock behind. Set on, the clock may say so.
var perhapsBefore = []string{"c15-created-in-the-future.txtar", "own-created-in-the-future.txtar", "own-created-just-after-btime.txtar"}

// TestClockStepMakesNothingStale: no container that was looked at is stale because the clock is set.
func TestClockStepMakesNothingStale(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/stale-created/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no captures: %v", err)
	}
	for _, p := range paths {
		f := read(t, p)
		before, _ := lookWith(t, f, nil, checks.StaleCreatedName, plugin.Defaults())
		if before.Status == plugin.Problem || slices.Contains(perhapsBefore, filepath.Base(p)) {
			continue
		}
		for step, by := range clockSteps {
			t.Run(filepath.Base(p)+"/"+step, func(t *testing.T) {
				t.Parallel()
				store := &state.Memory{}
				lookWith(t, f, store, checks.StaleCreatedName, plugin.Defaults())
				after, _ := lookWith(t, clockSet(t, later(t, f, 5*time.Second), by), store, checks.StaleCreatedName, plugin.Defaults())
				if after.Status == plugin.Problem {
					t.Error(after.Line)
				}
			})
		}
	}
}
