package capture

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Names are bytes that somebody else chose: none may make a capture unreadable, or another one.
func TestRoundTripOfOddNames(t *testing.T) {
	t.Parallel()
	f := &File{Now: time.Unix(1796062056, 0).UTC(), Content: map[string][]byte{
		"/etc/a\n-- now --\n1\n-- /x": []byte("x\n"),
		"/etc/a (base64)":             []byte("x\n"),
		"/etc/ends in space ":         []byte("x\n"),
		"/etc/\"quoted\"":             {0},
		"/etc/\xff":                   []byte("x\n"),
		"/nil":                        nil,
	}, Entries: []Entry{
		{Path: "/l1", Mode: fs.ModeSymlink | 0o777, Target: "/x -> /y"},
		{Path: "/l2", Mode: fs.ModeSymlink | 0o777, Target: "/x\n-rw-r--r-- - /etc/passwd"},
		{Path: "/l3", Mode: fs.ModeSymlink | 0o777, Target: `"/x"`},
		{Path: "/l4", Mode: fs.ModeSymlink | 0o777, Target: "/x ! y"},
		{Path: "/s", Mode: fs.ModeSocket | 0o777, Err: "dialing a -> b failed"},
		{Path: "/e\xff\xfe", Mode: 0o644},
	}}
	f.CRI.Sandbox = map[string][]byte{}
	text := f.Format()
	got, err := Parse(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	same(t, got, f)
	f = &File{Now: f.Now, Content: map[string][]byte{}, Entries: []Entry{{Path: "/e", Mode: 0o644, Err: "bad\ndisk"}}}
	if got, err = Parse(f.Format()); err != nil || len(got.Entries) != 1 || got.Entries[0].Err != "bad disk" {
		t.Errorf("%+v, %v", got, err)
	}
}

// An editor may leave out the last newline.
func TestEmptyLastSection(t *testing.T) {
	t.Parallel()
	f := parse(t, minimal+"-- /empty --")
	if got, ok := f.Content["/empty"]; !ok || got == nil {
		t.Errorf("%v, %v", got, ok)
	}
	if _, err := parse(t, minimal+"-- cri/pods.json --").Host(); err == nil || !strings.HasPrefix(err.Error(), "cri/pods.json: ") {
		t.Errorf("an empty list passes for one that was not recorded: %v", err)
	}
}

func TestContradictions(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a file in two codings":      "-- /a --\nx\n-- /a (base64) --\neA==\n",
		"a directory with content":   "-- files --\ndrwxr-xr-x - /a\n-- /a --\nx\n",
		"a link with content":        "-- files --\nlrwxrwxrwx - /a -> /b\n-- /a --\nx\n",
		"a socket with content":      "-- files --\nsrwxrwxrwx - /a\n-- /a --\nx\n",
		"a file and one below it":    "-- /a --\nx\n-- /a/b --\nx\n",
		"one file by two names":      "-- /a//b --\nx\n-- /a/b --\ny\n",
		"an error that says nothing": "-- cri/error --\n",
		"a time that cannot be told": "-- files --\n-rw-r--r-- 999999999999 /a\n",
	} {
		for range 20 { // maps are walked in another order each time
			f, err := Parse([]byte(minimal + text))
			if err == nil {
				_, err = f.Host()
			}
			if err == nil {
				t.Errorf("%s passes", name)
				break
			}
		}
	}
}

// The line of a replayed check is the line of the node: it may hold the error's words.
func TestErrorsSayWhatTheNodeSaid(t *testing.T) {
	t.Parallel()
	h, err := parse(t, linked).Host()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{"/absent": syscall.ENOENT, "/etc/cni/net.d/40-dangling.conf": syscall.ENOENT,
		"/etc/cni/net.d/50-loop.conf": syscall.ELOOP, "/etc/cni/net.d/80-locked.conf": syscall.EACCES, "/srv/real.conf/below": syscall.ENOTDIR} {
		if _, err := h.ReadFile(path); !errors.Is(err, want) || err.Error() != path+": "+want.Error() {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
}

// A node often goes by a short name and by the full one that begins with it: that is one host.
func TestReplaceHostsTheLongestFirst(t *testing.T) {
	t.Parallel()
	if got := withoutHosts("node-7 node-7.corp.example node-7", "node-7", "node-7.corp.example", "node-7"); got != "host-1 host-1 host-1" {
		t.Errorf("%q", got)
	}
}
