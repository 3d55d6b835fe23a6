package state

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSameStateIsNotWritten: a look that saw nothing new leaves the file as it is, also where the boot's time moves a little.
func TestSameStateIsNotWritten(t *testing.T) {
	t.Parallel()
	d := Disk{Path: filepath.Join(t.TempDir(), "state")}
	booted := time.Unix(1_796_000_000, 0)
	look := func(id string, later time.Duration) os.FileInfo {
		t.Helper()
		err := d.Update(boot, time.Hour+later, func(s *State) {
			s.Clock(booted.Add(later / 1000))
			s.Start(10 * time.Second)
			s.See(uid(1), id, 0, time.Minute)
		})
		if err != nil {
			t.Fatal(err)
		}
		st, err := os.Stat(filepath.Join(d.Path, FileName))
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	first, same, other := look("a", 0), look("a", time.Minute), look("b", 2*time.Minute)
	if !os.SameFile(first, same) || os.SameFile(same, other) {
		t.Errorf("same look: written %v; new sandbox: written %v", !os.SameFile(first, same), !os.SameFile(same, other))
	}
	if err := d.Update(boot, time.Hour+3*time.Minute, func(s *State) {
		if len(s.Seen[uid(1)]) != 2 {
			t.Errorf("%+v", s.Seen)
		}
		// Slow slewing adds up and is no step; a step is.
		for i := range 40 {
			if s.Clock(booted.Add(time.Duration(i)*700*time.Millisecond)) != 0 {
				t.Errorf("a step after %d", i)
			}
		}
		if s.Clock(booted.Add(time.Hour)) == 0 {
			t.Error("no step")
		}
	}); err != nil {
		t.Fatal(err)
	}
}

// TestEveryChangeIsWritten: whatever a look may change gets into the file.
func TestEveryChangeIsWritten(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*State){
		"a sandbox":                func(s *State) { s.See(uid(1), "b", 1, 0) },
		"a pod":                    func(s *State) { s.See(uid(3), "a", 0, 0) },
		"a start":                  func(s *State) { s.Start(time.Minute) },
		"a clock that was set":     func(s *State) { s.Clock(time.Unix(1_800_000_000, 0)) },
		"a pod that waits":         func(s *State) { s.Wait(map[string]time.Duration{uid(1): time.Minute, uid(2): time.Minute}) },
		"a pod that waits instead": func(s *State) { s.Wait(map[string]time.Duration{uid(2): time.Minute}) },
		"none that waits":          func(s *State) { s.Wait(nil) },
		"a finding":                func(s *State) { s.New(told(2)) },
		"a repair":                 func(s *State) { s.Repair(time.Minute) },
	} {
		d := Disk{Path: filepath.Join(t.TempDir(), "state")}
		if err := d.Update(boot, time.Hour, func(s *State) {
			s.Clock(time.Unix(1_796_000_000, 0))
			s.Start(10 * time.Second)
			s.See(uid(1), "a", 0, time.Minute)
			s.See(uid(2), "a", 0, time.Minute)
			s.Wait(map[string]time.Duration{uid(1): time.Minute})
			s.New(told(1))
		}); err != nil {
			t.Fatal(err)
		}
		read := func() string {
			raw, err := os.ReadFile(filepath.Join(d.Path, FileName))
			if err != nil {
				t.Fatal(err)
			}
			return string(raw)
		}
		was := read()
		if err := d.Update(boot, time.Hour+time.Second, change); err != nil {
			t.Fatal(err)
		}
		if read() == was {
			t.Errorf("%s is not written", name)
		}
	}
	// What is too old goes by itself.
	d := Disk{Path: filepath.Join(t.TempDir(), "state")}
	for _, at := range []time.Duration{time.Hour, time.Hour + 3*time.Hour} {
		if err := d.Update(boot, at, func(s *State) {
			if at == time.Hour {
				s.See(uid(1), "a", 0, 0)
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	if raw, err := os.ReadFile(filepath.Join(d.Path, FileName)); err != nil || strings.Contains(string(raw), uid(1)) {
		t.Errorf("%s, %v", raw, err)
	}
}
