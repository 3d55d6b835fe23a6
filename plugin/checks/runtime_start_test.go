package checks_test

import (
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/capture"
	"sandbox-checker/plugin/checks"
	"sandbox-checker/plugin/state"
)

// socketDated is the capture with its runtime's socket made at another time.
func socketDated(f *capture.File, made time.Time) *capture.File {
	out := *f
	out.Entries = slices.Clone(f.Entries)
	for i, e := range out.Entries {
		if strings.HasSuffix(e.Path, ".sock") {
			out.Entries[i].Mod = made
		}
	}
	return &out
}

// withoutPods is the capture before any pod was made.
func withoutPods(f *capture.File) *capture.File {
	out := *f
	out.CRI.Pods = []byte(`{"items": []}`)
	out.CRI.Containers = []byte(`{"containers": []}`)
	return &out
}

// heldAfter is a container that is held in its ready sandbox, twelve minutes after it was created, while the socket says that
// the runtime was restarted after it.
func heldAfter(t *testing.T) *capture.File {
	t.Helper()
	f := read(t, "testdata/stale-created/own-runtime-restarted.txtar")
	if v, _ := lookWith(t, f, nil, checks.StaleCreatedName, plugin.Defaults()); v.Status != plugin.Problem {
		t.Fatalf("exit %d: %s: this proves nothing", v.Status, v.Line)
	}
	// What sandbox-crashloop looks at too.
	const uid = "1e248fe5-2824-495f-ae49-8d781272714e"
	for _, dir := range []string{"/sys/fs/cgroup/kubepods/pod" + uid, "/var/log/pods/default_app-0_" + uid + "/main"} {
		f.Entries = append(f.Entries, capture.Entry{Path: dir, Mode: fs.ModeDir | 0o755})
	}
	f.Content["/sys/fs/cgroup/cgroup.controllers"] = []byte("memory\n")
	return f
}

// remembered is a look that is only there to be remembered.
func remembered(t *testing.T, f *capture.File, store state.Store, check string) {
	t.Helper()
	if v, _ := lookWith(t, f, store, check, plugin.Defaults()); v.Status == plugin.Unknown {
		t.Fatalf("exit %d: %s: this proves nothing", v.Status, v.Line)
	}
}

// TestClockAheadMakesNoRuntimeRestart: the runtime's socket was made while the clock was ahead. A container in a ready sandbox
// that is dated before the socket was made after it, also when the clock has caught up with the socket's time.
func TestClockAheadMakesNoRuntimeRestart(t *testing.T) {
	t.Parallel()
	f := heldAfter(t)
	looks := map[string]func(*capture.File) *capture.File{
		"the container is there at the first look": func(f *capture.File) *capture.File { return f },
		"it is created after the first look":       withoutPods,
	}
	for _, ahead := range []time.Duration{time.Minute, time.Hour, 24 * time.Hour, 365 * 24 * time.Hour} {
		for _, check := range []string{checks.StaleCreatedName, checks.SandboxCrashLoopName} {
			for when, first := range looks {
				t.Run(ahead.String()+"/"+check+"/"+when, func(t *testing.T) {
					t.Parallel()
					f, store := socketDated(f, f.Now.Add(ahead)), &state.Memory{}
					remembered(t, first(f), store, check)
					for _, since := range []time.Duration{time.Second, time.Minute, 61 * time.Minute, 48 * time.Hour} {
						for _, at := range []time.Duration{since, ahead + since} {
							v, _ := lookWith(t, later(t, f, at), store, checks.StaleCreatedName, plugin.Defaults())
							if v.Status != plugin.OK {
								t.Errorf("%s later: exit %d: %s", at, v.Status, v.Line)
							}
						}
					}
				})
			}
		}
	}
}

