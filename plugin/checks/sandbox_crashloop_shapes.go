package checks

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/cri"
	"sandbox-checker/plugin/state"
)

// shape is how a loop shows.
type shape string

const (
	diedAfterStart shape = "its sandboxes keep dying"
	cannotBeMade   shape = "its sandbox cannot be made"
	killedByLimit  shape = "its sandbox is killed at start"
	neverCameBack  shape = "its sandbox never came back"
)

// From when on it is a loop.
const (
	// enoughSandboxes: one step is no loop, every pod makes it after a reboot.
	enoughSandboxes = 3
	// enoughStories: as many starts that were killed as sandboxes that died.
	enoughStories = 3
	// manyAtOnce: the kubelet removes old sandboxes within a minute, so these came fast.
	manyAtOnce = 5
	// quickAttempts: an attempt alone proves nothing, so it counts only beside the one before it.
	quickAttempts = 10
	// quickGap: loops were seen at one a second and at one every eleven minutes.
	quickGap = 15 * time.Minute
	// slowestAttempt: where no third sandbox is listed, the attempts must have come at this pace since the boot.
	slowestAttempt = 30 * time.Minute
)

// loop is one pod whose sandbox fails again and again, or does not come.
type loop struct {
	uid   string
	shape shape
	why   string
	// sandboxID is a listed sandbox of the pod, "" when none is.
	sandboxID string
}

// loops finds every pod that loops, by uid. Each is told by the first shape that fits. A pod without a cgroup is finished or
// deleted, and what is left of it is garbage.
func (v *loopView) loops(o plugin.Options) []loop {
	bySandbox := v.byPod()
	var out []loop
	for uid := range v.pods {
		l, own := loop{uid: uid}, bySandbox[uid]
		if len(own) > 0 {
			l.sandboxID = own[0].ID
		}
		if l.shape, l.why = v.shapeOf(uid, own, o); l.shape != "" {
			out = append(out, l)
		}
	}
	slices.SortFunc(out, func(a, b loop) int { return cmp.Compare(a.uid, b.uid) })
	return out
}

// byPod are the listed sandboxes of each uid, the newest first.
func (v *loopView) byPod() map[string][]cri.Sandbox {
	if v.grouped != nil {
		return v.grouped
	}
	out := make(map[string][]cri.Sandbox, len(v.sandboxes))
	for i, s := range v.sandboxes {
		switch own, ok := out[s.Pod.UID]; {
		case s.Pod.UID == "":
		case ok:
			out[s.Pod.UID] = append(own, s)
		default: // nearly every pod has one: it is not copied
			out[s.Pod.UID] = v.sandboxes[i : i+1 : i+1]
		}
	}
	for _, own := range out {
		newestFirst(own)
	}
	v.grouped = out
	return out
}

// newestFirst orders by attempt: creation times of containerd 1.6's leftovers are all the same, and the list's order changes.
func newestFirst(s []cri.Sandbox) {
	slices.SortFunc(s, func(a, b cri.Sandbox) int {
		return cmp.Or(cmp.Compare(b.Attempt, a.Attempt), b.Created.Compare(a.Created), cmp.Compare(a.ID, b.ID))
	})
}

func (v *loopView) shapeOf(uid string, own []cri.Sandbox, o plugin.Options) (shape, string) {
	if v.upForLong(own, o) || olderReady(own) {
		return "", ""
	}
	if why := v.counted(uid, own, o); why != "" {
		return diedAfterStart, why
	}
	if why := v.atOneLook(uid, own, o); why != "" {
		return diedAfterStart, why
	}
	if n := v.startsKilled(uid, o); n >= enoughStories {
		return killedByLimit, fmt.Sprintf("%d sandbox starts killed for memory", n)
	}
	if v.waits(uid, o) && (!v.endedOnce(uid, own, o) || v.waiting[uid] >= o.StartGrace) {
		return cannotBeMade, "an empty log directory, a cgroup, and no ready sandbox"
	}
	if v.stayedAway(uid, own, o) {
		if len(own) == 0 {
			return neverCameBack, "a cgroup, a log directory that was used, and no sandbox"
		}
		return neverCameBack, "a cgroup, and only sandboxes that are not ready"
	}
	return "", ""
}

// endedOnce: the pod had a sandbox for a while. The log directory does not tell since when it has none: that of a pod which pulled
// its image until it was deleted is old and empty too.
func (v *loopView) endedOnce(uid string, own []cri.Sandbox, o plugin.Options) bool {
	if len(own) == 0 {
		return len(v.history[uid]) > 0
	}
	return !v.youngerThan(uid, own[0], o.StartGrace)
}

// olderReady: a sandbox that has a successor is still ready, so none has died. CRI-O without a pause process keeps all ready.
func olderReady(own []cri.Sandbox) bool {
	return len(own) > 1 && slices.ContainsFunc(own[1:], func(s cri.Sandbox) bool { return s.Ready })
}

// upForLong: the newest sandbox is ready and older than what counts as new. Whatever was before is over.
func (v *loopView) upForLong(own []cri.Sandbox, o plugin.Options) bool {
	for _, s := range own {
		if s.Ready && !s.Created.IsZero() && v.clock.Now.Sub(s.Created) > o.LoopNewest {
			return true
		}
	}
	return false
}

// sighting is one sandbox of a pod and when it was made, on the boot clock.
type sighting struct {
	id string
	at float64
}

