package checks_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/capture"
	"sandbox-checker/plugin/checks"
	"sandbox-checker/plugin/state"
)

// newsRun is one run of `check NAME --new`: a host of its own, as each process has, and the store that outlives it.
func newsRun(t *testing.T, f *capture.File, store state.Store, v plugin.Verdict, r plugin.Result) plugin.Verdict {
	t.Helper()
	got := hostWith(t, f, store).News(v, r)
	if got.Status == plugin.Unknown {
		t.Errorf("exit 2 makes NPD tell an event: %s", got.Line)
	}
	wellFormed(t, got.Line)
	return got
}

func newsNode(t *testing.T) *capture.File {
	t.Helper()
	return read(t, "testdata/"+checks.SandboxCrashLoopName+"/healthy.txtar")
}

func fault(check, pod string) plugin.Finding {
	return plugin.Finding{Check: check, Blame: plugin.BlamePod, Pod: plugin.Pod{Namespace: "default", Name: pod, UID: "uid-" + pod},
		Cause: "its sandboxes keep dying, cause unknown", Cure: "see its events"}
}

var problem = plugin.Verdict{Status: plugin.Problem, Line: "the line of the condition"}

// TestNewsOncePerHour: a fault that lasts is told once, and again after an hour, however often it is looked at.
func TestNewsOncePerHour(t *testing.T) {
	t.Parallel()
	f := newsNode(t)
	for name, r := range map[string]plugin.Result{
		"finding": {Findings: []plugin.Finding{fault("x", "web-1")}},
		"aside":   {Asides: []plugin.Finding{fault("x", "web-1")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := state.Disk{Path: t.TempDir()}
			var told []string
			for minute := range 150 {
				v := newsRun(t, later(t, f, time.Duration(minute)*time.Minute), store, problem, r)
				if v.Status == plugin.Problem {
					told = append(told, fmt.Sprint(minute))
					if v.Line != "default/web-1: its sandboxes keep dying, cause unknown; see its events" {
						t.Errorf("line %q", v.Line)
					}
				} else if v.Line != "nothing new" {
					t.Errorf("line %q", v.Line)
				}
			}
			if got := strings.Join(told, " "); got != "0 60 120" {
				t.Errorf("told at minutes %s, want 0 60 120", got)
			}
		})
	}
}

// TestNewsTellsTheSecondPodAlone: a line of its own, without what was told before.
func TestNewsTellsTheSecondPodAlone(t *testing.T) {
	t.Parallel()
	f, store := newsNode(t), &state.Memory{}
	first, second := fault("x", "web-1"), fault("x", "web-2")
	newsRun(t, f, store, problem, plugin.Result{Findings: []plugin.Finding{first}})
	v := newsRun(t, later(t, f, 10*time.Minute), store, problem, plugin.Result{Findings: []plugin.Finding{first, second}})
	if v.Status != plugin.Problem || strings.Contains(v.Line, "web-1") || !strings.Contains(v.Line, "default/web-2:") {
		t.Errorf("exit %d %s", v.Status, v.Line)
	}
	if v := newsRun(t, later(t, f, 11*time.Minute), store, problem, plugin.Result{Findings: []plugin.Finding{second, first}}); v.Status != plugin.OK {
		t.Errorf("exit %d %s", v.Status, v.Line)
	}
	// Each has its own hour.
	v = newsRun(t, later(t, f, 61*time.Minute), store, problem, plugin.Result{Findings: []plugin.Finding{first, second}})
	if v.Status != plugin.Problem || !strings.Contains(v.Line, "web-1") || strings.Contains(v.Line, "web-2") {
		t.Errorf("after an hour: exit %d %s", v.Status, v.Line)
	}
}

// TestNewsKeys: what makes two findings the same one.
func TestNewsKeys(t *testing.T) {
	t.Parallel()
	base := fault("sandbox-crashloop", "web-1")
	words, container, check, object, uid := base, base, base, base, base
	words.Cause, words.Cure = "no sandbox, subnet.env missing", "check flannel"
	container.Container = "main"
	check.Check = "sandbox-oom"
	object.Object = "/etc/cni/net.d/10-x.conflist"
	uid.Pod.UID = "the pod of that name that came after it"
	for name, tc := range map[string]struct {
		f    plugin.Finding
		want plugin.Verdict
	}{
		"other words":     {words, plugin.Verdict{Status: plugin.OK}},
		"another check":   {check, plugin.Verdict{Status: plugin.Problem}},
		"a container":     {container, plugin.Verdict{Status: plugin.Problem}},
		"another object":  {object, plugin.Verdict{Status: plugin.Problem}},
		"another pod uid": {uid, plugin.Verdict{Status: plugin.Problem}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node, store := newsNode(t), &state.Memory{}
			newsRun(t, node, store, problem, plugin.Result{Findings: []plugin.Finding{base}})
			if v := newsRun(t, node, store, problem, plugin.Result{Findings: []plugin.Finding{tc.f}}); v.Status != tc.want.Status {
				t.Errorf("exit %d %s", v.Status, v.Line)
			}
		})
	}
}

