package state

import (
	"testing"
	"time"
)

// TestSocketIsFirstSeenOnce: what was noted at the first sight stays for the whole boot, through any number of looks, and other
// sockets beside it.
func TestSocketIsFirstSeenOnce(t *testing.T) {
	t.Parallel()
	store := &Memory{}
	made := time.Unix(1796060652, 400_000_001)
	see := func(boot string, up time.Duration, made time.Time) (first time.Duration) {
		if err := store.Update(boot, up, func(s *State) { first = s.Socket(made) }); err != nil {
			t.Fatal(err)
		}
		return first
	}
	see("a", time.Minute, made)
	for i := range maxSockets - 1 {
		at := time.Hour + time.Duration(i)*time.Hour
		if got := see("a", at, made.Add(time.Duration(i+1)*time.Nanosecond)); got != at {
			t.Errorf("another socket, first seen now at %s, is said to have been seen at %s", at, got)
		}
	}
	if got := see("a", 300*time.Hour, made); got != time.Minute {
		t.Errorf("first seen at %s, want 1m", got)
	}
	if got := see("b", 2*time.Second, made); got != 2*time.Second {
		t.Errorf("in another boot first seen at %s, want 2s", got)
	}
}

// TestSocketsAreBounded: of too many the oldest go, and what another clock wrote is not believed.
func TestSocketsAreBounded(t *testing.T) {
	t.Parallel()
	s := parse([]byte(`{"version":1,"boot_id":"a","sockets":{"1":5000,"2":-3,"3":7}}`), "a", time.Hour)
	if len(s.Sockets) != 1 || s.Sockets["3"] != 7 {
		t.Errorf("kept %v, want 3 alone", s.Sockets)
	}
	for i := range 100 {
		s.Socket(time.Unix(int64(i), 0))
	}
	if s.prune(); len(s.Sockets) != maxSockets {
		t.Errorf("%d are kept, want %d", len(s.Sockets), maxSockets)
	}
}

// TestSocketSeenAgainIsNotWritten: a run that learns nothing leaves the file as it is.
func TestSocketSeenAgainIsNotWritten(t *testing.T) {
	t.Parallel()
	s := parse([]byte(`{"version":1,"boot_id":"a","sockets":{"3000000000":7}}`), "a", time.Hour)
	if s.Socket(time.Unix(3, 0)); s.changed {
		t.Error("it is to be written")
	}
}
