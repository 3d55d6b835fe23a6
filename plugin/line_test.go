package plugin

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

const cureDelete = "delete the pod"

func finding(ns, name, cause, cure string) Finding {
	return Finding{Pod: Pod{Namespace: ns, Name: name, UID: "uid-of-" + name}, Cause: cause, Cure: cure}
}

func TestLine(t *testing.T) {
	t.Parallel()
	const never = "container main never started"
	for name, tc := range map[string]struct {
		in   []Finding
		want string
	}{
		"one": {
			[]Finding{finding("default", "never", never, cureDelete)},
			"default/never: container main never started; delete the pod",
		},
		"no cure": {
			[]Finding{finding("default", "never", never, "")},
			"default/never: container main never started",
		},
		"sorted, what is shared is said once": {
			[]Finding{finding("default", "c", never, cureDelete), finding("default", "b", never, cureDelete), finding("default", "a", never, cureDelete)},
			"default/a and 2 more: container main never started; delete the pod (also default/b, default/c)",
		},
		"two causes in one pod": {
			[]Finding{finding("default", "a", "z", cureDelete), finding("default", "a", "b", cureDelete)},
			"default/a: b; delete the pod | default/a: z; delete the pod",
		},
		"a cure of its own for each": {
			[]Finding{finding("default", "b", never, cureDelete), finding("default", "a", never, "wait")},
			"default/a: container main never started; wait | default/b: container main never started; delete the pod",
		},
		"uid only": {
			[]Finding{{Pod: Pod{UID: "5f1c7d52-3d8e-4b43-9a57-2f4d0c1e9b66"}, Cause: "killed"}},
			"pod 5f1c7d52-3d8e-4b43-9a57-2f4d0c1e9b66: killed",
		},
		"object of the node": {
			[]Finding{{Object: "/etc/cni/net.d", Cause: "no configuration", Cure: "install a CNI plugin"}},
			"/etc/cni/net.d: no configuration; install a CNI plugin",
		},
		"hostile bytes": {
			[]Finding{{Object: "/etc/cni/net.d/10-\x1b[31m%s\n\"x\".conf", Cause: `bad \ 100%`, Cure: "l\u00f6schen"}},
			"/etc/cni/net.d/10-?[31m?s x.conf: bad / 100?; l?schen",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Line(tc.in); got != tc.want {
				t.Errorf("line\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}

// Remedies time a condition by its last transition, and NPD makes a transition of every changed message: the order in
// which a runtime happens to list things must not show.
func TestLineIgnoresOrder(t *testing.T) {
	t.Parallel()
	sets := map[string][]Finding{
		"equal but for the uid":       {{Pod: Pod{"a", "p", "1"}, Cause: "c", Cure: "x"}, {Pod: Pod{"a", "p", "2"}, Cause: "c", Cure: "x"}},
		"equal but for the container": {{Pod: Pod{Name: "p"}, Container: "1", Cause: "c", Cure: "x"}, {Pod: Pod{Name: "p"}, Container: "2", Cause: "c", Cure: "y"}},
	}
	var many []Finding
	for i := range 40 {
		many = append(many, finding("ns", fmt.Sprintf("pod-%02d", i/2), fmt.Sprintf("cause %d", i%3), fmt.Sprintf("cure %d", i%4)))
	}
	sets["many"] = many
	for name, set := range sets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(1, 2))
			want := Line(set)
			before := slices.Clone(set)
			for range 50 {
				mixed := slices.Clone(set)
				r.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
				if got := Line(mixed); got != want {
					t.Fatalf("another order, another line\n%s\n%s", got, want)
				}
			}
			if fmt.Sprint(before) != fmt.Sprint(set) {
				t.Error("Line changed its argument")
			}
		})
	}
}

// The default of NPD cuts at 80 bytes, and so do some columns of kubectl: who and what has to stand before that.
func TestLineBeginsWithTheEssence(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ ns, name, cause string }{
		{"default", "test-created-w2bk5", "container main was created before this boot"},
		{"kube-system", "coredns-5d78c9869d-abcde", "killed by its memory limit of 1B"},
		{"monitoring", "node-exporter-x8k2p", "sandboxes keep failing: no CNI configuration"},
	} {
		want := tc.ns + "/" + tc.name + ": " + tc.cause
		got := Line([]Finding{finding(tc.ns, tc.name, tc.cause+" and more words of it", cureDelete)})
		if !strings.HasPrefix(got, want) || len(want) > 80 {
			t.Errorf("%q does not begin with %q within 80 bytes", got, want)
		}
	}
}

