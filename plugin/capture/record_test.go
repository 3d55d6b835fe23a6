package capture

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"testing"
	"time"

	"sandbox-checker/plugin"
)

// look is one thing that a check may do. It tells what came of it, as far as a check can see.
type look struct {
	op   string
	path string
	do   func(*plugin.Host, string) string
}

func (l look) String() string { return l.op + " " + l.path }

func looks(paths []string) []look {
	var out []look
	for _, p := range paths {
		out = append(out, look{"read", p, readWhole}, look{"stat", p, stat}, look{"lstat", p, lstat}, look{"list", p, list},
			look{"readlink", p, readLink}, look{"connect", p, connect})
	}
	return out
}

func readWhole(h *plugin.Host, p string) string {
	raw, err := h.ReadFile(p)
	return fmt.Sprintf("%q %s", raw, told(err))
}

func stat(h *plugin.Host, p string) string {
	st, err := h.Files.Stat(fsName(p))
	return described(st, err)
}

func lstat(h *plugin.Host, p string) string {
	st, err := h.Files.Lstat(fsName(p))
	return described(st, err)
}

func described(st fs.FileInfo, err error) string {
	if err != nil {
		return told(err)
	}
	if st.Mode().Type() == fs.ModeSymlink {
		return "link" // its permissions mean nothing
	}
	return fmt.Sprint(st.Mode().Type()|st.Mode().Perm(), st.ModTime().UTC())
}

func list(h *plugin.Host, p string) string {
	es, err := h.Files.ReadDir(fsName(p))
	var names []string
	for _, e := range es {
		names = append(names, e.Name()+" "+e.Type().String())
	}
	return strings.Join(names, ", ") + told(err)
}

func readLink(h *plugin.Host, p string) string {
	target, err := h.Files.ReadLink(fsName(p))
	return target + told(err)
}

func connect(h *plugin.Host, p string) string { return told(h.Accepts(p)) }

// told is what a check can tell of an error: its kind where that matters, else its words.
func told(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, fs.ErrNotExist):
		return "absent"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	}
	words := plugin.BareError(err).Error()
	return words[strings.LastIndex(words, ": ")+1:]
}

var recordedPaths = []string{
	"/etc/cni/net.d", "/etc/cni/net.d/10-a.conf", "/etc/cni/net.d/20-cut.conf", "/etc/cni/net.d/30-zero.conf", "/etc/cni/net.d/40-b.conf",
	"/etc/cni/net.d/41-locked", "/etc/cni/net.d/50-absolute.conf", "/etc/cni/net.d/51-relative.conf", "/etc/cni/net.d/52-chain.conf",
	"/etc/cni/net.d/53-dangling.conf", "/etc/cni/net.d/54-loop.conf", "/etc/cni/net.d/56-map.conf", "/etc/cni/net.d/57-dir.conf",
	"/etc/cni/net.d/58-empty.conf", "/etc/cni/net.d/absent", "/absent/below", "/opt/cni/bin/bridge", "/opt/cni/bin",
	"/usr/libexec/cni/bridge", "/usr/libexec/cni", "/usr/libexec/cni/absent", "/run/fifo", "/run/a/live.sock", "/run/a/dead.sock",
	"/var/run/a/live.sock", "/var/run/a/dead.sock", "/var/run/fifo", "/var/run/absent.sock", "/locked",
}

// replayOf records what do does on the node and returns the replayed host and what was recorded.
func replayOf(t *testing.T, n rooted, do func(*plugin.Host)) (*plugin.Host, string) {
	t.Helper()
	h := &plugin.Host{Files: n, Now: time.Unix(1796062056, 0), Accepts: n.accepts}
	r := Record(h)
	do(h)
	f := &File{Now: h.Now, Content: map[string][]byte{}}
	r.Add(f)
	text := string(f.Format())
	f, err := Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	out, err := f.Host()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out, text
}

// A capture must give the verdicts that the node gave, so every look has to end as it did on the node.
func TestRecorderOneLook(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, l := range looks(recordedPaths) {
		if strings.Contains(l.path, "loop") && (l.op == "list" || l.op == "connect") {
			continue // no check does
		}
		t.Run(l.String(), func(t *testing.T) {
			var want string
			h, text := replayOf(t, n, func(h *plugin.Host) { want = l.do(h, l.path) })
			if got := l.do(h, l.path); got != want {
				t.Errorf("replayed as %s\nwas %s\n%s", got, want, text)
			}
		})
	}
}

// A check looks at one path in several ways: none may spoil another. It lists directories and connects to sockets only.
func TestRecorderAllLooks(t *testing.T) {
	t.Parallel()
	var sensible []look
	for _, l := range looks(recordedPaths) {
		if l.op == "connect" && path.Ext(l.path) != ".sock" || l.op == "list" && path.Ext(l.path) != ".d" && l.path != "/opt/cni/bin" {
			continue
		}
		sensible = append(sensible, l)
	}
	replaysAll(t, newNode(t), sensible)
}

func replaysAll(t *testing.T, n rooted, all []look) {
	t.Helper()
	want := map[string]string{}
	h, text := replayOf(t, n, func(h *plugin.Host) {
		for _, l := range all {
			want[l.String()] = l.do(h, l.path)
		}
	})
	for _, l := range all {
		if got := l.do(h, l.path); got != want[l.String()] {
			t.Errorf("%s: replayed as %s, was %s", l, got, want[l.String()])
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// The recorder passes on what it is told, and what it was not asked does not exist in the capture.
func TestRecorderKeepsToWhatWasLookedAt(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	h, text := replayOf(t, n, func(h *plugin.Host) {
		if raw, err := h.ReadFile("/etc/cni/net.d/10-a.conf"); err != nil || string(raw) != "{}\n" {
			t.Errorf("%q, %v", raw, err)
		}
	})
	if got := names(t, h, "/etc/cni/net.d"); len(got) != 1 {
		t.Errorf("%v, only one was looked at\n%s", got, text)
	}
	if strings.Contains(text, "secret") || strings.Contains(text, "ELF") {
		t.Errorf("holds what nobody read\n%s", text)
	}
	// A file that is only listed keeps its content to itself.
	h, text = replayOf(t, n, func(h *plugin.Host) { _, _ = h.ReadDir("/srv") })
	if strings.Contains(text, "real\": true") {
		t.Errorf("holds what nobody read\n%s", text)
	}
	if got := names(t, h, "/srv"); len(got) != 1 || got[0] != "real.conf" {
		t.Errorf("listed %v", got)
	}
}

func TestRecorderReadsInPieces(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	h, _ := replayOf(t, n, func(h *plugin.Host) {
		f, err := h.Files.Open("srv/real.conf")
		if err != nil {
			t.Fatal(err)
		}
		for buf := make([]byte, 3); ; {
			if _, err := f.Read(buf); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	})
	if raw, err := h.ReadFile("/srv/real.conf"); err != nil || string(raw) != "{\"real\": true}\n" {
		t.Errorf("%q, %v", raw, err)
	}
}
