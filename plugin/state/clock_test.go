package state

import (
	"testing"
	"time"
)

// TestClock: only a step counts. What btime's whole seconds and a slewed clock do between two looks does not.
func TestClock(t *testing.T) {
	t.Parallel()
	booted := time.Unix(1796060640, 0)
	m := &Memory{}
	for i, look := range []struct{ by, want time.Duration }{
		{0, 0},
		{time.Second, 0},
		{-3 * time.Second, 0},
		{time.Hour, 4 * time.Minute},
		{time.Hour + time.Second, 4 * time.Minute},
		{0, 6 * time.Minute},
		{0, 6 * time.Minute},
	} {
		up := time.Duration(i+1) * time.Minute
		var got time.Duration
		if err := m.Update(boot, up, func(s *State) { got = s.Clock(booted.Add(look.by)) }); err != nil {
			t.Fatal(err)
		}
		if got != look.want {
			t.Errorf("look %d, clock off by %s: believed since %s, want %s", i, look.by, got, look.want)
		}
	}
	// Another boot has its own clock.
	if err := m.Update("another", time.Minute, func(s *State) {
		if got := s.Clock(booted.Add(24 * time.Hour)); got != 0 {
			t.Errorf("the first look of a boot is a step: %s", got)
		}
	}); err != nil {
		t.Fatal(err)
	}
}

// TestWait: what was known at the first sight stays, whatever a later look thinks.
func TestWait(t *testing.T) {
	t.Parallel()
	m := &Memory{}
	look := func(up time.Duration, since map[string]time.Duration) map[string]float64 {
		var got map[string]float64
		if err := m.Update(boot, up, func(s *State) { s.Wait(since); got = s.Waiting }); err != nil {
			t.Fatal(err)
		}
		return got
	}
	look(100*time.Second, map[string]time.Duration{"a": 90 * time.Second, "b": 0})
	if got := look(160*time.Second, map[string]time.Duration{"a": 0, "c": time.Hour}); len(got) != 2 || got["a"] != 90 || got["c"] != 160 {
		t.Errorf("waiting %v, want a since 90 and c since 160", got)
	}
	if got := look(220*time.Second, nil); len(got) != 0 {
		t.Errorf("waiting %v, want none", got)
	}
}
