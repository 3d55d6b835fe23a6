package state

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// dir is the open state directory. All its files are reached through it and no link is followed, so whoever puts another thing
// at its path meanwhile gains nothing. What root writes must not land where another user wants it.
type dir struct{ *os.File }

// openDir makes the directory where it is missing. It must be ours, and is closed to others: a volume may have made it open to all.
func openDir(path string) (dir, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return dir{}, err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return dir{}, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return dir{}, err
	}
	if err := closeToOthers(f); err != nil {
		_ = f.Close() // read only
		return dir{}, err
	}
	return dir{f}, nil
}

func closeToOthers(f *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	if int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s: belongs to user %d, not to %d", f.Name(), st.Uid, os.Geteuid())
	}
	if st.Mode&0o022 != 0 {
		return f.Chmod(0o700)
	}
	return nil
}

// open opens a file of the directory, never waits for a FIFO, and names the whole path in its errors.
func (d dir) open(name string, flags int) (*os.File, error) {
	path := filepath.Join(d.Name(), name)
	fd, err := unix.Openat(int(d.Fd()), name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

func (d dir) lock() (func(), error) {
	f, err := d.open("lock", unix.O_CREAT|unix.O_RDWR)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(lockWait); ; time.Sleep(10 * time.Millisecond) {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil // the lock goes with the file
		}
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Now().After(end) {
			name := f.Name()
			_ = f.Close() // nothing was written
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
}

func (d dir) read() ([]byte, error) {
	f, err := d.open(FileName, unix.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only
	var st unix.Stat_t
	switch err := unix.Fstat(int(f.Fd()), &st); {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return nil, fmt.Errorf("%s: not a regular file", f.Name())
	case int(st.Uid) != os.Geteuid():
		return nil, fmt.Errorf("%s: belongs to user %d, not to %d", f.Name(), st.Uid, os.Geteuid())
	}
	return io.ReadAll(io.LimitReader(f, maxFile))
}

// write replaces the file: a reader sees the old one or the new one, also after a crash. The lock is held, so one name for
// the new file is enough, and a run that was killed leaves no more than that. Whatever has that name is taken away first:
// a link, also a hard one, would lead the writing elsewhere. A file that says the same already is left as it is.
func (d dir) write(raw, was []byte) error {
	if bytes.Equal(raw, was) {
		return nil
	}
	const tmp = FileName + ".new"
	if err := unix.Unlinkat(int(d.Fd()), tmp, 0); err != nil && !errors.Is(err, os.ErrNotExist) {
		return &os.PathError{Op: "remove", Path: filepath.Join(d.Name(), tmp), Err: err}
	}
	f, err := d.open(tmp, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY)
	if err != nil {
		return err
	}
	_, err = f.Write(raw)
	if err = errors.Join(err, f.Close()); err == nil {
		err = unix.Renameat(int(d.Fd()), tmp, int(d.Fd()), FileName)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", filepath.Join(d.Name(), FileName), err), unix.Unlinkat(int(d.Fd()), tmp, 0))
	}
	return nil
}
