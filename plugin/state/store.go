package state

import (
	"errors"
	"fmt"
	"time"
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

// Update implements [Store]. Two runs at once take turns; a run that cannot have its turn sees the state and leaves it. A file
// system that hangs costs hangTime at most.
func (d Disk) Update(bootID string, uptime time.Duration, change func(*State)) error {
	h, err := inTime(d.Path, func() (held, error) { return hold(d.Path) })
	s := parse(h.raw, bootID, uptime)
	change(s)
	if err != nil {
		return err
	}
	_, err = inTime(d.Path, func() (struct{}, error) {
		defer h.release()
		if !s.changed {
			return struct{}{}, nil
		}
		raw, err := s.format()
		if err != nil {
			return struct{}{}, err
		}
		return struct{}{}, h.dir.write(raw, h.raw)
	})
	return errors.Join(h.lost, err)
}

// held is a state directory whose turn is ours.
type held struct {
	dir     dir
	raw     []byte
	lost    error // why raw could not be read
	release func()
}

// hold takes the lock and reads the state. What it has read is there also when it has an error.
func hold(path string) (held, error) {
	d, err := openDir(path)
	if err != nil {
		return held{}, err
	}
	unlock, lockErr := d.lock()
	raw, readErr := d.read()
	if lockErr != nil {
		_ = d.Close() // read only
		return held{raw: raw}, errors.Join(readErr, lockErr)
	}
	return held{d, raw, readErr, func() { unlock(); _ = d.Close() }}, nil
}

// hangTime is far above what a file system in memory takes, with lockWait in it.
const hangTime = time.Second

var errHung = fmt.Errorf("hung for %s", hangTime)

// inTime leaves do behind when it takes too long: the process ends soon.
func inTime[T any](path string, do func() (T, error)) (T, error) {
	type answer struct {
		val T
		err error
	}
	done := make(chan answer, 1)
	go func() {
		val, err := do()
		done <- answer{val, err}
	}()
	select {
	case a := <-done:
		return a.val, a.err
	case <-time.After(hangTime):
		var none T
		return none, fmt.Errorf("%s: %w", path, errHung)
	}
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
