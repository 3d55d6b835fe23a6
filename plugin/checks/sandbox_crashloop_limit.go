package checks

import (
	"time"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/kmsg"
	"sandbox-checker/plugin/state"
)

// startsKilled counts the pod's sandbox starts that the kernel killed, 0 when the newest is too old, the limit was raised since or
// the pod has its sandbox.
func (v *loopView) startsKilled(uid string, o plugin.Options) int {
	starts := v.sandboxStarts(uid)
	if len(starts) == 0 || v.ready(uid) || v.raisedSince(uid, starts[len(starts)-1]) {
		return 0
	}
	newest := time.Duration(1 << 62)
	for _, s := range starts {
		newest = min(newest, v.sinceKill(s))
	}
	if newest > o.LoopNewest {
		return 0
	}
	return len(starts)
}

func (v *loopView) sinceKill(s kmsg.Story) time.Duration {
	return sinceStory(s, v.kernelClock, v.clock)
}

// limitExplains says why a loop without a known cause proves nothing against the node: the pod's own memory limit killed its starts,
// nothing has failed since the last kill, and it has its sandbox or may still try again. "" when the limit explains nothing.
func (v *loopView) limitExplains(uid string, o plugin.Options) string {
	starts := v.sandboxStarts(uid)
	if len(starts) == 0 {
		return v.limitWasHit(uid)
	}
	last := starts[len(starts)-1]
	since := v.sinceKill(last)
	if v.failedSince(uid, v.clock.Uptime-since) {
		return ""
	}
	if v.ready(uid) {
		return "its starts were killed for memory, and it now has a sandbox"
	}
	if v.raisedSince(uid, last) && since < o.StartGrace { // the kubelet tries again within a minute or two
		return "its starts were killed for memory, the limit was raised since, and the next try is still to come"
	}
	return ""
}

// limitWasHit: only cgroup v1 has a failcnt, and the counters of v2 are a finding of sandbox-oom. A failcnt does not tell a kill from a
// limit that was merely reached; the kernel log would.
func (v *loopView) limitWasHit(uid string) string {
	m := v.pods[uid].memory
	if v.logErr == nil || m == nil || m.Failcnt <= 0 {
		return ""
	}
	return "its memory limit was hit, and without the kernel log it cannot be told whether that kills its sandbox"
}

// failedSince says whether a sandbox of the pod that was surely made after this time of the boot clock is not ready or gone.
func (v *loopView) failedSince(uid string, at time.Duration) bool {
	own := v.byPod()[uid]
	honest, ready := v.honest(own), map[string]bool{}
	for _, sb := range own {
		ready[state.Short(sb.ID)] = sb.Ready
		if !sb.Ready && v.made(sb, honest) > at {
			return true
		}
	}
	for _, seen := range v.history[uid] {
		if !ready[seen.ID] && seen.Made > at.Seconds() {
			return true
		}
	}
	return false
}
