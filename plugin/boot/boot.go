// Package boot reads when the node booted and for how long it has been up.
//
// The files it reads, as the kernel prints them:
//
//	/proc/uptime
//	3590.12 7100.00
//
//	/proc/stat (only this line)
//	btime 1796060640
//
//	/proc/sys/kernel/random/boot_id
//	67b62943-19cb-4b11-a3cf-0ca57de94046
//
// Sources: proc_uptime(5), proc_stat(5), Documentation/admin-guide/sysctl/kernel.rst.
package boot

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"
)

// The node's own paths, named as [fs.FS] names them.
const (
	UptimePath = "proc/uptime"
	StatPath   = "proc/stat"
	IDPath     = "proc/sys/kernel/random/boot_id"
)

// Clock is one reading of the boot clock. Durations since the boot come from Uptime alone: the wall clock may have been
// set since.
type Clock struct {
	// Now is the wall clock of the reading.
	Now time.Time
	// Uptime is the time since the boot, suspend included, with hundredths of a second.
	Uptime time.Duration
	// Booted is the boot on today's wall clock, the earlier of now - uptime and btime: a time before it is surely of
	// another boot. btime has whole seconds only.
	Booted time.Time
	// ID is the kernel's random name of this boot, "" when it cannot be read.
	ID string
}

// Read reads the boot clock of the node whose root is fsys. now is the wall clock. It fails when the uptime cannot be
// read; a missing btime or boot id is not needed for any verdict.
func Read(fsys fs.FS, now time.Time) (Clock, error) {
	raw, err := fs.ReadFile(fsys, UptimePath)
	if err != nil {
		if pe, ok := errors.AsType[*fs.PathError](err); ok {
			err = pe.Err
		}
		return Clock{}, fmt.Errorf("/%s: %w", UptimePath, err)
	}
	up, err := parseUptime(raw)
	if err != nil {
		return Clock{}, fmt.Errorf("/%s: %w", UptimePath, err)
	}
	c := Clock{Now: now, Uptime: up, Booted: now.Add(-up)}
	if raw, err := fs.ReadFile(fsys, StatPath); err == nil {
		if bt, err := parseBtime(raw); err == nil && bt.Before(c.Booted) {
			c.Booted = bt
		}
	}
	if raw, err := fs.ReadFile(fsys, IDPath); err == nil {
		c.ID = strings.TrimSpace(string(raw))
	}
	return c, nil
}

func parseUptime(raw []byte) (time.Duration, error) {
	fields := strings.Fields(string(raw))
	if len(fields) == 0 {
		return 0, errors.New("empty")
	}
	s, err := strconv.ParseFloat(fields[0], 64)
	// A century of uptime is a damaged file, and more would overflow a Duration.
	if err != nil || !(s >= 0 && s < 100*365*24*3600) {
		return 0, fmt.Errorf("no uptime in %q", fields[0])
	}
	return time.Duration(s * float64(time.Second)), nil
}

func parseBtime(raw []byte) (time.Time, error) {
	sc := bufio.NewScanner(bytes.NewReader(raw))
	sc.Buffer(nil, 1<<20) // the intr line grows with the number of interrupts
	for sc.Scan() {
		v, ok := strings.CutPrefix(sc.Text(), "btime ")
		if !ok {
			continue
		}
		s, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
		if err != nil || s <= 0 {
			return time.Time{}, fmt.Errorf("btime: no time in %q", v)
		}
		return time.Unix(s, 0), nil
	}
	if err := sc.Err(); err != nil {
		return time.Time{}, fmt.Errorf("btime: %w", err)
	}
	return time.Time{}, errors.New("btime: no such line")
}
