package capture

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"
)

func TestEntries(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 2, 8, 0, 30, 0, time.UTC)
	for line, want := range map[string]Entry{
		"drwxr-xr-x 2026-03-02T08:00:30Z /etc/cni/net.d":                  {Path: "/etc/cni/net.d", Mode: fs.ModeDir | 0o755, Mod: at},
		"drwxr-xr-x 2026-03-02T08:00:30Z/2026-03-02T08:00:29Z /etc/cni":   {Path: "/etc/cni", Mode: fs.ModeDir | 0o755, Mod: at, Born: at.Add(-time.Second)},
		"drwxr-xr-x -/2026-03-02T08:00:30Z /etc/cni":                      {Path: "/etc/cni", Mode: fs.ModeDir | 0o755, Born: at},
		"-rwxr-xr-x - /opt/cni/bin/bridge":                                {Path: "/opt/cni/bin/bridge", Mode: 0o755},
		"lrwxrwxrwx - /etc/cni/net.d/10-x.conflist -> /nowhere/x":         {Path: "/etc/cni/net.d/10-x.conflist", Mode: fs.ModeSymlink | 0o777, Target: "/nowhere/x"},
		"lrwxrwxrwx - /etc/x -> ../y z":                                   {Path: "/etc/x", Mode: fs.ModeSymlink | 0o777, Target: "../y z"},
		"srw-rw---- 2026-03-02T08:00:30Z /run/containerd/containerd.sock": {Path: "/run/containerd/containerd.sock", Mode: fs.ModeSocket | 0o660, Mod: at},
		"srwxrwxrwx - /var/run/cilium/cilium.sock ! connection refused":   {Path: "/var/run/cilium/cilium.sock", Mode: fs.ModeSocket | 0o777, Err: "connection refused"},
		"-rw------- - /etc/cni/net.d/20-y.conf ! permission denied":       {Path: "/etc/cni/net.d/20-y.conf", Mode: 0o600, Err: "permission denied"},
		"prw-r--r-- - /run/fifo":                                          {Path: "/run/fifo", Mode: fs.ModeNamedPipe | 0o644},
		"crw-rw-rw- - /dev/null":                                          {Path: "/dev/null", Mode: fs.ModeDevice | fs.ModeCharDevice | 0o666},
		"brw-rw---- - /dev/vda":                                           {Path: "/dev/vda", Mode: fs.ModeDevice | 0o660},
		"-rw-r--r-- 2026-03-02T08:00:30.123456789Z /x":                    {Path: "/x", Mode: 0o644, Mod: at.Add(123456789)},
		`-rw-r--r-- - "/etc/a\nb -> c ! d"`:                               {Path: "/etc/a\nb -> c ! d", Mode: 0o644},
		`lrwxrwxrwx - "/etc/a\x00\"b" -> /c`:                              {Path: "/etc/a\x00\"b", Mode: fs.ModeSymlink | 0o777, Target: "/c"},
		`-rw-r--r-- - "/etc/\u00a0" ! input/output error`:                 {Path: "/etc/\u00a0", Mode: 0o644, Err: "input/output error"},
		"-rw-r--r-- - /etc/with  two spaces and \u00fc":                   {Path: "/etc/with  two spaces and \u00fc", Mode: 0o644},
	} {
		got, err := parseEntry(line)
		if err != nil || got != want {
			t.Errorf("%s\ngot  %+v, %v\nwant %+v", line, got, err, want)
		}
		if again := want.String(); again != line {
			t.Errorf("written as\n%s\nwant\n%s", again, line)
		}
	}
}

