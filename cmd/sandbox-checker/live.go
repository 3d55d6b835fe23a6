package main

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/capture"
	"sandbox-checker/plugin/cri"
	"sandbox-checker/plugin/kmsg"
	"sandbox-checker/plugin/state"
)

// step is what the program is doing, for the line that has to say what hung.
type step struct{ what atomic.Pointer[string] }

func (s *step) set(what string) { s.what.Store(&what) }

func (s *step) get() string {
	if p := s.what.Load(); p != nil {
		return *p
	}
	return "start"
}

// liveHost is this node. The runtime is found and connected to, but nothing is asked yet.
func liveHost(ctx context.Context, s *settings, at *step) *plugin.Host {
	doing := func(what string) {
		at.set(what)
		s.log.Debug(what)
	}
	accepts := func(path string) error { return connect(ctx, path, doing) }
	h := &plugin.Host{Files: liveFiles{doing}, Now: time.Now(), Live: true, Accepts: accepts, KernelClock: kernelClock(),
		State: state.Disk{Path: s.stateDir}, Log: func(what string) { s.log.Info(what) },
		KernelLog: func(ctx context.Context) ([]byte, error) {
			doing("reading " + kmsg.DevicePath)
			return kmsg.ReadRing(ctx, kmsg.DevicePath)
		}}
	if s.elsewhere != nil {
		s.elsewhere(h)
	}
	client, err := dialRuntime(h, s, doing)
	if err != nil {
		h.RuntimeErr = err
		return h
	}
	s.log.Info("runtime", "socket", client.Socket())
	h.Runtime = client
	return h
}

// kernelClock is the clock of the kernel log: it stands still while the node is suspended, and the uptime does not.
func kernelClock() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

func dialRuntime(h *plugin.Host, s *settings, doing func(string)) (*cri.Client, error) {
	var path string
	var err error
	if s.endpoint != "" {
		path, err = cri.SocketPath(s.endpoint)
	} else {
		path, err = cri.FindSocket(h.Files, h.Accepts)
	}
	if err != nil {
		return nil, err
	}
	return cri.Dial(path, doing)
}

// host is this node, or the capture of --node.
func host(ctx context.Context, s *settings, at *step) (*plugin.Host, error) {
	if s.node == "" {
		return liveHost(ctx, s, at), nil
	}
	at.set("reading " + s.node)
	_, h, err := replayed(s.node)
	return h, err
}

// replayed reads a capture and the host in it.
func replayed(path string) (*capture.File, *plugin.Host, error) {
	f, err := readCapture(path)
	if err != nil {
		return nil, nil, err
	}
	h, err := f.Host()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, h, nil
}

func connect(ctx context.Context, path string, doing func(string)) error {
	doing("connecting to " + path)
	d := net.Dialer{Timeout: time.Second}
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return plugin.BareError(err)
	}
	return conn.Close()
}

// liveFiles is the node's root. Each call tells where it is before it may hang.
type liveFiles struct{ doing func(string) }

func (l liveFiles) at(op, name string) string {
	path := "/" + name
	if name == "." {
		path = "/"
	}
	l.doing(op + " " + path)
	return path
}

// Open never waits for a writer at the other end of a FIFO.
func (l liveFiles) Open(name string) (fs.File, error) {
	return os.OpenFile(l.at("reading", name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

func (l liveFiles) Stat(name string) (fs.FileInfo, error) {
	path := l.at("looking at", name)
	st, err := os.Stat(path)
	return withBirth(st, path, 0), err
}

func (l liveFiles) Lstat(name string) (fs.FileInfo, error) {
	path := l.at("looking at", name)
	st, err := os.Lstat(path)
	return withBirth(st, path, unix.AT_SYMLINK_NOFOLLOW), err
}

// A bornDir is a directory of which the file system tells when it was made.
type bornDir struct {
	fs.FileInfo
	born time.Time
}

// Born is what [plugin.Born] asks for.
func (b bornDir) Born() time.Time { return b.born }

// withBirth adds to a directory when it was made. Nobody asks that of a file.
func withBirth(st fs.FileInfo, path string, flags int) fs.FileInfo {
	if st == nil || !st.IsDir() {
		return st
	}
	var s unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, flags, unix.STATX_BTIME, &s); err != nil || s.Mask&unix.STATX_BTIME == 0 {
		return st
	}
	return bornDir{st, time.Unix(s.Btime.Sec, int64(s.Btime.Nsec))}
}

func (l liveFiles) ReadLink(name string) (string, error) {
	return os.Readlink(l.at("looking at", name))
}
func (l liveFiles) ReadDir(name string) ([]fs.DirEntry, error) {
	return os.ReadDir(l.at("listing", name))
}

// maxCapture bounds a capture: 10,000 containers and a full kernel log are some 20 MiB.
const maxCapture = 64 << 20

// readCapture reads and parses a capture file. Anything but a regular file could go on for ever.
func readCapture(path string) (*capture.File, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, plugin.BareError(err))
	}
	if !st.Mode().IsRegular() || st.Size() > maxCapture {
		return nil, fmt.Errorf("%s: no regular file of at most %d MiB", path, maxCapture>>20)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, plugin.BareError(err))
	}
	f, err := capture.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}
