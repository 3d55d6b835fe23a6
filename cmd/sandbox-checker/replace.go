package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// How long a write may take: on any file system that works, and after a signal that would end the process.
const (
	writeWithin = time.Minute
	endWithin   = 2 * time.Second
)

// writeAtomically writes beside path and renames: whoever reads path sees the old file or the whole new one.
func writeAtomically(path string, mode os.FileMode, write func(io.Writer) error) error {
	return inTime(path, writeWithin, endWithin, func(stopped func() error) error { return replace(path, mode, write, stopped) })
}

// inTime lets do come to its end. A signal that would end the process waits for it, so that nothing half-written is left, but
// neither it nor the process waits for a file system that hangs: do is then left behind, and main exits.
func inTime(path string, whole, afterSignal time.Duration, do func(stopped func() error) error) error {
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer signal.Stop(end)
	var by atomic.Value
	stopped := func() error {
		if sig := by.Load(); sig != nil {
			return fmt.Errorf("%s: %v", path, sig)
		}
		return nil
	}
	done := make(chan error, 1)
	go func() { done <- do(stopped) }()
	late := time.After(whole)
	for {
		select {
		case err := <-done:
			return err
		case sig := <-end:
			if stopped() == nil {
				by.Store(sig.String())
				late = time.After(afterSignal)
			}
		case <-late:
			if err := stopped(); err != nil {
				return fmt.Errorf("%w, and the file system hung for %s", err, afterSignal)
			}
			return fmt.Errorf("%s: the file system hung for %s", path, whole)
		}
	}
}

// beside is how the files are named that are being written; digits follow.
const beside = ".sandbox-checker-"

// replace is what inTime guards. stopped is asked before the new file gets its name.
func replace(path string, mode os.FileMode, write func(io.Writer) error, stopped func() error) (err error) {
	dir := filepath.Dir(path)
	f, lock, err := createLocked(dir)
	if err != nil {
		return err
	}
	if lock != nil {
		defer func() { _ = lock.Close() }() // it was only there to be locked
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	removeLeftovers(dir, f.Name())
	if err := write(f); err != nil {
		return err
	}
	if err := f.Chmod(mode); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := stopped(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// createLocked makes the new file, and holds a lock on it that says it is no leftover. The lock has a descriptor of its own: a
// program that is open for writing cannot be run, and the lock has to last until the file has its name.
func createLocked(dir string) (f, lock *os.File, err error) {
	for range 10 {
		if f, err = os.CreateTemp(dir, beside+"*"); err != nil {
			return nil, nil, err
		}
		if lock, err = lockFile(f.Name()); err == nil {
			return f, lock, nil
		}
		if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOLCK) {
			return f, nil, nil // no locks here, and so no leftovers are taken away either
		}
		// Another run took it for a leftover, in the moment before it was locked.
		_ = f.Close()
		_ = os.Remove(f.Name())
	}
	return nil, nil, err
}

var errTaken = errors.New("another run has taken it away")

// lockFile locks the regular file at path. It never waits, and follows no link.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
		err = unix.Fstat(int(f.Fd()), &st)
	}
	if err == nil && (st.Nlink == 0 || st.Mode&unix.S_IFMT != unix.S_IFREG) {
		err = errTaken
	}
	if err != nil {
		_ = f.Close() // nothing was read
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

func ownedByUs(st fs.FileInfo) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(sys.Uid) == os.Geteuid()
}

// removeLeftovers takes away what runs that were killed have left in dir: files with such a name that nobody has locked.
// What cannot be taken away stays; it does no harm but to the disk.
func removeLeftovers(dir, own string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		digits, is := strings.CutPrefix(e.Name(), beside)
		if !is || digits == "" || strings.Trim(digits, "0123456789") != "" || path == own || e.Type() != fs.FileMode(0) {
			continue
		}
		if lock, err := lockFile(path); err == nil {
			// A file system may give all its files to one owner, so only here it counts whose they are.
			if st, err := lock.Stat(); err == nil && ownedByUs(st) {
				_ = os.Remove(path)
			}
			_ = lock.Close()
		}
	}
}