// TestClockSetBackAfterTheSocketWasSeen: nobody looked while the socket's time lay in the future, but the socket had been seen
// before the time that it tells.
func TestClockSetBackAfterTheSocketWasSeen(t *testing.T) {
	t.Parallel()
	f := heldAfter(t)
	store := &state.Memory{}
	ahead := clockSet(t, withoutPods(f), time.Hour)
	remembered(t, socketDated(ahead, f.Now.Add(time.Hour-time.Minute)), store, checks.SandboxCrashLoopName)
	after := later(t, socketDated(f, f.Now.Add(time.Hour-time.Minute)), 2*time.Hour)
	if v, _ := lookWith(t, after, store, checks.StaleCreatedName, plugin.Defaults()); v.Status != plugin.OK {
		t.Errorf("exit %d: %s", v.Status, v.Line)
	}
}

// TestSandboxDatedAfterItsContainer: the sandbox was made while the clock was ahead, and so perhaps was the socket.
func TestSandboxDatedAfterItsContainer(t *testing.T) {
	t.Parallel()
	f := heldAfter(t)
	out := *f
	out.CRI.Pods = []byte(strings.Replace(string(f.CRI.Pods), "1772441240118230947", "1772441261118230947", 1))
	if v, _ := lookWith(t, &out, nil, checks.StaleCreatedName, plugin.Defaults()); v.Status != plugin.OK {
		t.Errorf("exit %d: %s", v.Status, v.Line)
	}
}

// TestRuntimeRestartIsToldWithHistory: what is remembered of a socket takes no true restart away: seen before it, at it, or
// only after it, with a clock that is set on or back meanwhile, and after a socket whose time was a lie.
func TestRuntimeRestartIsToldWithHistory(t *testing.T) {
	t.Parallel()
	f := heldAfter(t)
	old := f.Now.Add(-50 * time.Minute)
	for name, before := range map[string][]*capture.File{
		"first look":           {},
		"seen at once":         {later(t, f, -11*time.Minute-59*time.Second)},
		"seen before":          {socketDated(later(t, f, -30*time.Minute), old), later(t, f, -11*time.Minute)},
		"a lie before":         {socketDated(later(t, f, -30*time.Minute), f.Now.Add(-10*time.Minute)), later(t, f, -11*time.Minute)},
		"the clock is set on":  {clockSet(t, later(t, f, -11*time.Minute), -30*time.Second)},
		"rounding of a second": {later(t, f, -12*time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, check := range []string{checks.StaleCreatedName, checks.SandboxCrashLoopName} {
				store := &state.Memory{}
				for _, b := range before {
					remembered(t, withoutPods(b), store, check)
				}
				for _, since := range []time.Duration{0, time.Minute, 11 * time.Minute, 48 * time.Hour} {
					v, _ := lookWith(t, later(t, f, since), store, checks.StaleCreatedName, plugin.Defaults())
					// When the clock is set the container is surely no older than that.
					if early := strings.HasPrefix(name, "the clock is set") && since < plugin.Defaults().StaleAfter; v.Status != plugin.Problem && !early {
						t.Errorf("%s, %s later: exit %d: %s", check, since, v.Status, v.Line)
					}
				}
			}
		})
	}
}

// TestSocketIsForgottenWithTheBoot: another boot's first sight proves nothing.
func TestSocketIsForgottenWithTheBoot(t *testing.T) {
	t.Parallel()
	f := heldAfter(t)
	store := &state.Memory{}
	remembered(t, socketDated(f, f.Now.Add(time.Hour)), store, checks.StaleCreatedName)
	next := later(t, socketDated(f, f.Now.Add(time.Hour)), 2*time.Hour)
	next.Content = maps.Clone(next.Content)
	next.Content["/proc/sys/kernel/random/boot_id"] = []byte("8d0ad1a0-5a5a-4b6c-9bb7-2f0d5b1f6a11\n")
	if v, _ := lookWith(t, next, store, checks.StaleCreatedName, plugin.Defaults()); v.Status != plugin.Problem {
		t.Errorf("exit %d: %s", v.Status, v.Line)
	}
}
