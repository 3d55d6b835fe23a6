package checks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/capture"
	"sandbox-checker/plugin/checks"
	"sandbox-checker/plugin/state"
)

// ownLimit are the captures where report and events tell a pod whose own limit is at fault, and the condition does not.
var ownLimit = map[string]string{
	"incident-docker-one-a-second":     "default/busybox-deploy-bcd9cc57f-k2pzt",
	"incident-docker-cgroup-only":      "default/busybox-deploy-bcd9cc57f-k2pzt",
	"cause-own-limit-stories":          "default/cf-d2",
	"cause-own-limit-within-the-grace": "default/cf-d2",
	"cause-own-limit-cgroup":           "default/web-1",
	"cause-own-limit-two-pods":         "default/a-1 default/b-1",
	"cause-own-limit-crio":             "default/small-1",
	"cause-own-limit-beside-cni":       "default/limit-1",
	"cause-two-pods-two-causes":        "default/limit-1",
}

// named are captures where it matters who is not named: the pods of the findings, in order.
var named = map[string]string{
	"seen-8-power-cut-no-subnet-env":        "default/vol-1 default/web-1",
	"seen-8-image-gone":                     "default/agent-1 default/vol-1 default/web-1",
	"cause-own-limit-beside-cni":            "default/web-1",
	"cause-runtime-restarted-no-subnet-env": "default/web-1 default/web-2",
	"loop-amid-four-runtime-restarts":       "prod/api-0 prod/api-1",
	"c37-calico-down":                       "kube-system/calico-kube-controllers-6c9b5-mt4cs kube-system/coredns-5d78c9869d-8xk2p kube-system/coredns-5d78c9869d-lqz9w",
	"c49-talos-oom-controller":              "default/cache-0",
	"c52-kind-node-goes-down":               "default/tiny kube-system/coredns-787d4945fb-2wqkz local-path-storage/local-path-provisioner-c8855d4bb-tr9zl",
	"cause-cni-four-pods":                   "default/web-1 default/web-2 default/web-3 default/web-4",
}

func crashloopCaptures(t *testing.T) map[string]*capture.File {
	t.Helper()
	paths, err := filepath.Glob("testdata/" + checks.SandboxCrashLoopName + "/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no captures: %v", err)
	}
	out := map[string]*capture.File{}
	for _, p := range paths {
		out[strings.TrimSuffix(filepath.Base(p), ".txtar")] = read(t, p)
	}
	return out
}

func podsOf(fs []plugin.Finding) string {
	var out []string
	for _, f := range fs {
		out = append(out, f.Pod.String())
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// wantFor is the capture's want of the check with these arguments.
func wantFor(f *capture.File, args string) (capture.Want, bool) {
	for _, w := range f.Wants {
		if strings.Join(w.Args, " ") == args {
			return w, true
		}
	}
	return capture.Want{}, false
}

// TestCrashLoopBlame: the condition counts faults of the node alone; a pod's own fault, and one pod of unknown cause, are
// asides that events tell; a look-alike is not even that.
func TestCrashLoopBlame(t *testing.T) {
	t.Parallel()
	for name, f := range crashloopCaptures(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, r := lookWith(t, f, nil, checks.SandboxCrashLoopName, plugin.Defaults())
			for _, x := range r.Findings {
				if x.Blame != plugin.BlameNode {
					t.Errorf("a finding that is not the node's: %s: %s", x.Pod, x.Cause)
				}
			}
			for _, x := range slices.Concat(r.Findings, r.Asides) {
				if x.Quiet || x.Pod.Name == "" || x.Cause == "" || x.Cure == "" || len(x.Steps) == 0 || len(x.Evidence) == 0 {
					t.Errorf("not complete: %+v", x)
				}
			}
			if pods, ok := named[name]; ok && podsOf(r.Findings) != pods {
				t.Errorf("names %q, want %q", podsOf(r.Findings), pods)
			}
			var own, unknown []plugin.Finding
			for _, x := range r.Asides {
				if x.Blame == plugin.BlamePod {
					own = append(own, x)
				} else {
					unknown = append(unknown, x)
				}
			}
			if podsOf(own) != ownLimit[name] {
				t.Errorf("own fault of %q, want %q", podsOf(own), ownLimit[name])
			}
			for _, x := range own {
				if !strings.Contains(x.Cause, "limit") {
					t.Errorf("%s: cause %q", x.Pod, x.Cause)
				}
			}
			if v.Status != plugin.OK {
				return
			}
			one, has := wantFor(f, "--min-pods 1")
			if told := has && one.Exit == 1; told != (len(unknown) > 0) {
				t.Errorf("asides of unknown cause: %q, want some %t", podsOf(unknown), told)
			}
		})
	}
}