func TestLineIsCapped(t *testing.T) {
	t.Parallel()
	const count = 10_000
	one, each := make([]Finding, 0, count), make([]Finding, 0, count)
	for i := range count {
		name := fmt.Sprintf("pod-%05d", i)
		one = append(one, finding("default", name, "container main never started", cureDelete))
		each = append(each, finding("default", name, "cause of "+name, cureDelete))
	}
	start := time.Now()
	got := Line(one)
	wellFormed(t, got)
	if !strings.HasPrefix(got, "default/pod-00000 and 9999 more: container main never started; delete the pod (also default/pod-00001, ") {
		t.Errorf("one cause: %q", got)
	}
	got = Line(each)
	wellFormed(t, got)
	shown := strings.Count(got, " | ") + 1
	if want := fmt.Sprintf(" (+%d more", count-shown); !strings.Contains(got, want) || shown < 3 || !strings.HasPrefix(got, "default/pod-00000: cause of pod-00000; ") {
		t.Errorf("a cause each, %d shown, want ...%s...: %q", shown, want, got)
	}
	if d := time.Since(start); d > 30*time.Second { // hundreds of times what it takes: the machine may be busy
		t.Errorf("%d findings took %s", count, d)
	}
}

func TestLineOfHugeNames(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("n", 5000)
	for name, tc := range map[string]struct {
		in   []Finding
		says []string
	}{
		"pod":         {[]Finding{finding(huge, huge+"-end", "never started", cureDelete)}, []string{"nn..nn", "-end: never started; delete the pod"}},
		"cause":       {[]Finding{finding("default", "p", huge, cureDelete)}, []string{"default/p: nnn", "nn.."}},
		"cure":        {[]Finding{finding("default", "p", "never started", huge)}, []string{"default/p: never started; nnn"}},
		"many pods":   {[]Finding{finding(huge, "1", huge, huge), finding(huge, "2", huge, huge), finding(huge, "3", huge, huge)}, []string{" and 2 more: nnn"}},
		"only a last": {[]Finding{finding("a", "p", "never started", cureDelete), finding(huge, "2", huge, huge)}, []string{"a/p: never started; delete the pod (+1 more"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Line(tc.in)
			wellFormed(t, got)
			for _, s := range tc.says {
				if !strings.Contains(got, s) {
					t.Errorf("%q does not say %q", got, s)
				}
			}
		})
	}
}

// No "+N more" may be lost, whatever the lengths: it is the only sign that there is more.
func TestLineCountsWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	for n := range 260 {
		fs := []Finding{
			finding("a", "1", "x"+strings.Repeat("x", n), "cure"),
			finding("a", "2", "y"+strings.Repeat("y", n), "cure"),
			finding("a", "3", "z"+strings.Repeat("z", n), "other"),
		}
		got := Line(fs)
		wellFormed(t, got)
		shown := 1 + strings.Count(got, " | ")
		if want := fmt.Sprintf("(+%d more", 3-shown); shown < 3 && !strings.Contains(got, want) {
			t.Fatalf("cause of %d bytes: %q shows %d of 3 and does not say %q", n, got, shown, want)
		}
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                       "",
		"plain words":            "plain words",
		"  a \t\r\n  b  ":        "a b",
		"100%":                   "100?",
		`C:\x "y" 'z'`:           "C:/x y z",
		"back`tick":              "backtick",
		"esc\x1b[0m\x00\x7f":     "esc?[0m??",
		"gr\u00fc\u00dfe":        "gr??e",
		"bad\xff\xfeutf":         "bad??utf",
		"line\u2028sep\u202Ertl": "line?sep?rtl",
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
}

// wellFormed is what NPD needs of the line.
func wellFormed(t *testing.T, line string) {
	t.Helper()
	if len(line) < 1 || len(line) > MaxLine {
		t.Errorf("%d bytes, want 1 to %d: %q", len(line), MaxLine, line)
	}
	clean(t, line)
}

func clean(t *testing.T, line string) {
	t.Helper()
	for i := range len(line) {
		if b := line[i]; b < ' ' || b > '~' || strings.IndexByte("%\"'`\\", b) >= 0 {
			t.Errorf("byte %q in %q", b, line)
		}
	}
}

func FuzzLine(f *testing.F) {
	f.Add("default", "test-created-w2bk5", "container main was created before this boot and never started", "sandbox-checker repair", 2)
	f.Add("", "", "failed to load config: open /run/flannel/subnet.env: no such file or directory", "", 1)
	f.Add("kube-system", "x\n%s", `unexpected character '\xff' "%!d(MISSING)"`, "\\", 300)
	f.Add("\x1b[2J", strings.Repeat("é", 200), strings.Repeat("%", 400), "\t", 3)
	f.Fuzz(func(t *testing.T, ns, name, cause, cure string, n int) {
		clean(t, Clean(cause))
		if again := Clean(Clean(cause)); again != Clean(cause) {
			t.Errorf("Clean is not idempotent: %q, then %q", Clean(cause), again)
		}
		fs := make([]Finding, 0, 400)
		for i := range 1 + max(n, -n)%400 {
			fs = append(fs, finding(ns, name+strings.Repeat("x", i%7), cause, cure))
		}
		wellFormed(t, Line(fs))
		wellFormed(t, CouldNotLook(fmt.Errorf("%s: %s", ns, cause)).Line)
	})
}
