package checks_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
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

// TestSequences replays looks at real runtimes in their order, each a run of its own, with what is remembered carried over.
// Every look says in its want sections what the run must say.
func TestSequences(t *testing.T) {
	t.Parallel()
	dirs, err := filepath.Glob("testdata/sequences/*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no sequences: %v", err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			looks := readLooks(t, dir)
			for name, store := range map[string]state.Store{"memory": &state.Memory{}, "disk": state.Disk{Path: t.TempDir()}} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					for _, l := range looks {
						judgeWith(t, l.file, store, l.name)
					}
				})
			}
			t.Run("last look alone", func(t *testing.T) {
				t.Parallel()
				last := looks[len(looks)-1]
				judgeWith(t, last.file, &state.Memory{}, last.name)
			})
			t.Run("state cannot be kept", func(t *testing.T) {
				t.Parallel()
				file := filepath.Join(t.TempDir(), "file")
				if err := os.WriteFile(file, nil, 0o600); err != nil {
					t.Fatal(err)
				}
				last := looks[len(looks)-1]
				judgeWith(t, last.file, state.Disk{Path: filepath.Join(file, "below")}, last.name)
			})
		})
	}
}

type look struct {
	name string
	file *capture.File
}

// readLooks reads 1.txtar, 2.txtar and so on.
func readLooks(t *testing.T, dir string) []look {
	t.Helper()
	var looks []look
	for n := 1; ; n++ {
		path := filepath.Join(dir, strconv.Itoa(n)+".txtar")
		if _, err := os.Stat(path); err != nil {
			break
		}
		about := read(t, path)
		if len(about.Wants) == 0 {
			t.Fatalf("%s: no want section", path)
		}
		label, _, _ := strings.Cut(about.About, ":")
		looks = append(looks, look{label, about})
	}
	if files, _ := filepath.Glob(dir + "/*"); len(files) != len(looks) || len(looks) < 2 {
		t.Fatalf("%s: %d looks of %d files", dir, len(looks), len(files))
	}
	for i := 1; i < len(looks); i++ {
		if !looks[i].file.Now.After(looks[i-1].file.Now) {
			t.Fatalf("%s: look %d is not later than the one before", dir, i+1)
		}
	}
	return looks
}

// judgeWith holds the checks to the wants of one look that has this store.
func judgeWith(t *testing.T, f *capture.File, store state.Store, name string) {
	t.Helper()
	for _, w := range f.Wants {
		v, _ := lookWith(t, f, store, w.Check, options(t, w.Args))
		if int(v.Status) != w.Exit {
			t.Errorf("%s: %s %v: exit %d, want %d\n%s", name, w.Check, w.Args, v.Status, w.Exit, v.Line)
		}
		for _, s := range w.Says {
			if !strings.Contains(v.Line, s) {
				t.Errorf("%s: %s %v: line does not say %q\n%s", name, w.Check, w.Args, s, v.Line)
			}
		}
		wellFormed(t, v.Line)
	}
}

func lookWith(t *testing.T, f *capture.File, store state.Store, check string, o plugin.Options) (plugin.Verdict, plugin.Result) {
	t.Helper()
	h := hostWith(t, f, store)
	c, ok := checks.Named(check)
	if !ok {
		t.Fatalf("no check %s", check)
	}
	return c.Judge(context.Background(), h, o)
}

func hostWith(t *testing.T, f *capture.File, store state.Store) *plugin.Host {
	t.Helper()
	h, err := f.Host()
	if err != nil {
		t.Fatal(err)
	}
	if store != nil {
		h.State = store
	}
	return h
}

// later is the capture at a later time, with nothing else changed.
func later(t *testing.T, f *capture.File, by time.Duration) *capture.File {
	t.Helper()
	out := *f
	out.Now = f.Now.Add(by)
	out.Content = maps.Clone(f.Content)
	up, _, _ := strings.Cut(string(f.Content["/proc/uptime"]), " ")
	sec, err := strconv.ParseFloat(up, 64)
	if err != nil {
		t.Fatal(err)
	}
	out.Content["/proc/uptime"] = fmt.Appendf(nil, "%.2f %.2f\n", sec+by.Seconds(), sec)
	return &out
}

// withoutPart takes every path out of the capture that has part in it.
func withoutPart(f *capture.File, part string) *capture.File {
	out := *f
	out.Content = maps.Clone(f.Content)
	maps.DeleteFunc(out.Content, func(p string, _ []byte) bool { return strings.Contains(p, part) })
	out.Entries = slices.DeleteFunc(slices.Clone(f.Entries), func(e capture.Entry) bool { return strings.Contains(e.Path, part) })
	return &out
}

// TestLeftoversStaySilent: containerd 1.6 cannot remove the sandboxes of a pod whose DEL fails and lists them for ever, all
// with one false creation time. Once the newest is older than --loop-newest they are history, at every later run: also
// when their first sight is older than what the state keeps.
func TestLeftoversStaySilent(t *testing.T) {
	t.Parallel()
	for _, n := range []int{4, 5} {
		t.Run(fmt.Sprintf("%d sandboxes", n), func(t *testing.T) {
			t.Parallel()
			looks := readLooks(t, "testdata/sequences/containerd-1.6-create-fail-c2-add-and-del-fail")
			store := &state.Memory{}
			for _, l := range looks[:n] {
				lookWith(t, l.file, store, checks.SandboxCrashLoopName, plugin.Defaults())
			}
			// The network is mended and the pod deleted: its cgroup and log directory are gone.
			gone := withoutPart(withoutPart(looks[n-1].file, "kubepods/burstable"), "/var/log/pods/")
			gone.Content["/run/flannel/subnet.env"] = []byte("FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.1.1/24\nFLANNEL_MTU=1450\n")
			o := plugin.Defaults()
			o.MinPods = 1
			var loud []string
			for at := 30 * time.Minute; at < 6*time.Hour; at += 5 * time.Minute {
				v, _ := lookWith(t, later(t, gone, at), store, checks.SandboxCrashLoopName, o)
				if v.Status != plugin.OK {
					loud = append(loud, fmt.Sprintf("%s on: exit %d %s", at, v.Status, v.Line))
				}
			}
			if len(loud) > 0 {
				t.Errorf("%d runs are not silent, the first: %s", len(loud), loud[0])
			}
		})
	}
}

// TestLoopEndsWithinOneWindow: after the cure the condition clears within --loop-newest and does not come back, though the
// dead sandboxes stay listed.
func TestLoopEndsWithinOneWindow(t *testing.T) {
	t.Parallel()
	looks := readLooks(t, "testdata/sequences/containerd-1.6-died-after-start")
	store := &state.Memory{}
	for _, l := range looks {
		judgeWith(t, l.file, store, l.name)
	}
	cured := *looks[len(looks)-2].file // the last one that was started, and stays
	if !bytes.Contains(cured.CRI.Pods, []byte("SANDBOX_READY")) {
		t.Fatal("not the look that is meant")
	}
	o := plugin.Defaults()
	o.MinPods = 1
	for at := time.Minute; at < 5*time.Hour; at += time.Minute {
		v, _ := lookWith(t, later(t, &cured, at), store, checks.SandboxCrashLoopName, o)
		want := plugin.Problem
		if at >= 20*time.Minute {
			want = plugin.OK
		}
		if v.Status != want {
			t.Fatalf("%s after the last start: exit %d, want %d\n%s", at, v.Status, want, v.Line)
		}
	}
}
