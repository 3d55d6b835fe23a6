package checks_test

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sandbox-checker/plugin/capture"
	"sandbox-checker/plugin/checks"
)

// TestRedactedCases redacts every capture, writes and reads it again: each want has to get the same exit status and the same
// line but for names. Redacted once more nothing changes.
func TestRedactedCases(t *testing.T) {
	t.Parallel()
	for _, c := range checks.All() {
		found, err := filepath.Glob("testdata/" + c.Name + "/*.txtar")
		if err != nil || len(found) == 0 {
			t.Errorf("no captures of %s: %v", c.Name, err)
		}
		for _, path := range found {
			t.Run(strings.TrimSuffix(strings.TrimPrefix(path, "testdata/"), ".txtar"), func(t *testing.T) {
				t.Parallel()
				f := read(t, path)
				again := redacted(t, read(t, path))
				for _, w := range f.Wants {
					sameVerdict(t, f, again, w)
				}
				once := string(again.Format())
				namesGone(t, f, once)
				if twice := string(redacted(t, again).Format()); twice != once {
					t.Errorf("redacted again it changes:\n%s", firstDifference(once, twice))
				}
			})
		}
	}
}

// redacted is the capture as a person gets it from capture --redact and sends it on.
func redacted(t *testing.T, f *capture.File) *capture.File {
	t.Helper()
	if err := f.Redact("node-1"); err != nil {
		t.Fatal(err)
	}
	g, err := capture.Parse(f.Format())
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// namesGone looks for the names of the capture's pods. A short one may be another word's part.
func namesGone(t *testing.T, f *capture.File, text string) {
	t.Helper()
	h, err := f.Host()
	if err != nil || h.Runtime == nil {
		return
	}
	sandboxes, _ := h.Runtime.Sandboxes(context.Background()) // none where the runtime did not answer
	for _, s := range sandboxes {
		for _, name := range []string{s.Pod.Name, "/pods/" + s.Pod.Namespace + "_" + s.Pod.Name} {
			if len(name) > 5 && strings.ContainsAny(name, "-0123456789") && strings.Contains(text, name) {
				t.Errorf("%s is left", name)
			}
		}
	}
}

func sameVerdict(t *testing.T, f, g *capture.File, w capture.Want) {
	t.Helper()
	before, line := verdictOf(t, f, w)
	after, redactedLine := verdictOf(t, g, w)
	if before != after || before != w.Exit {
		t.Errorf("%s %v: exit %d, was %d\n%s\n%s", w.Check, w.Args, after, before, redactedLine, line)
	}
	if a, b := withoutNames(line), withoutNames(redactedLine); a != b {
		t.Errorf("%s %v: another line\n%s\n%s", w.Check, w.Args, redactedLine, line)
	}
	wellFormed(t, redactedLine)
}

func verdictOf(t *testing.T, f *capture.File, w capture.Want) (int, string) {
	t.Helper()
	c, ok := checks.Named(w.Check)
	if !ok {
		t.Fatalf("want %s: no such check", w.Check)
	}
	h, err := f.Host()
	if err != nil {
		t.Fatal(err)
	}
	v, _ := c.Judge(context.Background(), h, options(t, w.Args))
	return int(v.Status), v.Line
}

// subjects matches NAMESPACE/NAME. The image of sandboxes has a word of its own.
var (
	subjects = regexp.MustCompile(`[a-z0-9-]+/[a-z0-9.-]+`)
	image    = regexp.MustCompile(`the sandbox image \S+`)
	others   = regexp.MustCompile(` \(also .*| \(\+.*| \| .*`)
)

// withoutNames is the first part of a line: how much of the others there is room for depends on the names. The order of
// namespaces may change too.
func withoutNames(line string) string {
	line = image.ReplaceAllString(others.ReplaceAllString(line, ""), "the sandbox image")
	return subjects.ReplaceAllString(line, "NAME")
}

func firstDifference(a, b string) string {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return as[i] + "\n" + bs[i]
		}
	}
	return "one is longer"
}