// What ls and people write, and Format does not.
func TestEntriesByHand(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]Entry{
		"-rw-r--r--. - /selinux":        {Path: "/selinux", Mode: 0o644},
		"-rw-r--r--+ - /acl":            {Path: "/acl", Mode: 0o644},
		"-rwsr-xr-x - /setuid":          {Path: "/setuid", Mode: 0o755},
		"-rwSr--r-- - /setuid-no-x":     {Path: "/setuid-no-x", Mode: 0o644},
		"drwxrwxrwt - /tmp":             {Path: "/tmp", Mode: fs.ModeDir | 0o777},
		"-rw-r--r--   1772438430 /unix": {Path: "/unix", Mode: 0o644, Mod: time.Unix(1772438430, 0).UTC()},
		"-rw-r--r-- 1772438430.5 /unix": {Path: "/unix", Mode: 0o644, Mod: time.Unix(1772438430, 5e8).UTC()},
	} {
		if got, err := parseEntry(line); err != nil || got != want {
			t.Errorf("%s\ngot  %+v, %v\nwant %+v", line, got, err, want)
		}
	}
	all, err := parseEntries([]byte("\n-rw-r--r-- - /a\r\n  \n-rw-r--r-- - /b"))
	if err != nil || len(all) != 2 || all[0].Path != "/a" || all[1].Path != "/b" {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestEntryErrors(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"-rw-r--r--":                         "want mode, time and path",
		"-rw-r--r-- /etc/x":                  "want mode, time and path",
		"rw-r--r-- - /x":                     `mode "rw-r--r--": want it as ls -l prints it`,
		"?rw-r--r-- - /x":                    "want it as ls -l prints it",
		"-rw-r--r--r - /x":                   "want it as ls -l prints it",
		"-wr-r--r-- - /x":                    `mode "-wr-r--r--": 'w'`,
		"-rw-r--r\u00e9 - /x":                "mode",
		"-rw-r--r-- -/1772438430 /x":         "only of a directory",
		"drwxr-xr-x 1772438430/ /x":          "no time in",
		"drwxr-xr-x 1772438430/- /x":         "no time in",
		"-rw-r--r-- yesterday /x":            `no time in "yesterday"`,
		"-rw-r--r-- 2026-13-40T00:00:00Z /x": "no time in",
		"-rw-r--r-- - x":                     `path "x" is not absolute`,
		`-rw-r--r-- - "x"`:                   `path "x" is not absolute`,
		`-rw-r--r-- - "/x`:                   `path "/x: `,
		`-rw-r--r-- - "/x" and more`:         `after the path: " and more"`,
		"lrwxrwxrwx - /x":                    "/x: a link needs a target, and only a link",
		"-rw-r--r-- - /x -> /y":              "/x: a link needs a target, and only a link",
	} {
		if e, err := parseEntry(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, error %v, want ...%s...", line, e, err, want)
		}
	}
	if _, err := parseEntries([]byte("-rw-r--r-- - /a\n\nnonsense\n")); err == nil || !strings.HasPrefix(err.Error(), "line 3: ") {
		t.Errorf("no line in %v", err)
	}
}

func TestModesRoundTrip(t *testing.T) {
	t.Parallel()
	for _, typ := range []fs.FileMode{0, fs.ModeDir, fs.ModeSymlink, fs.ModeSocket, fs.ModeNamedPipe, fs.ModeDevice, fs.ModeDevice | fs.ModeCharDevice} {
		for perm := range fs.FileMode(0o1000) {
			text := formatMode(typ | perm)
			if got, err := parseMode(text); err != nil || got != typ|perm {
				t.Fatalf("%v is written %q and read %v, %v", typ|perm, text, got, err)
			}
		}
	}
	if got := formatMode(fs.ModeSetuid | fs.ModeSticky | 0o755); got != "-rwxr-xr-x" {
		t.Errorf("set-id and sticky: %q", got)
	}
}

func TestEntryErr(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]error{
		"":                          nil,
		"permission denied":         fs.ErrPermission,
		"operation not permitted":   fs.ErrPermission,
		"no such file or directory": fs.ErrNotExist,
	} {
		if got := (Entry{Err: text}).err(); !errors.Is(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if got := (Entry{Err: "connection refused"}).err(); got == nil || got.Error() != "connection refused" {
		t.Errorf("%v", got)
	}
}

func TestParseTime(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]time.Time{
		"2026-03-02T09:00:00Z":           time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC),
		"2026-03-02T10:00:00.5+01:00":    time.Date(2026, 3, 2, 9, 0, 0, 5e8, time.UTC),
		"1796062056":                     time.Unix(1796062056, 0),
		"1796062056.":                    time.Unix(1796062056, 0),
		"1796062056.11":                  time.Unix(1796062056, 11e7),
		"1796062056.123456789":           time.Unix(1796062056, 123456789),
		"1796062056.1234567899999999999": time.Unix(1796062056, 123456789),
	} {
		if got, err := parseTime(in); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "now", "0", "-5", "1796062056.x", "1796062056.-5", "+", "2026-03-02", "2026-03-02 09:00:00", "1e9"} {
		if got, err := parseTime(in); err == nil {
			t.Errorf("%q: %v and no error", in, got)
		}
	}
}

func FuzzEntry(f *testing.F) {
	for _, line := range []string{"drwxr-xr-x 2026-03-02T08:00:00Z /etc/cni/net.d", "lrwxrwxrwx - /etc/x -> ../y", "srw-rw---- - /run/x.sock ! connection refused",
		`-rw-r--r--. 1772438430.5 "/etc/a\nb" ! permission denied`} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		e, err := parseEntry(line)
		if err != nil {
			return
		}
		again, err := parseEntry(e.String())
		if err != nil || !again.Mod.Equal(e.Mod) {
			t.Fatalf("%q: written %q, read %+v, %v", line, e.String(), again, err)
		}
		again.Mod = e.Mod
		if again != e {
			t.Errorf("%q\nread    %+v\nwritten %q\nread    %+v", line, e, e.String(), again)
		}
	})
}
