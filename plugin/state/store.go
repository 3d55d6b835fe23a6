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

// Dir is where the state lies on a node. /run is a tmpfs: it is empty after a reboot.
const Dir = "/run/sandbox-checker"

// FileName is the file in it.
const FileName = "state.json"

// maxFile bounds what is read; a file within the other bounds is well below it.
const maxFile = 8 << 20

// lockWait is how long another run may hold the lock. It never holds it for longer than a read and a write.
const lockWait = 300 * time.Millisecond

// Store is a state somewhere.
type Store interface {
	// Update lets change see and alter the state, and saves it. The error says what was lost; change has run in any case.
	Update(bootID string, uptime time.Duration, change func(*State)) error
}

// Disk is a state in a directory, which is made when it is missing.
type Disk struct{ Path string }

// Update implements [Store]. Two runs at once take turns; a run that cannot have its turn sees the state and leaves it.
func (d Disk) Update(bootID string, uptime time.Duration, change func(*State)) error {
	unlock, lockErr := d.lock()
	if lockErr == nil {
		defer unlock()
	}
	raw, readErr := d.read()
	s := parse(raw, bootID, uptime)
	change(s)
	if lockErr != nil {
		return errors.Join(readErr, lockErr)
	}
	return errors.Join(readErr, d.write(s, raw))
}

func (d Disk) lock() (func(), error) {
	if err := os.MkdirAll(d.Path, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(d.Path, "lock"), os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(lockWait); ; time.Sleep(10 * time.Millisecond) {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil // the lock goes with the file
		}
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Now().After(end) {
			_ = f.Close() // nothing was written
			return nil, fmt.Errorf("%s/lock: %w", d.Path, err)
		}
	}
}

func (d Disk) read() ([]byte, error) {
	f, err := os.OpenFile(filepath.Join(d.Path, FileName), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", f.Name())
	}
	return io.ReadAll(io.LimitReader(f, maxFile))
}

// write replaces the file: a reader sees the old one or the new one, also after a crash. The lock is held, so one name for
// the new file is enough, and a run that was killed leaves no more than that.
// A file that says the same already is left as it is.
func (d Disk) write(s *State, was []byte) (err error) {
	raw, err := s.format()
	if err != nil || bytes.Equal(raw, was) {
		return err
	}
	tmp := filepath.Join(d.Path, FileName+".new")
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(raw)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return os.Rename(tmp, filepath.Join(d.Path, FileName))
}

// Memory is a state that goes with the process: a capture's, or none at all.
type Memory struct{ Raw []byte }

// Update implements [Store].
func (m *Memory) Update(bootID string, uptime time.Duration, change func(*State)) error {
	s := parse(m.Raw, bootID, uptime)
	change(s)
	raw, err := s.format()
	if err == nil {
		m.Raw = raw
	}
	return err
}