// counted applies the rule that needs history: three new sandboxes in the window, the newest of late. The first one after
// the boot and after each start of the runtime is everybody's and does not count.
func (v *loopView) counted(uid string, own []cri.Sandbox, o plugin.Options) string {
	sightings := v.sightings(uid, own, o)
	up := v.clock.Uptime.Seconds()
	excused := append([]float64{0}, v.starts...)
	slices.Sort(excused)
	n, newest := 0, -1.0
	next := 0 // the start whose first sandbox is still to come
	for _, s := range sightings {
		first := false
		for next < len(excused) && s.at >= excused[next] {
			first, next = true, next+1
		}
		if first || up-s.at > o.LoopWindow.Seconds() {
			continue
		}
		n, newest = n+1, max(newest, s.at)
	}
	if n < enoughSandboxes || up-newest > o.LoopNewest.Seconds() {
		return ""
	}
	return fmt.Sprintf("%d new sandboxes within %s", n, o.LoopWindow)
}

// sightings joins history and list. A creation time counts where it is honest and of this boot and tells the sandboxes
// apart; else the first sight does. Where the wall clock was set since, what was known at the first sight counts.
func (v *loopView) sightings(uid string, own []cri.Sandbox, o plugin.Options) []sighting {
	at := map[string]float64{}
	for _, s := range v.history[uid] {
		if s.Made == 0 && s.At <= min(v.firstLook, o.BootGrace.Seconds()) {
			continue // without a date, at the first look after a boot: it may be of the one before
		}
		at[s.ID] = v.firstKnown(s)
	}
	honest := v.honest(own)
	for _, s := range own {
		d, thisBoot := v.sinceBoot(s.Created)
		id := state.Short(s.ID)
		_, seen := at[id]
		switch {
		case seen && v.stepped > 0:
		case honest && thisBoot:
			at[id] = d.Seconds()
		case honest:
			delete(at, id) // of the boot before
		}
	}
	out := make([]sighting, 0, len(at))
	for id, t := range at {
		if t < 0 {
			continue // of the boot before
		}
		out = append(out, sighting{id, t})
	}
	slices.SortFunc(out, func(a, b sighting) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.id, b.id)) })
	return out
}

// firstKnown is the time of the boot clock that the history has for a sandbox: its first sight, or what its date said then, where
// that was of the boot before, or where the date proves nothing any more because the clock was set.
func (v *loopView) firstKnown(s state.Seen) float64 {
	if s.Made < 0 || v.stepped > 0 && s.Made != 0 {
		return s.Made
	}
	return s.At
}

// honest says whether the creation times can be used: all there, and rising with the attempts.
func (v *loopView) honest(own []cri.Sandbox) bool {
	for i, s := range own {
		if s.Created.IsZero() || s.Created.After(v.clock.Now) {
			return false
		}
		if i > 0 && own[i-1].Attempt > s.Attempt && !own[i-1].Created.After(s.Created) {
			return false
		}
	}
	return len(own) > 0
}

// atOneLook applies the rules that need no history: many sandboxes of one pod at once, or high attempts close together.
// An attempt alone proves nothing: a sandbox made by hand may have any.
func (v *loopView) atOneLook(uid string, own []cri.Sandbox, o plugin.Options) string {
	if len(own) < 2 || v.seenLongAgo(uid, own[0].ID, o) {
		return ""
	}
	honest := v.honest(own)
	if honest && (v.clock.Now.Sub(own[0].Created) > o.LoopNewest || own[0].Created.Before(v.clock.Booted)) {
		return ""
	}
	if len(own) >= manyAtOnce && consecutive(own) && v.ofThisBoot(own[:manyAtOnce], honest, o) {
		return fmt.Sprintf("%d sandboxes listed at once", len(own))
	}
	a, b := own[0], own[1]
	if !honest || a.Attempt < quickAttempts || b.Attempt != a.Attempt-1 || b.Ready || a.Created.Sub(b.Created) > quickGap ||
		b.Created.Before(v.clock.Booted) {
		return ""
	}
	third := len(own) > 2 && own[2].Attempt == a.Attempt-2
	if third || v.clock.Uptime < time.Duration(a.Attempt)*slowestAttempt {
		return fmt.Sprintf("attempts %d and %d, %s apart", b.Attempt, a.Attempt, a.Created.Sub(b.Created).Round(time.Second))
	}
	return ""
}

// ofThisBoot says whether none of the sandboxes was left by the boot before. What has no date are those that containerd 1.6 failed
// to make: a ready one since shows that it can, and some minutes after the boot garbage collection has taken the old ones away.
func (v *loopView) ofThisBoot(newest []cri.Sandbox, honest bool, o plugin.Options) bool {
	if !honest {
		return v.clock.Uptime >= o.BootGrace && !newest[0].Ready
	}
	return !newest[len(newest)-1].Created.Before(v.clock.Booted)
}

// seenLongAgo says whether the history knows the sandbox for longer than what counts as new, whatever its date says.
func (v *loopView) seenLongAgo(uid, id string, o plugin.Options) bool {
	for _, s := range v.history[uid] {
		if s.ID == state.Short(id) {
			return v.clock.Uptime.Seconds()-v.firstKnown(s) > o.LoopNewest.Seconds()
		}
	}
	return false
}

// consecutive: the newest ones have attempts that follow each other, as the kubelet makes them.
func consecutive(own []cri.Sandbox) bool {
	for i := 1; i < manyAtOnce; i++ {
		if own[i].Attempt+1 != own[i-1].Attempt {
			return false
		}
	}
	return true
}
