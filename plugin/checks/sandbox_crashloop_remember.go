package checks

import (
	"maps"
	"time"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/cri"
	"sandbox-checker/plugin/state"
)

// remember takes the history and adds to it what this look saw.
func (v *loopView) remember(h *plugin.Host) {
	h.Remember(v.clock, func(s *state.State) {
		s.Unseen(v.stepped)
		v.stepped = s.Clock(v.clock.Now.Add(-v.clock.Uptime))
		v.startedBy(s)
		if d, ok := v.sinceBoot(v.runtimeStarted); ok && d >= v.stepped {
			s.Start(d)
		}
		for uid, own := range v.byPod() {
			honest := v.honest(own)
			for _, sb := range own {
				s.See(uid, sb.ID, sb.Attempt, v.made(sb, honest))
			}
		}
		v.history, v.firstLook = maps.Clone(s.Seen), s.Began()
		v.starts = append([]float64(nil), s.Starts...)
		v.remainWaiting(s)
	})
}

// startedBy puts the first sight of the runtime's socket in the place of a time of it that lies: it had started by then.
func (v *loopView) startedBy(s *state.State) {
	if made := v.runtimeStarted; !made.IsZero() {
		if seen := s.Socket(made); startLies(v.clock, made, seen) {
			v.runtimeStarted = v.clock.Now.Add(seen - v.clock.Uptime)
		}
	}
}

// made is when a sandbox was created, by the boot clock; 0 where its date proves nothing.
func (v *loopView) made(sb cri.Sandbox, honest bool) time.Duration {
	if d, thisBoot := v.sinceBoot(sb.Created); honest && (v.stepped == 0 || thisBoot && d >= v.stepped) {
		return d
	}
	return 0
}

// remainWaiting notes which pods with a cgroup lack their sandbox, and takes for how long they do. Of a pod that once had one
// nothing but the history can tell since when.
func (v *loopView) remainWaiting(s *state.State) {
	since, listed := map[string]time.Duration{}, v.byPod()
	for uid := range v.pods {
		switch {
		case v.lacksSandbox(uid) && len(s.Seen[uid]) == 0:
			since[uid] = v.clock.Uptime - v.since(v.logDirs[uid].made)
		case v.lacksSandbox(uid), len(listed[uid]) == 0 && v.hadContainers(uid):
			since[uid] = v.clock.Uptime
		}
	}
	s.Wait(since)
	v.waiting = map[string]time.Duration{}
	for uid, at := range s.Waiting {
		v.waiting[uid] = v.clock.Uptime - seconds(at)
	}
}

// sinceBoot turns a wall time of this boot into one of the boot clock.
func (v *loopView) sinceBoot(t time.Time) (time.Duration, bool) {
	if t.IsZero() || t.After(v.clock.Now) {
		return 0, false
	}
	d := v.clock.Uptime - v.clock.Now.Sub(t)
	return d, d >= 0
}
