package faults

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (n *Node) mkfifo(t testing.TB, p string) { t.Helper(); must(t, unix.Mkfifo(n.path(p), 0o600)) }

func (n *Node) link(t testing.TB, target, p string) {
	t.Helper()
	n.mkdir(t, filepath.Dir(p))
	must(t, os.Symlink(target, n.path(p)))
}

func (n *Node) remove(t testing.TB, p string) { t.Helper(); must(t, os.RemoveAll(n.path(p))) }

func (n *Node) chmod(t testing.TB, p string, m os.FileMode) {
	t.Helper()
	must(t, os.Chmod(n.path(p), m))
}

func (n *Node) truncate(t testing.TB, p string, size int64) {
	t.Helper()
	n.write(t, p, "")
	must(t, os.Truncate(n.path(p), size))
}

// socket leaves one on which nobody listens.
func (n *Node) socket(t testing.TB, p string) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	must(t, err)
	must(t, unix.Bind(fd, &unix.SockaddrUnix{Name: n.path(p)}))
	must(t, unix.Close(fd))
}

// zero puts /dev/zero on the node. Without the right to make a device it is a socket, which must not be read either.
func (n *Node) zero(t testing.TB) {
	t.Helper()
	if unix.Mknod(n.path("dev/zero"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5))) != nil {
		l, err := net.Listen("unix", n.path("dev/zero"))
		must(t, err)
		t.Cleanup(func() { _ = l.Close() })
	}
}

// hold keeps a lock until the test ends.
func (n *Node) hold(t testing.TB, p string) {
	t.Helper()
	n.write(t, p, "")
	f, err := os.OpenFile(n.path(p), os.O_RDWR, 0)
	must(t, err)
	t.Cleanup(func() { _ = f.Close() })
	must(t, unix.Flock(int(f.Fd()), unix.LOCK_EX))
}

// touchAll sets the times of everything but what links.
func (n *Node) touchAll(t testing.TB, at time.Time) {
	t.Helper()
	must(t, filepath.WalkDir(n.Root, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.Type()&os.ModeSymlink != 0 {
			return nil // it came and went
		}
		if err := os.Chtimes(p, at, at); !os.IsNotExist(err) {
			return err
		}
		return nil
	}))
}