// TestCrashLoopOrder: the verdict does not depend on the order in which the runtime lists things, nor on the run.
func TestCrashLoopOrder(t *testing.T) {
	t.Parallel()
	for name, f := range crashloopCaptures(t) {
		if f.CRI.Pods == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, _ := lookWith(t, f, nil, checks.SandboxCrashLoopName, plugin.Defaults())
			r := rand.New(rand.NewPCG(1, uint64(len(name))))
			for range 12 {
				if got, _ := lookWith(t, shuffled(t, f, r), nil, checks.SandboxCrashLoopName, plugin.Defaults()); got != want {
					t.Fatalf("in another order: %d %s\nwant %d %s", got.Status, got.Line, want.Status, want.Line)
				}
			}
		})
	}
}

// shuffled lists the sandboxes in another order.
func shuffled(t *testing.T, f *capture.File, r *rand.Rand) *capture.File {
	t.Helper()
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(f.CRI.Pods, &list); err != nil {
		t.Fatal(err)
	}
	r.Shuffle(len(list.Items), func(i, j int) { list.Items[i], list.Items[j] = list.Items[j], list.Items[i] })
	raw, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	out := *f
	out.CRI.Pods = raw
	return &out
}

// TestCrashLoopTwice: a second run at the same moment, with what the first one left, says the same.
func TestCrashLoopTwice(t *testing.T) {
	t.Parallel()
	for name, f := range crashloopCaptures(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := hostWith(t, f, nil)
			first, _ := checks.SandboxCrashLoop.Judge(context.Background(), h, plugin.Defaults())
			second, _ := checks.SandboxCrashLoop.Judge(context.Background(), h, plugin.Defaults())
			if first != second {
				t.Errorf("first %d %s\nsecond %d %s", first.Status, first.Line, second.Status, second.Line)
			}
		})
	}
}

// TestCrashLoopLostHistory: without its history a check knows less and is never wrong for it: no case that is silent with
// history speaks without... but what one look cannot tell apart; none turns into "could not look".
func TestCrashLoopLostHistory(t *testing.T) {
	t.Parallel()
	for name, f := range crashloopCaptures(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			with, _ := lookWith(t, f, nil, checks.SandboxCrashLoopName, plugin.Defaults())
			lost, _ := lookWith(t, f, &state.Memory{Raw: []byte(`{"version": 1, "boot_id": "cut`)}, checks.SandboxCrashLoopName, plugin.Defaults())
			if lost.Status == plugin.Unknown && with.Status != plugin.Unknown {
				t.Errorf("without history: %s", lost.Line)
			}
			if lost.Status == plugin.Problem && with.Status == plugin.OK {
				t.Errorf("speaks only without history: %s", lost.Line)
			}
		})
	}
}

// TestCrashLoopSpeaksWithoutKernelLog: what needs no kernel log is found without it.
func TestCrashLoopSpeaksWithoutKernelLog(t *testing.T) {
	t.Parallel()
	for name, f := range crashloopCaptures(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			with, _ := lookWith(t, f, nil, checks.SandboxCrashLoopName, plugin.Defaults())
			blind, r := lookWith(t, withoutPart(f, "/dev/kmsg"), nil, checks.SandboxCrashLoopName, plugin.Defaults())
			needs := strings.Contains(with.Line, "AppArmor") || strings.Contains(with.Line, "userspace OOM")
			if !needs && blind.Status != with.Status {
				t.Errorf("without the kernel log: %d %s\nwith it: %d %s", blind.Status, blind.Line, with.Status, with.Line)
			}
			if needs && (blind.Status != plugin.OK || len(r.Asides) == 0) {
				t.Errorf("the loop itself needs no kernel log: %d %s", blind.Status, blind.Line)
			}
		})
	}
}

// TestCrashLoopAsksOnlyWhenNeeded: where every pod has its sandbox for long, neither the status nor the kernel log is read.
func TestCrashLoopAsksOnlyWhenNeeded(t *testing.T) {
	t.Parallel()
	f := crashloopCaptures(t)["healthy"]
	f.CRI.Info, f.CRI.Containers = nil, nil
	h := hostWith(t, f, nil)
	h.KernelLog = func(context.Context) ([]byte, error) {
		t.Error("the kernel log was read")
		return nil, nil
	}
	v, _ := checks.SandboxCrashLoop.Judge(context.Background(), h, plugin.Defaults())
	if v.Status != plugin.OK {
		t.Errorf("exit %d %s", v.Status, v.Line)
	}
}

// TestCrashLoopRemembers: the history is kept also by runs that find nothing, within the bounds, and of pods alone.
func TestCrashLoopRemembers(t *testing.T) {
	t.Parallel()
	f := crashloopCaptures(t)["look-alike-rolling-update"]
	m := &state.Memory{}
	if v, _ := lookWith(t, f, m, checks.SandboxCrashLoopName, plugin.Defaults()); v.Status != plugin.OK {
		t.Fatal(v.Line)
	}
	var st state.State
	if err := json.Unmarshal(m.Raw, &st); err != nil {
		t.Fatal(err)
	}
	if len(st.Seen) < 40 || len(st.Starts) > 1 {
		t.Errorf("%d pods, %d starts", len(st.Seen), len(st.Starts))
	}
	if bytes.Contains(m.Raw, []byte("web-")) {
		t.Error("names of pods are kept")
	}
}
