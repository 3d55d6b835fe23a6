package checks_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/pflag"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/capture"
	"sandbox-checker/plugin/checks"
)

// tally counts the cases by check and kind for the table at the end.
type tally struct {
	mu   sync.Mutex
	rows map[string]int
}

func (t *tally) count(check, kind string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows[check+"\x00"+kind]++
}

// TestCases replays every capture of testdata and holds each check to what the capture wants.
func TestCases(t *testing.T) {
	var files []string
	for _, c := range checks.All() {
		found, err := filepath.Glob("testdata/" + c.Name + "/*.txtar")
		if err != nil || len(found) == 0 {
			t.Errorf("no captures of %s: %v", c.Name, err)
		}
		files = append(files, found...)
	}
	total := &tally{rows: map[string]int{}}
	t.Cleanup(func() { total.print(t) })
	for _, path := range files {
		t.Run(strings.TrimSuffix(strings.TrimPrefix(path, "testdata/"), ".txtar"), func(t *testing.T) {
			t.Parallel()
			f := read(t, path)
			if len(f.Wants) == 0 {
				t.Fatal("no want section")
			}
			for _, w := range f.Wants {
				total.count(w.Check, cmp.Or(w.Kind, "?"))
				judge(t, f, w)
			}
		})
	}
}

func (t *tally) print(tb testing.TB) {
	tb.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%-16s %5s %5s %5s\n", "cases", "TP", "NEG", "UNK")
	for _, c := range checks.All() {
		fmt.Fprintf(&b, "%-16s", c.Name)
		for _, kind := range []string{"TP", "NEG", "UNK"} {
			fmt.Fprintf(&b, " %5d", t.rows[c.Name+"\x00"+kind])
		}
		b.WriteByte('\n')
	}
	tb.Log("\n" + b.String())
}

func read(t *testing.T, path string) *capture.File {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := capture.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func judge(t *testing.T, f *capture.File, w capture.Want) {
	t.Helper()
	c, ok := checks.Named(w.Check)
	if !ok {
		t.Errorf("want %s: no such check", w.Check)
		return
	}
	h, err := f.Host()
	if err != nil {
		t.Error(err)
		return
	}
	v, _ := c.Judge(context.Background(), h, options(t, w.Args))
	if int(v.Status) != w.Exit {
		t.Errorf("%s %v: exit %d, want %d\n%s", w.Check, w.Args, v.Status, w.Exit, v.Line)
	}
	if w.Line != "" && v.Line != w.Line {
		t.Errorf("%s %v: line\n%s\nwant\n%s", w.Check, w.Args, v.Line, w.Line)
	}
	for _, s := range w.Says {
		if !strings.Contains(v.Line, s) {
			t.Errorf("%s %v: line does not say %q\n%s", w.Check, w.Args, s, v.Line)
		}
	}
	wellFormed(t, v.Line)
}

// wellFormed holds every line of every case to the form that NPD needs.
func wellFormed(t *testing.T, line string) {
	t.Helper()
	if line == "" || len(line) > plugin.MaxLine || line != plugin.Clean(line) {
		t.Errorf("not a clean line of 1 to %d bytes: %q", plugin.MaxLine, line)
	}
	if slices.ContainsFunc([]byte(line), func(b byte) bool { return b < ' ' || b > '~' || strings.IndexByte(`%"\`, b) >= 0 }) {
		t.Errorf("odd bytes in the line: %q", line)
	}
}

// options are the flags of a want section. Only the thresholds may be set there.
func options(t *testing.T, args []string) plugin.Options {
	t.Helper()
	o := plugin.Defaults()
	fs := pflag.NewFlagSet("want", pflag.ContinueOnError)
	fs.DurationVar(&o.Grace, "grace", o.Grace, "")
	fs.DurationVar(&o.StaleAfter, "stale-after", o.StaleAfter, "")
	fs.DurationVar(&o.BootGrace, "boot-grace", o.BootGrace, "")
	fs.DurationVar(&o.Settle, "settle", o.Settle, "")
	fs.DurationVar(&o.OOMWindow, "oom-window", o.OOMWindow, "")
	fs.DurationVar(&o.StartGrace, "start-grace", o.StartGrace, "")
	fs.DurationVar(&o.LoopWindow, "loop-window", o.LoopWindow, "")
	fs.DurationVar(&o.LoopNewest, "loop-newest", o.LoopNewest, "")
	fs.IntVar(&o.MinPods, "min-pods", o.MinPods, "")
	fs.StringVar(&o.CNIConfDir, "cni-conf-dir", "", "")
	fs.StringSliceVar(&o.CNIBinDirs, "cni-bin-dir", nil, "")
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return o
}
