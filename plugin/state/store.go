package state

import (
	"errors"
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

// Update implements [Store]. Two runs at once take turns; a run that cannot have its turn sees the state and leaves it.
func (d Disk) Update(bootID string, uptime time.Duration, change func(*State)) error {
	dir, dirErr := openDir(d.Path)
	if dirErr != nil {
		change(parse(nil, bootID, uptime))
		return dirErr
	}
	defer func() { _ = dir.Close() }() // read only
	unlock, lockErr := dir.lock()
	if lockErr == nil {
		defer unlock()
	}
	raw, readErr := dir.read()
	s := parse(raw, bootID, uptime)
	change(s)
	if lockErr != nil {
		return errors.Join(readErr, lockErr)
	}
	return errors.Join(readErr, dir.write(s, raw))
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
