// Package state keeps what must outlive a run: the sandboxes that were seen, when the runtime started, and which findings
// were told. It is one small file below /run:
//
//	{
//	  "version": 1,
//	  "boot_id": "67b62943-19cb-4b11-a3cf-0ca57de94046",
//	  "booted": 1796060640.2,
//	  "stepped": 1150.1,
//	  "starts": [12.4],
//	  "sockets": {"1796060652400000000": 60.3},
//	  "this_boot": ["3ba1f0c29d7e4410"],
//	  "waiting": {"0c92af1b-...": 1100.3},
//	  "seen": {"5f1c7d52-...": [{"id": "888eaf95d2c1a07f", "attempt": 3, "at": 1212.4, "made": 1201.9}]},
//	  "told": {"stale-created|5f1c7d52-...|main|": 1272.5}
//	}
//
// All times but booted are seconds of the boot clock, so that no step of the wall clock moves them; another boot's file counts
// for nothing. What cannot be read or written costs history, never a verdict.
package state

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"
)

// Bounds of the file, in entries and in time.
const (
	maxPods     = 2000
	maxSeen     = 24 // of one pod
	maxTold     = 4000
	maxStarts   = 32
	maxKept     = 200
	maxSockets  = 8
	seenFor     = 2 * time.Hour
	toldFor     = time.Hour
	fileVersion = 1
)

// State is the content of the file.
type State struct {
	Version int    `json:"version"`
	BootID  string `json:"boot_id"`
	// Booted is where the wall clock of the last look put the boot, in seconds since 1970; 0 is not known.
	Booted float64 `json:"booted,omitempty"`
	// Stepped is the first look after the wall clock was set; 0 is never.
	Stepped float64 `json:"stepped,omitempty"`
	// Starts are when the runtime was seen to have started.
	Starts []float64 `json:"starts,omitempty"`
	// Sockets are the times of the runtime's socket, in nanoseconds since 1970 as the wall clock had it, and when each was first
	// seen.
	Sockets map[string]float64 `json:"sockets,omitempty"`
	// Seen are the sandboxes of each pod uid, in the order of their first sight.
	Seen map[string][]Seen `json:"seen,omitempty"`
	// Waiting are the pod uids without a sandbox, and since when, as it was known at the first sight.
	Waiting map[string]float64 `json:"waiting,omitempty"`
	// ThisBoot are the sandboxes of created containers that were once known to be of this boot, for as long as they are listed.
	ThisBoot []string `json:"this_boot,omitempty"`
	// Repaired is when a repair was last begun; 0 is never.
	Repaired float64 `json:"repaired,omitempty"`
	// Told is when each finding was last told as an event.
	Told map[string]float64 `json:"told,omitempty"`

	now float64
	// changed says that the file no longer says the same. Composing the file only to find that out costs as much as reading it.
	changed bool
}

// Seen is one sandbox and when it was first seen.
type Seen struct {
	ID      string  `json:"id"` // see [Short]
	Attempt uint32  `json:"attempt"`
	At      float64 `json:"at"`
	// Made is its creation, as the wall clock told it at the first sight; below 0 before this boot, 0 not known.
	Made float64 `json:"made,omitempty"`
}

// parse reads a file's content. Anything but a file of this version and boot is an empty state.
func parse(raw []byte, bootID string, uptime time.Duration) *State {
	s := &State{}
	if json.Unmarshal(raw, s) != nil || s.Version != fileVersion || s.BootID != bootID || bootID == "" {
		s = &State{changed: true}
	}
	s.Version, s.BootID, s.now = fileVersion, bootID, uptime.Seconds()
	if s.Seen == nil {
		s.Seen = map[string][]Seen{}
	}
	if s.Told == nil {
		s.Told = map[string]float64{}
	}
	s.prune()
	return s
}

// Short is as much of a sandbox's id as is kept: 64 bits tell a node's sandboxes apart, and the whole is most of the file.
func Short(id string) string { return id[:min(len(id), 16)] }

// See notes a sandbox at its first sight. made is its creation by the boot clock, 0 where it is not known.
func (s *State) See(uid, id string, attempt uint32, made time.Duration) {
	id = Short(id)
	for _, have := range s.Seen[uid] {
		if have.ID == id {
			return
		}
	}
	s.changed = true
	s.Seen[uid] = append(s.Seen[uid], Seen{ID: id, Attempt: attempt, At: s.now, Made: made.Seconds()})
}

// Keep makes ThisBoot what is left of it among the listed sandboxes, and what is now known.
func (s *State) Keep(listed []string, known func(id string) bool) {
	var kept []string
	for _, id := range listed {
		if id = Short(id); (slices.Contains(s.ThisBoot, id) || known(id)) && !slices.Contains(kept, id) && len(kept) < maxKept {
			kept = append(kept, id)
		}
	}
	slices.Sort(kept)
	s.changed = s.changed || !slices.Equal(kept, s.ThisBoot)
	s.ThisBoot = kept
}

// Start notes that the runtime started at this time of the boot clock. The same start is seen at each run, a little apart
// where the clock that dates it is not ours.
func (s *State) Start(at time.Duration) {
	const sameStart = 2.0
	for _, have := range s.Starts {
		if d := at.Seconds() - have; d > -sameStart && d < sameStart {
			return
		}
	}
	s.changed = true
	s.Starts = append(s.Starts, at.Seconds())
}

