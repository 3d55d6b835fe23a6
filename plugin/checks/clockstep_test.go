package checks_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/capture"
	"sandbox-checker/plugin/checks"
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