// TestNewsQuiet: what kubectl shows anyway is no event; it is not noted as told either.
func TestNewsQuiet(t *testing.T) {
	t.Parallel()
	f, store := newsNode(t), &state.Memory{}
	q := fault("x", "web-1")
	q.Quiet = true
	v := newsRun(t, f, store, plugin.Verdict{Status: plugin.OK}, plugin.Result{Asides: []plugin.Finding{q}})
	if v.Status != plugin.OK {
		t.Errorf("exit %d %s", v.Status, v.Line)
	}
	q.Quiet = false
	if v := newsRun(t, f, store, plugin.Verdict{Status: plugin.OK}, plugin.Result{Asides: []plugin.Finding{q}}); v.Status != plugin.Problem {
		t.Errorf("no longer quiet: exit %d %s", v.Status, v.Line)
	}
}

// TestNewsWhenItCouldNotLook: NPD makes an event of any status but 0.
func TestNewsWhenItCouldNotLook(t *testing.T) {
	t.Parallel()
	f := newsNode(t)
	for name, v := range map[string]plugin.Verdict{
		"error":    plugin.CouldNotLook(os.ErrNotExist),
		"starting": plugin.CouldNotLook(plugin.Starting("no configuration yet")),
	} {
		if got := newsRun(t, f, &state.Memory{}, v, plugin.Result{}); got.Status != plugin.OK || got.Line != v.Line {
			t.Errorf("%s: exit %d %s", name, got.Status, got.Line)
		}
	}
	blind := withoutPart(f, "/proc/uptime")
	if got := newsRun(t, blind, &state.Memory{}, problem, plugin.Result{Findings: []plugin.Finding{fault("x", "a")}}); got.Status != plugin.OK || !strings.Contains(got.Line, "uptime") {
		t.Errorf("no boot clock: exit %d %s", got.Status, got.Line)
	}
	if got := newsRun(t, f, &state.Memory{}, plugin.Verdict{Status: plugin.OK, Line: "no problem"}, plugin.Result{}); got.Status != plugin.OK {
		t.Errorf("healthy: exit %d %s", got.Status, got.Line)
	}
}

// TestNewsMany: hundreds of new findings are one line within its bounds, and each of them counts as told.
func TestNewsMany(t *testing.T) {
	t.Parallel()
	f, store := newsNode(t), state.Disk{Path: t.TempDir()}
	var r plugin.Result
	for i := range 500 {
		r.Findings = append(r.Findings, fault("x", fmt.Sprintf("web-%d", i)))
	}
	if v := newsRun(t, f, store, problem, r); v.Status != plugin.Problem || !strings.Contains(v.Line, "and 499 more") {
		t.Errorf("exit %d %s", v.Status, v.Line)
	}
	if v := newsRun(t, f, store, problem, r); v.Status != plugin.OK {
		t.Errorf("again: exit %d %s", v.Status, v.Line)
	}
}

// TestNewsAfterARestart: a new process with the same store tells nothing twice; after a reboot the fault is news again.
func TestNewsAfterARestart(t *testing.T) {
	t.Parallel()
	f, dir := newsNode(t), t.TempDir()
	r := plugin.Result{Findings: []plugin.Finding{fault("x", "web-1")}}
	for run, want := range []string{"1", "0", "0"} {
		if v := newsRun(t, later(t, f, time.Duration(run)*time.Minute), state.Disk{Path: dir}, problem, r); fmt.Sprint(int(v.Status)) != want {
			t.Errorf("run %d: exit %d %s", run, v.Status, v.Line)
		}
	}
	rebooted := later(t, f, 4*time.Minute)
	rebooted.Content["/proc/sys/kernel/random/boot_id"] = []byte("11111111-2222-4333-8444-555555555555\n")
	rebooted.Content["/proc/uptime"] = []byte("200.00 300.00\n")
	if v := newsRun(t, rebooted, state.Disk{Path: dir}, problem, r); v.Status != plugin.Problem {
		t.Errorf("after a reboot: exit %d %s", v.Status, v.Line)
	}
}

