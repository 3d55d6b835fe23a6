package capture

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

const minimal = header + "\n-- now --\n2026-03-02T09:00:00Z\n"

func parse(t *testing.T, text string) *File {
	t.Helper()
	f, err := Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return f
}

// examples are the indented blocks of FORMAT.md.
func examples(t *testing.T) []string {
	t.Helper()
	raw, err := os.ReadFile("FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	inside := false
	for line := range strings.Lines(string(raw)) {
		text, indented := strings.CutPrefix(line, "    ")
		switch {
		case indented && inside:
			out[len(out)-1] += text
		case indented:
			out = append(out, text)
		}
		inside = indented
	}
	return out
}

// The format is public: what its page shows must parse, and mean what the page says.
func TestFormatPage(t *testing.T) {
	t.Parallel()
	ex := examples(t)
	if len(ex) != 3 {
		t.Fatalf("%d examples in FORMAT.md, want a capture, files and want", len(ex))
	}
	f := parse(t, ex[0])
	if f.About != "Any text: what was seen, where from." || !f.Now.Equal(time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)) {
		t.Errorf("about %q, now %v", f.About, f.Now)
	}
	h, err := f.Host()
	if err != nil {
		t.Fatal(err)
	}
	if c, err := h.Boot(); err != nil || c.Uptime != 3590120*time.Millisecond {
		t.Errorf("%+v, %v", c, err)
	}
	rt, err := h.CRI()
	if err != nil {
		t.Fatal(err)
	}
	if pods, err := rt.Sandboxes(context.Background()); err != nil || len(pods) != 0 {
		t.Errorf("%v, %v", pods, err)
	}

	f = parse(t, minimal+"-- files --\n"+ex[1])
	if len(f.Entries) != strings.Count(ex[1], "\n") {
		t.Errorf("%d entries of\n%s", len(f.Entries), ex[1])
	}
	if h, err = f.Host(); err != nil {
		t.Fatal(err)
	}
	if err := h.Accepts("/var/run/cilium/cilium.sock"); err == nil || err.Error() != "connection refused" {
		t.Errorf("cilium.sock: %v", err)
	}
	if err := h.Accepts("/run/containerd/containerd.sock"); err != nil {
		t.Errorf("containerd.sock: %v", err)
	}

	f = parse(t, minimal+ex[2])
	want := []Want{{Check: "stale-created", Args: []string{"--grace", "10s"}, Exit: 1,
		Line: "default/never: container main was created before this boot and never started; ...", Says: []string{"before this boot"}}}
	if !reflect.DeepEqual(f.Wants, want) {
		t.Errorf("got  %+v\nwant %+v", f.Wants, want)
	}
}

