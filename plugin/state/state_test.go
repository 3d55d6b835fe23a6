package state

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

const boot = "67b62943-19cb-4b11-a3cf-0ca57de94046"

// sandboxID is as long as a real one.
func sandboxID(pod, n int) string { return fmt.Sprintf("%08x%08x%048x", n, pod, 0) }

func uid(n int) string { return fmt.Sprintf("%08x-0000-4000-8000-%012x", n, n) }

func told(n int) string { return "sandbox-crashloop|" + uid(n) + "||" }

// withinBounds fails when s is larger than its bounds say, or holds something of another time.
func withinBounds(tb testing.TB, s *State) {
	tb.Helper()
	if len(s.Seen) > maxPods || len(s.Told) > maxTold || len(s.Starts) > maxStarts {
		tb.Errorf("%d pods, %d told, %d starts: want at most %d, %d, %d", len(s.Seen), len(s.Told), len(s.Starts), maxPods, maxTold, maxStarts)
	}
	if len(s.ThisBoot) > maxKept {
		tb.Errorf("%d kept, want at most %d", len(s.ThisBoot), maxKept)
	}
	for u, list := range s.Seen {
		if len(list) == 0 || len(list) > maxSeen {
			tb.Errorf("pod %q: %d sandboxes, want 1 to %d", u, len(list), maxSeen)
		}
		for _, x := range list {
			if x.ID == "" || !(x.At <= s.now+1 && s.now-x.At <= seenFor.Seconds()) {
				tb.Errorf("pod %q: %+v at %v", u, x, s.now)
			}
		}
	}
	for k, at := range s.Told {
		if !(at <= s.now+1 && s.now-at <= toldFor.Seconds()) {
			tb.Errorf("told %q at %v, now %v", k, at, s.now)
		}
	}
}

