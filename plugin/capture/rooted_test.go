package capture

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sandbox-checker/plugin"
)

// rooted is a node whose root is a directory: links resolve inside it, absolute ones too, as after chroot.
type rooted struct {
	dir string
	// broken are paths that cannot be opened or listed, and why. The tests may run as root, whom modes do not stop.
	broken map[string]error
	// torn are files whose reading fails after the first bytes.
	torn map[string]error
}

func (r rooted) real(op, name string, follow bool) (string, error) {
	fail := func(err error) (string, error) { return "", &fs.PathError{Op: op, Path: "/" + name, Err: err} }
	todo, at := strings.Split(name, "/"), "/"
	for links := 0; len(todo) > 0; {
		next := path.Join(at, todo[0])
		todo = todo[1:]
		st, err := os.Lstat(r.dir + next)
		if err != nil {
			return fail(plugin.BareError(err))
		}
		if st.Mode().Type() != fs.ModeSymlink || len(todo) == 0 && !follow {
			at = next
			continue
		}
		if links++; links > 40 {
			return fail(syscall.ELOOP)
		}
		target, err := os.Readlink(r.dir + next)
		if err != nil {
			return fail(err)
		}
		if path.IsAbs(target) {
			at = "/"
		}
		todo = append(strings.Split(target, "/"), todo...)
	}
	return at, nil
}

func (r rooted) Open(name string) (fs.File, error) {
	at, err := r.real("open", name, true)
	if err != nil {
		return nil, err
	}
	if err := r.broken[at]; err != nil {
		return nil, &fs.PathError{Op: "open", Path: "/" + name, Err: err}
	}
	f, err := os.OpenFile(r.dir+at, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if err := r.torn[at]; err != nil {
		return &tornFile{File: f, err: err}, nil
	}
	return f, nil
}

type tornFile struct {
	fs.File
	err error
}

func (f *tornFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p[:min(len(p), 4)])
	if errors.Is(err, io.EOF) || n == 0 {
		return 0, f.err
	}
	return n, err
}

func (r rooted) Stat(name string) (fs.FileInfo, error) {
	at, err := r.real("stat", name, true)
	if err != nil {
		return nil, err
	}
	return os.Lstat(r.dir + at)
}

func (r rooted) Lstat(name string) (fs.FileInfo, error) {
	at, err := r.real("lstat", name, false)
	if err != nil {
		return nil, err
	}
	return os.Lstat(r.dir + at)
}

func (r rooted) ReadLink(name string) (string, error) {
	at, err := r.real("readlink", name, false)
	if err != nil {
		return "", err
	}
	target, err := os.Readlink(r.dir + at)
	if errors.Is(err, syscall.EINVAL) {
		err = &fs.PathError{Op: "readlink", Path: "/" + name, Err: fs.ErrInvalid}
	}
	return target, err
}

func (r rooted) ReadDir(name string) ([]fs.DirEntry, error) {
	at, err := r.real("readdir", name, true)
	if err != nil {
		return nil, err
	}
	if err := r.broken[at]; err != nil && strings.HasPrefix(at, "/locked") {
		return nil, &fs.PathError{Op: "readdir", Path: "/" + name, Err: err}
	}
	return os.ReadDir(r.dir + at)
}

func (r rooted) accepts(p string) error {
	at, err := r.real("connect", fsName(p), true)
	if err != nil {
		return plugin.BareError(err)
	}
	conn, err := net.Dial("unix", r.dir+at)
	if err != nil {
		return plugin.BareError(err)
	}
	return conn.Close()
}

// newNode makes a node with what CNI directories hold in the wild. A line of links is "link target".
func newNode(t *testing.T) rooted {
	t.Helper()
	r := rooted{dir: t.TempDir(), broken: map[string]error{}, torn: map[string]error{}}
	for p, text := range map[string]string{
		"/srv/real.conf":              "{\"real\": true}\n",
		"/etc/cni/net.d/10-a.conf":    "{}\n",
		"/etc/cni/net.d/20-cut.conf":  "{",
		"/etc/cni/net.d/30-zero.conf": "",
		"/etc/cni/net.d/40-b.conf":    "\xef\xbb\xbf{}\r\n\x00",
		"/etc/cni/net.d/41-locked":    "secret",
		"/etc/cni/net.d/..x/map.conf": "{\"map\": 1}\n",
		"/opt/cni/bin/bridge":         "\x7fELF",
		"/locked/x":                   "",
	} {
		if err := os.MkdirAll(r.dir+path.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(r.dir+p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range [][2]string{
		{"/etc/cni/net.d/50-absolute.conf", "/srv/real.conf"},
		{"/etc/cni/net.d/51-relative.conf", "../../../srv/real.conf"},
		{"/etc/cni/net.d/52-chain.conf", "50-absolute.conf"},
		{"/etc/cni/net.d/53-dangling.conf", "/nowhere/x"},
		{"/etc/cni/net.d/54-loop.conf", "55-loop.conf"},
		{"/etc/cni/net.d/55-loop.conf", "54-loop.conf"},
		{"/etc/cni/net.d/..data", "..x"},
		{"/etc/cni/net.d/56-map.conf", "..data/map.conf"},
		{"/etc/cni/net.d/57-dir.conf", "/opt/cni"},
		{"/etc/cni/net.d/58-empty.conf", "30-zero.conf"},
		{"/var/run", "/run"},
		{"/usr/libexec/cni", "../../opt/cni/bin"},
	} {
		if err := os.MkdirAll(r.dir+path.Dir(l[0]), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(l[1], r.dir+l[0]); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(r.dir+"/opt/cni/bin/bridge", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(r.dir+"/run/a", 0o750); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(r.dir, "run/fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, alive := range map[string]bool{"/run/a/live.sock": true, "/run/a/dead.sock": false} {
		l, err := net.Listen("unix", r.dir+name)
		if err != nil {
			t.Fatal(err)
		}
		if alive {
			t.Cleanup(func() { _ = l.Close() })
			continue
		}
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		_ = l.Close()
	}
	r.broken["/etc/cni/net.d/41-locked"] = syscall.EACCES
	r.broken["/locked"] = syscall.EACCES
	return r
}