// TestNewsWithoutState: what cannot be remembered is told again rather than not at all, and --log-level says why.
func TestNewsWithoutState(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f := newsNode(t)
	r := plugin.Result{Findings: []plugin.Finding{fault("x", "web-1")}}
	// Without a memory each run would tell it: the first minute of each hour of the boot clock does.
	told := 0
	for minute := range 120 {
		h := hostWith(t, later(t, f, time.Duration(minute)*time.Minute), state.Disk{Path: file})
		var said []string
		h.Log = func(s string) { said = append(said, s) }
		if v := h.News(problem, r); v.Status == plugin.Problem {
			told++
		}
		if len(said) != 1 || !strings.Contains(said[0], "state lost") || !strings.Contains(said[0], file) {
			t.Errorf("said %q", said)
		}
	}
	if told != 2 {
		t.Errorf("told %d times in two hours, want 2", told)
	}
}

// TestNewsOfTheChecks: the whole way from a capture. The condition of a pod's own fault stays silent, the event speaks once
// and names pod, cause and cure.
func TestNewsOfTheChecks(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		check, capture string
		exit           int // of the condition
		says           []string
	}{
		{checks.SandboxCrashLoopName, "cause-own-limit-cgroup", 0, []string{"default/web-1", "limit", "Mi"}},
		{checks.SandboxCrashLoopName, "incident-docker-one-a-second", 0, []string{"default/busybox-deploy-bcd9cc57f-k2pzt", "limit"}},
		{checks.SandboxCrashLoopName, "cause-unknown-one-pod", 0, []string{"default/web-1", "unknown", "describe pod"}},
		{checks.SandboxCrashLoopName, "seen-7-pause-killed-seven-times", 0, []string{"default/dies", "unknown"}},
		{checks.SandboxCrashLoopName, "cause-cni-one-pod", 1, []string{"default/web-1", "subnet.env"}},
		{checks.SandboxCrashLoopName, "cause-own-limit-beside-cni", 1, []string{"default/web-1", "default/limit-1"}},
		{checks.SandboxOOMName, "shape-08-literal-colons-container-start", 0, []string{"Mi"}}, // a container's start
		{checks.SandboxOOMName, "own-zero-limit-v1", 1, []string{"limit", "Mi"}},
		{checks.StaleCreatedName, "c01-never-pod-after-reboot", 1, []string{"batch/train-0"}},
	} {
		t.Run(tc.capture, func(t *testing.T) {
			t.Parallel()
			f := read(t, "testdata/"+tc.check+"/"+tc.capture+".txtar")
			chk, _ := checks.Named(tc.check)
			store := state.Disk{Path: t.TempDir()}
			if history, ok := f.Content[state.Dir+"/"+state.FileName]; ok {
				t.Fatalf("has a history of its own: %s", history)
			}
			for minute := range 5 {
				h := hostWith(t, later(t, f, time.Duration(minute)*time.Second), store)
				v, r := chk.Judge(context.Background(), h, plugin.Defaults())
				if int(v.Status) != tc.exit {
					t.Errorf("the condition: exit %d %s", v.Status, v.Line)
				}
				news := h.News(v, r)
				if minute > 0 && news.Status != plugin.OK {
					t.Errorf("told again: %s", news.Line)
				}
				if minute > 0 {
					continue
				}
				if news.Status != plugin.Problem {
					t.Errorf("not told: exit %d %s", news.Status, news.Line)
				}
				for _, s := range tc.says {
					if !strings.Contains(news.Line, s) {
						t.Errorf("the event does not say %q: %s", s, news.Line)
					}
				}
			}
		})
	}
}

// TestNewsOfAContainerStart: a container, not a sandbox, that its limit of 10 MiB kills at start. kubectl shows its error.
func TestNewsOfAContainerStart(t *testing.T) {
	t.Parallel()
	h := hostWith(t, read(t, "testdata/"+checks.SandboxOOMName+"/c70-container-init-10m.txtar"), nil)
	v, r := checks.SandboxOOM.Judge(context.Background(), h, plugin.Defaults())
	if len(r.Asides) == 0 || !r.Asides[0].Quiet {
		t.Errorf("report tells it: %+v", r.Asides)
	}
	if news := h.News(v, r); news.Status != plugin.OK {
		t.Errorf("an event: %s", news.Line)
	}
}

// TestNewsOfLookAlikes: what the condition is silent about because it is nothing is no event either.
func TestNewsOfLookAlikes(t *testing.T) {
	t.Parallel()
	for name, f := range crashloopCaptures(t) {
		if !strings.HasPrefix(name, "look-alike-") || strings.Contains(name, "driver-changed") {
			continue
		}
		h := hostWith(t, f, nil)
		v, r := checks.SandboxCrashLoop.Judge(context.Background(), h, plugin.Defaults())
		if news := h.News(v, r); news.Status != plugin.OK {
			t.Errorf("%s: %s", name, news.Line)
		}
	}
}
