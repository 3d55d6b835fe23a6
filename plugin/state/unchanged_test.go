package state

import (
	"os"
	"path/filepath"
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
