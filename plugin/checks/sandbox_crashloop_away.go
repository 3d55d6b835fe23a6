package checks

import (
	"cmp"
	"slices"
	"time"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/cri"
	"sandbox-checker/plugin/state"
)

// stayedAway: the pod had sandboxes, none is ready, and there has been time enough since the boot, the runtime's start and
// the last one. CRI-O lists none after a power cut: that there were some shows in the pod's log directory, and for how long there
// has been none in the history. A pod whose sandbox has just been removed looks the same at one look.
func (v *loopView) stayedAway(uid string, own []cri.Sandbox, o plugin.Options) bool {
	if len(own) == 0 && (!v.hadContainers(uid) || v.waiting[uid] < o.StartGrace) {
		return false
	}
	if v.clock.Uptime < o.StartGrace || v.sinceStart() < o.StartGrace {
		return false
	}
	for _, s := range own {
		if s.Ready || v.youngerThan(uid, s, o.StartGrace) {
			return false
		}
	}
	return true
}

// hadContainers says whether the log directory of a pod without a ready sandbox holds the directory of a container: the kubelet
// makes it when the sandbox is up.
func (v *loopView) hadContainers(uid string) bool {
	l := v.logDirs[uid]
	return !l.made.IsZero() && !l.virgin
}

// sinceStart is how long ago the runtime started: by its socket, or by what was seen of it before the clock was set.
func (v *loopView) sinceStart() time.Duration {
	if v.runtimeStarted.IsZero() {
		return v.clock.Uptime
	}
	since := v.since(v.runtimeStarted)
	if len(v.starts) > 0 {
		since = max(since, v.clock.Uptime-seconds(slices.Max(v.starts)))
	}
	return since
}

// youngerThan says whether a sandbox was made less than d ago. Where its time proves nothing its first sight counts.
func (v *loopView) youngerThan(uid string, s cri.Sandbox, d time.Duration) bool {
	since, known := time.Duration(0), false
	if !s.Created.IsZero() {
		since, known = v.since(s.Created), true
	}
	for _, h := range v.history[uid] {
		if h.ID == state.Short(s.ID) {
			since, known = max(since, v.clock.Uptime-seconds(cmp.Or(h.Made, h.At))), true
		}
	}
	return known && since < d
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