// Socket notes the time of the runtime's socket, and gives when it was first seen, by the boot clock: the runtime had started
// by then, whatever the time says.
func (s *State) Socket(made time.Time) time.Duration {
	key := strconv.FormatInt(made.UnixNano(), 10)
	at, seen := s.Sockets[key]
	if !seen {
		if s.Sockets == nil {
			s.Sockets = map[string]float64{}
		}
		at = s.now
		s.Sockets[key] = at
		s.changed = true
	}
	return time.Duration(at * float64(time.Second))
}

// Began is when the runtime was first looked at in this boot, as far as is known: now where it is not.
func (s *State) Began() float64 {
	began := s.now
	for _, at := range s.Sockets {
		began = min(began, at)
	}
	return began
}

// Unseen notes since when wall times can be believed where the first look of the boot finds out by itself that the clock was set
// before. It comes before Clock; later looks know better.
func (s *State) Unseen(stepped time.Duration) {
	if s.Booted == 0 && stepped > 0 {
		s.Stepped = stepped.Seconds()
		s.changed = true
	}
}

// Clock notes where the wall clock puts the boot, and gives the time of the boot clock since when wall times can be
// believed: that of the first look after the wall clock was set, 0 when it was not. What is dated before it may be of any age
// down to the time since then.
func (s *State) Clock(booted time.Time) time.Duration {
	const slewed = 10.0 // seconds; more than a clock is slewed between two looks, and than btime is rounded
	const same = 1.0    // the uptime has hundredths: what differs by less is written down no more
	at := float64(booted.UnixMilli()) / 1000
	d := at - s.Booted
	if s.Booted != 0 && (d > slewed || d < -slewed) {
		s.Stepped = s.now
		s.changed = true
	}
	if d > same || d < -same {
		s.Booted = at
		s.changed = true
	}
	return time.Duration(s.Stepped * float64(time.Second))
}

// Wait notes which pods wait for their sandbox, and since when by the boot clock. What was noted at the first sight stays;
// pods that no longer wait are forgotten.
func (s *State) Wait(since map[string]time.Duration) {
	waiting := map[string]float64{}
	for uid, at := range since {
		known, seen := s.Waiting[uid]
		if !seen {
			known = min(s.now, at.Seconds())
		}
		waiting[uid] = known
	}
	s.changed = s.changed || !maps.Equal(s.Waiting, waiting)
	s.Waiting = waiting
}

// New says whether the finding was not told within the last hour, and notes that it is told now.
func (s *State) New(key string) bool {
	if at, ok := s.Told[key]; ok && s.now-at < toldFor.Seconds() {
		return false
	}
	s.changed = true
	s.Told[key] = s.now
	return true
}

// Repair says whether the last repair is longer ago than the cool-down, and notes that one begins now.
func (s *State) Repair(cooldown time.Duration) bool {
	if s.Repaired > 0 && s.Repaired <= s.now && s.now-s.Repaired < cooldown.Seconds() {
		return false
	}
	s.changed = true
	s.Repaired = s.now
	return true
}

// prune keeps the state within its bounds: what is too old, from the future, or the oldest of too many goes.
func (s *State) prune() {
	before := s.entries()
	defer func() { s.changed = s.changed || s.entries() != before }()
	for uid, list := range s.Seen {
		list = slices.DeleteFunc(list, func(x Seen) bool { return s.old(x.At, seenFor) || x.ID == "" })
		if len(list) > maxSeen {
			list = list[len(list)-maxSeen:]
		}
		for i := range list { // an earlier version kept it whole
			list[i].ID = Short(list[i].ID)
		}
		s.Seen[uid] = list
		if len(list) == 0 {
			delete(s.Seen, uid)
		}
	}
	dropOldest(s.Seen, maxPods, func(l []Seen) float64 { return l[len(l)-1].At })
	maps.DeleteFunc(s.Told, func(_ string, at float64) bool { return s.old(at, toldFor) })
	dropOldest(s.Told, maxTold, func(at float64) float64 { return at })
	maps.DeleteFunc(s.Waiting, func(_ string, at float64) bool { return at < 0 || at > s.now+1 })
	dropOldest(s.Waiting, maxPods, func(at float64) float64 { return at })
	maps.DeleteFunc(s.Sockets, func(_ string, at float64) bool { return at < 0 || at > s.now+1 })
	dropOldest(s.Sockets, maxSockets, func(at float64) float64 { return at })
	s.ThisBoot = s.ThisBoot[:min(len(s.ThisBoot), maxKept)]
	if s.Stepped < 0 || s.Stepped > s.now+1 {
		s.Stepped = 0
		s.changed = true
	}
	s.Starts = slices.DeleteFunc(s.Starts, func(at float64) bool { return s.old(at, seenFor) })
	if len(s.Starts) > maxStarts {
		s.Starts = s.Starts[len(s.Starts)-maxStarts:]
	}
}

func (s *State) entries() int {
	n := len(s.Told) + len(s.Waiting) + len(s.Starts) + len(s.Sockets)
	for _, list := range s.Seen {
		n += len(list)
	}
	return n
}

func (s *State) old(at float64, keep time.Duration) bool {
	return at > s.now+1 || s.now-at > keep.Seconds()
}

func dropOldest[V any](m map[string]V, most int, at func(V) float64) {
	if len(m) <= most {
		return
	}
	keys := slices.Collect(maps.Keys(m))
	slices.SortFunc(keys, func(a, b string) int { return cmp.Or(cmp.Compare(at(m[a]), at(m[b])), cmp.Compare(a, b)) })
	for _, k := range keys[:len(keys)-most] {
		delete(m, k)
	}
}

func (s *State) format() ([]byte, error) {
	s.prune()
	return json.Marshal(s)
}
