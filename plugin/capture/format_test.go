package capture

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"sandbox-checker/plugin/cri"
)

// full is a capture with one of everything, and content that txtar does not keep by itself.
func full() *File {
	f := &File{
		About: "What was seen.\n\nWhere from.",
		Now:   time.Date(2026, 3, 2, 9, 0, 0, 123456789, time.UTC),
		Content: map[string][]byte{
			"/proc/uptime":      []byte("3590.12 7100.00\n"),
			"/empty":            {},
			"/no-newline":       []byte("no newline"),
			"/only-newline":     []byte("\n"),
			"/crlf":             []byte("a\r\nb\r\n"),
			"/cr-at-the-end":    []byte("a\r"),
			"/nul":              []byte("a\x00b\n"),
			"/not-utf8":         []byte("\xff\xfe\n"),
			"/like-a-section":   []byte("-- now --\n1\n"),
			"/section-inside":   []byte("a\n-- now --\n1\n"),
			"/almost-a-section": []byte("--now--\n --  x --\n"),
			"/elf":              bytes.Repeat([]byte{0x7f, 'E', 'L', 'F', 0}, 100),
			"/with space and ü": []byte("x\n"),
		},
		Entries: []Entry{
			{Path: "/a", Mode: 0o755, Mod: time.Date(2026, 3, 2, 8, 0, 0, 5, time.UTC)},
			{Path: "/a b\nc\x01\"", Mode: fs.ModeDir | 0o700, Err: "permission denied"},
			{Path: "/l -> x ! y", Mode: fs.ModeSymlink | 0o777, Target: "../ä b"},
			{Path: "/s", Mode: fs.ModeSocket | 0o660, Err: "connection refused"},
		},
	}
	f.SetCRI(cri.Records{Socket: "/run/x.sock", Version: []byte("{}\n"), Info: []byte("{}\n"), Pods: []byte("{\"items\": []}\n"),
		Containers: []byte("{}\n"), CRIOConfig: []byte("[crio]\n"), Sandbox: map[string][]byte{"b": []byte("{}\n"), "a": []byte("{}\n")}})
	return f
}

// same compares what a capture keeps. The want sections are for tests alone and are not written.
func same(t *testing.T, got, want *File) {
	t.Helper()
	// The kernel's clock is written with microseconds, as the log has them.
	if d := got.KernelClock - want.KernelClock; d > time.Microsecond || d < -time.Microsecond {
		t.Errorf("kernel clock %v, want %v", got.KernelClock, want.KernelClock)
	}
	if got.About != want.About || !got.Now.Equal(want.Now) || got.hasCRI != want.hasCRI {
		t.Errorf("about %q at %v, cri %v\nwant  %q at %v, cri %v", got.About, got.Now, got.hasCRI, want.About, want.Now, want.hasCRI)
	}
	for p := range want.Content {
		if g, ok := got.Content[p]; !ok || !bytes.Equal(g, want.Content[p]) {
			t.Errorf("%q: %q, %v; want %q", p, g, ok, want.Content[p])
		}
	}
	if len(got.Content) != len(want.Content) || len(got.Entries) != len(want.Entries) {
		t.Fatalf("%d files and %d entries, want %d and %d", len(got.Content), len(got.Entries), len(want.Content), len(want.Entries))
	}
	byPath := map[string]Entry{}
	for _, e := range want.Entries {
		byPath[e.String()] = e
	}
	for _, e := range got.Entries {
		if w, ok := byPath[e.String()]; !ok || w.Path != e.Path || w.Mode.Perm() != e.Mode.Perm() || !w.Mod.Equal(e.Mod) || w.Target != e.Target || w.Err != e.Err {
			t.Errorf("entry %+v, want %+v", e, w)
		}
	}
	if !reflect.DeepEqual(got.CRI, want.CRI) {
		t.Errorf("cri\n%+v\nwant\n%+v", got.CRI, want.CRI)
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	f := full()
	text := f.Format()
	got, err := Parse(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	same(t, got, f)
	if again := got.Format(); !bytes.Equal(again, text) {
		t.Errorf("formatted again\n%s\nwant\n%s", again, text)
	}

	sick := &File{Now: f.Now, Content: map[string][]byte{}}
	sick.SetCRI(cri.Records{Socket: "/run/x.sock", Err: "Version at /run/x.sock:\nno answer", Sandbox: map[string][]byte{}})
	got, err = Parse(sick.Format())
	if err != nil || got.CRI.Err != "Version at /run/x.sock: no answer" || got.CRI.Socket != "/run/x.sock" || got.CRI.Pods != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

// A person reads it: text stays text.
func TestFormatReads(t *testing.T) {
	t.Parallel()
	text := string(full().Format())
	for _, want := range []string{
		"sandbox-checker capture 1\nWhat was seen.\n\nWhere from.\n-- now --\n2026-03-02T09:00:00.123456789Z\n-- files --\n-rwxr-xr-x 2026-03-02T08:00:00.000000005Z /a\n",
		"-- /proc/uptime --\n3590.12 7100.00\n",
		"-- /no-newline (base64) --\nbm8gbmV3bGluZQ==\n",
		"-- cri/endpoint --\nunix:///run/x.sock\n",
		"-- cri/inspectp/a.json --\n{}\n-- cri/inspectp/b.json --\n{}\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no\n%s\nin\n%s", want, text)
		}
	}
	for line := range strings.Lines(text) {
		if len(line) > 120 {
			t.Errorf("a line of %d bytes: %s", len(line), line)
		}
	}
}

// Every capture that the checks are tested with comes through unchanged.
func TestRoundTripOfTheCases(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../checks/testdata/*/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no captures: %v", err)
	}
	for _, path := range files {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Parse(raw)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		again, err := Parse(f.Format())
		if err != nil {
			t.Errorf("%s: formatted: %v", path, err)
			continue
		}
		same(t, again, f)
		if t.Failed() {
			t.Fatal(path)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(full().Format())
	f.Add([]byte(linked))
	f.Add([]byte(minimal + "-- cri/error --\nrefused\n-- want x --\nexit 1\n"))
	for _, path := range []string{"../checks/testdata/stale-created/own-created-negative.txtar", "../checks/testdata/cni-config/c116-socket-refuses.txtar"} {
		raw, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := Parse(raw)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
			return
		}
		again, err := Parse(c.Format())
		if err != nil {
			t.Fatalf("formatted and no longer readable: %v\n%s", err, c.Format())
		}
		same(t, again, c)
		h, err := c.Host()
		if err != nil {
			return
		}
		// Links may go in circles, and everything must end.
		for _, e := range c.Entries {
			_, _ = h.ReadFile(e.Path)
			_ = h.Accepts(e.Path)
		}
	})
}