// Every section that the page lists is known.
func TestFormatPageListsSections(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	samples := map[string]string{
		"now": "", "kernel-clock": "3590.12\n", "/dev/kmsg": "6,1,1,-;x\n", "files": "", "cri/endpoint": "unix:///run/x.sock\n",
		"cri/pods.json": "{}\n", "cri/ps.json": "{}\n", "cri/info.json": "{}\n", "cri/version.json": "{}\n", "cri/inspectp/ID.json": "{}\n",
		"cri/config.toml": "\n", "cri/sandbox-image": "registry.k8s.io/pause:3.10 present\n", "cri/error": "refused\n", "want NAME": "exit 2\n", "/any/path": "x\n", "/any/path (base64)": "eA==\n",
	}
	for line := range strings.Lines(string(page)) {
		rest, ok := strings.CutPrefix(line, "| `")
		if !ok {
			continue
		}
		section, _, _ := strings.Cut(rest, "`")
		text, ok := samples[section]
		if !ok {
			t.Errorf("section %s has no sample here", section)
		}
		delete(samples, section)
		whole := minimal + "-- " + section + " --\n" + text
		if section == "now" {
			whole = minimal
		}
		if _, err := Parse([]byte(whole)); err != nil {
			t.Errorf("section %s: %v", section, err)
		}
	}
	for section := range samples {
		t.Errorf("section %s is not in the table of FORMAT.md", section)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	f := parse(t, minimal+`-- /etc/cni/net.d/10-x.conf --
{}
-- /bin/true (base64) --
f0VMRgIB
AQA=
-- /empty --
-- cri/endpoint --
unix:///run/x.sock
-- cri/inspectp/a.json --
{}
-- cri/error --
ListPodSandbox at /run/x.sock: no answer in time
-- want cni-config --
kind NEG
exit 0
-- want cni-config --
kind TP
args --settle 1m
exit 1
says a
says b
`)
	for path, want := range map[string]string{"/etc/cni/net.d/10-x.conf": "{}\n", "/bin/true": "\x7fELF\x02\x01\x01\x00", "/empty": ""} {
		if got, ok := f.Content[path]; !ok || string(got) != want {
			t.Errorf("%s: %q, %v; want %q", path, got, ok, want)
		}
	}
	if f.CRI.Socket != "/run/x.sock" || string(f.CRI.Sandbox["a"]) != "{}\n" || f.CRI.Err != "ListPodSandbox at /run/x.sock: no answer in time" {
		t.Errorf("%+v", f.CRI)
	}
	want := []Want{{Check: "cni-config", Kind: "NEG"}, {Check: "cni-config", Kind: "TP", Args: []string{"--settle", "1m"}, Exit: 1, Says: []string{"a", "b"}}}
	if !reflect.DeepEqual(f.Wants, want) {
		t.Errorf("got  %+v\nwant %+v", f.Wants, want)
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	section := func(name, text string) string { return minimal + "-- " + name + " --\n" + text }
	for name, tc := range map[string]struct{ text, want string }{
		"empty":              {"", "not a capture: the first line is not"},
		"binary":             {"\x7fELF\x00\xff", "not a capture: the first line is not"},
		"another version":    {"sandbox-checker capture 2\n-- now --\n1\n", "not a capture: the first line is not"},
		"text before":        {"# mine\n" + minimal, "not a capture: the first line is not"},
		"no now":             {header + "\n-- /proc/uptime --\n1 1\n", `no section "now"`},
		"bad now":            {header + "\n-- now --\nnoon\n", `section "now": no time in "noon"`},
		"empty now":          {header + "\n-- now --\n", `section "now": no time in ""`},
		"twice":              {minimal + "-- now --\n1796062056\n", `section "now": given twice`},
		"a file twice":       {section("/x", "") + "-- /x --\n", `section "/x": given twice`},
		"unknown":            {section("podz", "{}\n"), `section "podz": unknown name`},
		"misspelt cri":       {section("cri/pod.json", "{}\n"), `section "cri/pod.json": unknown name`},
		"inspectp, no json":  {section("cri/inspectp/a", "{}\n"), `section "cri/inspectp/a": unknown name`},
		"relative path":      {section("etc/x", ""), `section "etc/x": unknown name`},
		"base64":             {section("/x (base64)", "no!\n"), `section "/x (base64)": illegal base64`},
		"endpoint":           {section("cri/endpoint", "tcp://1.2.3.4\n"), `section "cri/endpoint": runtime endpoint "tcp://1.2.3.4"`},
		"files":              {section("files", "-rw-r--r-- - /a\n-rw-r--r-- - b\n"), `section "files": line 2: path "b" is not absolute`},
		"want without exit":  {section("want x", "kind TP\n"), `section "want x": no exit 0, 1 or 2`},
		"want exit 3":        {section("want x", "exit 3\n"), `section "want x": no exit 0, 1 or 2`},
		"want exit in words": {section("want x", "exit one\n"), `section "want x": strconv.Atoi`},
		"want misspelt":      {section("want x", "exit 1\nsay hello\n"), `section "want x": unknown word "say"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := Parse([]byte(tc.text))
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%+v, error %v\nwant %s", f, err, tc.want)
			}
		})
	}
}

func TestHostErrors(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ text, want string }{
		"a path listed twice": {"-- files --\n-rw-r--r-- - /a\n-rwxr-xr-x - /a\n", "files: /a: given twice"},
		"below a file":        {"-- files --\n-rw-r--r-- - /a\n-rw-r--r-- - /a/b\n", "files: /a/b: its parent is no directory"},
		"below a link":        {"-- files --\nlrwxrwxrwx - /a -> /c\n-- /a/b --\n", "files: /a/b: its parent is no directory"},
		"pods":                {"-- cri/pods.json --\nFATA[0000]\n", "cri/pods.json: "},
		"ps":                  {"-- cri/ps.json --\n[]\n", "cri/ps.json: "},
	} {
		if h, err := parse(t, minimal+tc.text).Host(); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%s: %v, error %v, want %s", name, h, err, tc.want)
		}
	}
	h, err := parse(t, minimal).Host()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.CRI(); err == nil || err.Error() != "the capture has no cri/ section" {
		t.Errorf("no cri/ section: %v", err)
	}
	if h.Now.IsZero() {
		t.Error("no time")
	}
}

// Directories exist when something below them does; what is not listed does not exist.
func TestImpliedDirectories(t *testing.T) {
	t.Parallel()
	h, err := parse(t, minimal+"-- files --\n-rwxr-xr-x - /opt/cni/bin/bridge\ndrwx------ 2026-03-02T08:00:00Z /etc/cni\n-- /etc/cni/net.d/a.conf --\n{}\n").Host()
	if err != nil {
		t.Fatal(err)
	}
	for path, mode := range map[string]fs.FileMode{"/": fs.ModeDir | 0o755, "/opt/cni": fs.ModeDir | 0o755, "/etc/cni": fs.ModeDir | 0o700,
		"/etc/cni/net.d": fs.ModeDir | 0o755, "/etc/cni/net.d/a.conf": 0o644, "/opt/cni/bin/bridge": 0o755} {
		if st, err := h.Stat(path); err != nil || st.Mode() != mode || (path != "/etc/cni") != st.ModTime().IsZero() {
			t.Errorf("%s: %v, %v; want %v", path, st, err, mode)
		}
	}
	for _, path := range []string{"/opt/cni/net.d", "/etc/cni/net.d/b.conf", "/opt/cni/bin/bridge/x"} {
		if _, err := h.Stat(path); err == nil {
			t.Errorf("%s is there", path)
		}
	}
	if raw, err := h.ReadFile("/opt/cni/bin/bridge"); err != nil || len(raw) != 0 {
		t.Errorf("a listed file without a section: %q, %v", raw, err)
	}
	if _, err := h.ReadFile("/opt"); err == nil || err.Error() != "/opt: not a regular file" {
		t.Errorf("a directory as a file: %v", err)
	}
	if got := names(t, h, "/"); fmt.Sprint(got) != "[etc opt]" {
		t.Errorf("root: %v", got)
	}
}
