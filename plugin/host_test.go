package plugin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sandbox-checker/plugin/cri"
)

// dirHost is a host whose root is a directory. A link with an absolute target leads out of it, so there is none here.
func dirHost(t *testing.T) (*Host, string) {
	t.Helper()
	dir := t.TempDir()
	files, ok := os.DirFS(dir).(Files)
	if !ok {
		t.Fatal("os.DirFS is no Files")
	}
	return &Host{Files: files, Now: time.Unix(1796062056, 0)}, dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	h, dir := dirHost(t)
	write(t, filepath.Join(dir, "etc/cni/net.d/10-x.conf"), "{}\n")
	write(t, filepath.Join(dir, "limit"), strings.Repeat("x", maxFile))
	write(t, filepath.Join(dir, "huge"), strings.Repeat("x", maxFile+1))
	for link, target := range map[string]string{"good": "etc/cni/net.d/10-x.conf", "dangling": "nowhere", "loop": "loop", "to-fifo": "fifo"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "sock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })

	for path, size := range map[string]int{"/etc/cni/net.d/10-x.conf": 3, "/good": 3, "/limit": maxFile, "//etc/./cni/../cni/net.d/10-x.conf": 3} {
		raw, err := h.ReadFile(path)
		if err != nil || len(raw) != size {
			t.Errorf("%s: %d bytes, %v; want %d bytes", path, len(raw), err, size)
		}
	}
	// A FIFO without a writer would block for ever: the test ends only if it is not opened.
	for path, want := range map[string]string{
		"/fifo":     "/fifo: not a regular file",
		"/to-fifo":  "/to-fifo: not a regular file",
		"/sock":     "/sock: not a regular file",
		"/etc/cni":  "/etc/cni: not a regular file",
		"/":         "/: not a regular file",
		"/huge":     "/huge: larger than 1 MiB",
		"/absent":   "/absent: no such file or directory",
		"/dangling": "/dangling: no such file or directory",
		"/loop":     "/loop: too many levels of symbolic links",
	} {
		if _, err := h.ReadFile(path); err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", path, err, want)
		}
	}
	if _, err := h.ReadFile("/absent"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("callers cannot tell that it is absent: %v", err)
	}
}

func TestStatAndReadDir(t *testing.T) {
	t.Parallel()
	h, dir := dirHost(t)
	for _, n := range []string{"b.conf", "B.conf", ".a.conf", "a-b.conf", "a.conf"} {
		write(t, filepath.Join(dir, "net.d", n), "")
	}
	entries, err := h.ReadDir("/net.d/")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	// Bytewise, as the runtimes sort: the first one counts.
	if want := []string{".a.conf", "B.conf", "a-b.conf", "a.conf", "b.conf"}; !slices.Equal(names, want) {
		t.Errorf("listed %v, want %v", names, want)
	}
	if st, err := h.Stat("/net.d"); err != nil || !st.IsDir() {
		t.Errorf("/net.d: %v, %v", st, err)
	}
	for _, err := range []error{second(h.Stat("/x/y")), second(h.ReadDir("/x/y"))} {
		if err == nil || err.Error() != "/x/y: no such file or directory" || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("error %v", err)
		}
	}
	if _, err := h.ReadDir("/net.d/a.conf"); err == nil || !strings.HasPrefix(err.Error(), "/net.d/a.conf: ") {
		t.Errorf("listing a file: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestName(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/etc/cni/net.d":        "etc/cni/net.d",
		"/etc/cni/net.d/":       "etc/cni/net.d",
		"//etc///cni":           "etc/cni",
		"/etc/./cni/.":          "etc/cni",
		"/etc/x/../cni":         "etc/cni",
		"/etc/x/y/../../cni":    "etc/cni",
		"/../../etc":            "etc",
		"/etc/..":               ".",
		"/":                     ".",
		"":                      ".",
		"/etc/..data/conf":      "etc/..data/conf",
		"/etc/...":              "etc/...",
		"relative/as/from/root": "relative/as/from/root",
	} {
		got := name(path)
		if got != want || !fs.ValidPath(got) {
			t.Errorf("name(%q) = %q, want %q", path, got, want)
		}
	}
}

func FuzzName(f *testing.F) {
	f.Add("/etc/cni/net.d/../../x")
	f.Add("/..//./...")
	f.Fuzz(func(t *testing.T, path string) {
		// Paths come from CNI files; whatever they hold, the name must stay below the root. ValidPath also asks for
		// UTF-8, which a file's name need not have.
		if got := name(path); !fs.ValidPath(strings.ToValidUTF8(got, "?")) {
			t.Errorf("name(%q) = %q", path, got)
		}
	})
}

func TestCRI(t *testing.T) {
	t.Parallel()
	why := errors.New("/run/x.sock: connection refused")
	if _, err := (&Host{RuntimeErr: why}).CRI(); !errors.Is(err, why) {
		t.Errorf("error %v, want %v", err, why)
	}
	if _, err := (&Host{}).CRI(); err == nil {
		t.Error("no runtime and no error")
	}
	rt, err := cri.Replay(cri.Records{Socket: "/run/x.sock"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := (&Host{Runtime: rt}).CRI()
	if err != nil || got.Socket() != "/run/x.sock" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := got.Sandboxes(context.Background()); err == nil {
		t.Error("an unrecorded list looks empty")
	}
}

func TestBareError(t *testing.T) {
	t.Parallel()
	refused := &net.OpError{Op: "dial", Net: "unix", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	for want, err := range map[string]error{
		"connection refused":        refused,
		"no such file or directory": fmt.Errorf("x: %w", &fs.PathError{Op: "open", Path: "/x", Err: syscall.ENOENT}),
		"as it is":                  errors.New("as it is"),
	} {
		if got := BareError(err); got.Error() != want {
			t.Errorf("BareError(%v) = %q, want %q", err, got, want)
		}
	}
	if !errors.Is(BareError(refused), syscall.ECONNREFUSED) {
		t.Error("callers cannot tell the cause")
	}
}

func TestSubject(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]Finding{
		"default/web":    {Pod: Pod{"default", "web", "1"}, Object: "/sys/fs/cgroup/x"},
		"web":            {Pod: Pod{Name: "web"}},
		"pod 1":          {Pod: Pod{Namespace: "default", UID: "1"}},
		"/etc/cni/net.d": {Object: "/etc/cni/net.d"},
	} {
		if got := f.Subject(); got != want {
			t.Errorf("%+v: subject %q, want %q", f, got, want)
		}
	}
}

func TestBoot(t *testing.T) {
	t.Parallel()
	h, dir := dirHost(t)
	if _, err := h.Boot(); err == nil {
		t.Error("no /proc/uptime and no error")
	}
	write(t, filepath.Join(dir, "proc/uptime"), "13.79 10.07\n")
	c, err := h.Boot()
	if err != nil || !c.Now.Equal(h.Now) || c.Uptime != 13790*time.Millisecond {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestBootOfALiveHost: the look began a while ago, and a runtime has kept it waiting. The boot is not later for that.
func TestBootOfALiveHost(t *testing.T) {
	t.Parallel()
	h, dir := dirHost(t)
	write(t, filepath.Join(dir, "proc/uptime"), "3600.00 10.07\n")
	h.Now, h.Live = time.Now().Add(-10*time.Second), true
	c, err := h.Boot()
	if want := time.Now().Add(-time.Hour); err != nil || c.Booted.Sub(want).Abs() > 5*time.Second {
		t.Errorf("booted %s, want about %s (%v)", c.Booted, want, err)
	}
}