// encoded is the file that holds s, whatever its bounds.
func encoded(tb testing.TB, s State) []byte {
	tb.Helper()
	s.Version, s.BootID = fileVersion, boot
	raw, err := json.Marshal(s)
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

func TestBounds(t *testing.T) {
	t.Parallel()
	const up = 10 * time.Hour
	now := up.Seconds()
	manyPods := map[string][]Seen{}
	for i := range 10_000 {
		manyPods[uid(i)] = []Seen{{ID: sandboxID(i, 0), At: now - float64(i)/10}}
	}
	onePod := map[string][]Seen{uid(1): nil}
	for i := range 1000 {
		onePod[uid(1)] = append(onePod[uid(1)], Seen{ID: sandboxID(1, i), Attempt: uint32(i), At: now - 1000 + float64(i)})
	}
	manyTold := map[string]float64{}
	for i := range 100_000 {
		manyTold[told(i)] = now - float64(i)/100
	}
	var starts []float64
	for i := range 100_000 {
		starts = append(starts, now-7000+float64(i)/20)
	}
	for name, tc := range map[string]struct {
		in   State
		kept func(*State) bool
	}{
		"10,000 pods": {State{Seen: manyPods}, func(s *State) bool {
			return len(s.Seen) == maxPods && s.Seen[uid(0)] != nil && s.Seen[uid(maxPods-1)] != nil && s.Seen[uid(maxPods)] == nil
		}},
		"1,000 sandboxes of a pod": {State{Seen: onePod}, func(s *State) bool {
			l := s.Seen[uid(1)]
			return len(l) == maxSeen && l[len(l)-1].Attempt == 999 && l[0].Attempt == 1000-maxSeen
		}},
		"100,000 told": {State{Told: manyTold}, func(s *State) bool {
			_, newest := s.Told[told(0)]
			_, oldest := s.Told[told(99_999)]
			return len(s.Told) == maxTold && newest && !oldest
		}},
		"100,000 starts": {State{Starts: starts}, func(s *State) bool {
			return len(s.Starts) == maxStarts && s.Starts[maxStarts-1] == starts[len(starts)-1]
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := parse(encoded(t, tc.in), boot, up)
			withinBounds(t, s)
			if !tc.kept(s) {
				t.Error("the newest ones are not what is kept")
			}
		})
	}
}

// TestNoGrowth fills a store run after run, far beyond what a node has: the file stays within its bounds, and what it may
// hold can be read again.
func TestNoGrowth(t *testing.T) {
	t.Parallel()
	m := &Memory{}
	largest := 0
	for run := range 5 {
		up := time.Hour + time.Duration(run)*time.Minute
		err := m.Update(boot, up, func(s *State) {
			for i := range 10_000 {
				s.See(uid(i), sandboxID(i, run), uint32(run), 0)
				s.New(told(run*10_000 + i))
			}
			for i := range 1000 {
				s.See(uid(77), sandboxID(77, run*1000+i), uint32(i), 0)
			}
			s.Start(up - time.Duration(run)*3*time.Second)
		})
		if err != nil {
			t.Fatal(err)
		}
		withinBounds(t, parse(m.Raw, boot, up))
		largest = max(largest, len(m.Raw))
	}
	t.Logf("%d bytes", largest)
}

// TestLargestIsReadAgain: what is written within the bounds must come back. A file that Disk does not read whole is lost
// at each run.
func TestLargestIsReadAgain(t *testing.T) {
	t.Parallel()
	d := Disk{Path: t.TempDir()}
	const up = 3 * time.Hour
	err := d.Update(boot, up, func(s *State) {
		for p := range maxPods {
			for i := range maxSeen {
				s.See(uid(p), sandboxID(p, i), uint32(i), 0)
			}
		}
		for i := range maxTold {
			s.New(told(i))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	err = d.Update(boot, up+time.Minute, func(s *State) {
		if len(s.Seen) != maxPods || len(s.Told) != maxTold {
			t.Errorf("%d pods and %d told came back, want %d and %d", len(s.Seen), len(s.Told), maxPods, maxTold)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// TestForeign: whatever is not a file of this version and this boot is no history.
func TestForeign(t *testing.T) {
	t.Parallel()
	const up = 2 * time.Hour
	good := State{Starts: []float64{12.4}, Seen: map[string][]Seen{uid(1): {{ID: "a", At: 7000}}}, Told: map[string]float64{told(1): 7100}}
	raw := string(encoded(t, good))
	for name, text := range map[string]string{
		"empty":                   "",
		"blank":                   "\n\n",
		"cut":                     raw[:len(raw)/2],
		"cut at its end":          raw[:len(raw)-1],
		"two of them":             raw + raw,
		"zeroes":                  strings.Repeat("\x00", 4096),
		"no object":               "[]",
		"null":                    "null",
		"another version":         strings.Replace(raw, `"version":1`, `"version":2`, 1),
		"no version":              strings.Replace(raw, `"version":1,`, ``, 1),
		"another boot":            strings.Replace(raw, boot, "00000000-0000-4000-8000-000000000000", 1),
		"a wrong type at its end": strings.Replace(raw, `7100`, `"7100"`, 1),
		"a negative attempt":      strings.Replace(raw, `"attempt":0`, `"attempt":-1`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := parse([]byte(text), boot, up)
			if len(s.Seen)+len(s.Told)+len(s.Starts) != 0 || s.Version != fileVersion || s.BootID != boot {
				t.Errorf("%+v", s)
			}
			s.See(uid(2), "b", 0, 0) // and it can be used
			if !s.New(told(2)) || len(s.Seen) != 1 {
				t.Errorf("not usable: %+v", s)
			}
		})
	}
	if s := parse([]byte(raw), boot, up); len(s.Seen) != 1 || len(s.Told) != 1 {
		t.Errorf("the good one: %+v", s)
	}
	if s := parse([]byte(raw), "", up); len(s.Seen)+len(s.Told) != 0 {
		t.Errorf("without a boot id: %+v", s)
	}
}

// TestFromTheFuture: times that this boot has not reached, and times too long ago, are dropped.
func TestFromTheFuture(t *testing.T) {
	t.Parallel()
	const up = 3 * time.Hour
	now := up.Seconds()
	s := parse(encoded(t, State{
		Starts: []float64{now - 7300, now - 7000, now + 60, 1e300, -1e300},
		Seen: map[string][]Seen{
			uid(1): {{ID: "old", At: now - 7300}, {ID: "in", At: now - 7000}, {ID: "", At: now}, {ID: "ahead", At: now + 60}},
			uid(2): {{ID: "ahead", At: 1e300}},
			uid(3): {},
		},
		Told: map[string]float64{"old": now - 3700, "in": now - 3500, "ahead": now + 60, "far": 1e300},
	}), boot, up)
	withinBounds(t, s)
	if len(s.Starts) != 1 || len(s.Seen) != 1 || len(s.Seen[uid(1)]) != 1 || s.Seen[uid(1)][0].ID != "in" || len(s.Told) != 1 {
		t.Errorf("%+v", s)
	}
	if s.New("in") || !s.New("ahead") || !s.New("old") {
		t.Error("told within the hour must stay told, ahead of the clock and long ago must not")
	}
}

func TestSeeKeepsFirstSight(t *testing.T) {
	t.Parallel()
	m := &Memory{}
	for i := range 4 {
		err := m.Update(boot, time.Duration(i+1)*time.Minute, func(s *State) {
			for a := i; a >= 0; a-- { // listed newest first
				s.See(uid(1), sandboxID(1, a), uint32(a), 0)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	s := parse(m.Raw, boot, 5*time.Minute)
	var at []float64
	for _, x := range s.Seen[uid(1)] {
		at = append(at, x.At)
	}
	if !slices.Equal(at, []float64{60, 120, 180, 240}) {
		t.Errorf("first sights %v", at)
	}
}

// TestStart: one start is seen at each run, a little apart where the wall clock is slewed.
func TestStart(t *testing.T) {
	t.Parallel()
	m := &Memory{}
	for i, at := range []time.Duration{12400, 12900, 11900, 12400, 600000} {
		if err := m.Update(boot, 30*time.Minute+time.Duration(i)*time.Minute, func(s *State) { s.Start(at * time.Millisecond) }); err != nil {
			t.Fatal(err)
		}
	}
	if s := parse(m.Raw, boot, time.Hour); !slices.Equal(s.Starts, []float64{12.4, 600}) {
		t.Errorf("starts %v", s.Starts)
	}
}

func TestNewOncePerHour(t *testing.T) {
	t.Parallel()
	m := &Memory{}
	at := func(up time.Duration) (isNew bool) {
		if err := m.Update(boot, up, func(s *State) { isNew = s.New("k") }); err != nil {
			t.Fatal(err)
		}
		return isNew
	}
	for _, tc := range []struct {
		up   time.Duration
		want bool
	}{{time.Hour, true}, {time.Hour + time.Minute, false}, {2*time.Hour - time.Second, false}, {2*time.Hour + time.Second, true}, {2*time.Hour + time.Minute, false}, {9 * time.Hour, true}} {
		if got := at(tc.up); got != tc.want {
			t.Errorf("at %s: new %t, want %t", tc.up, got, tc.want)
		}
	}
}

// FuzzParse: no content of the file may panic, or leave a state beyond the bounds, also after it is used and written.
func FuzzParse(f *testing.F) {
	f.Add([]byte(""), 0.0)
	f.Add(encoded(f, State{Starts: []float64{1, 2}, Seen: map[string][]Seen{uid(1): {{ID: "a", At: 10}}}, Told: map[string]float64{"k": 20}}), 30.0)
	f.Add([]byte(`{"version":1,"boot_id":"`+boot+`","seen":{"u":null,"v":[{}]},"told":{"":0},"starts":[null]}`), 1e6)
	f.Add([]byte(`{"version":1,"boot_id":"`+boot+`","seen":{"u":[{"id":"x","at":-1e308}]},"told":{"k":1e308}}`), 100.0)
	f.Add([]byte(`{"version":1,"boot_id":"`+boot+`","seen":[],"told":1}`), 100.0)
	f.Fuzz(func(t *testing.T, raw []byte, up float64) {
		if !(up >= 0 && up < 3e9) {
			up = 1000
		}
		d := time.Duration(up * float64(time.Second))
		s := parse(raw, boot, d)
		withinBounds(t, s)
		s.See("u", "new", 1, 0)
		s.Start(d)
		s.New("k")
		if s.New("k") {
			t.Error("new twice")
		}
		out, err := s.format()
		if err != nil {
			t.Fatal(err)
		}
		again := parse(out, boot, d)
		withinBounds(t, again)
		if len(again.Seen) != len(s.Seen) || len(again.Told) != len(s.Told) {
			t.Errorf("written and read: %d pods and %d told, want %d and %d", len(again.Seen), len(again.Told), len(s.Seen), len(s.Told))
		}
	})
}
