package checks

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/cgroup"
	"sandbox-checker/plugin/cri"
	"sandbox-checker/plugin/kmsg"
)

const (
	mib = int64(1) << 20
	// lowLimit is one that CRI-O may refuse: its usual minimum is 12 MiB.
	lowLimit = 64 * mib
	// typoBelow: below 1 MiB no runtime starts a sandbox; a limit this small is a wrong unit.
	typoBelow = mib
	// startTakes is more than a sandbox's start may take. One made earlier did not die at its start.
	startTakes = time.Minute
)

// What a story tells was starting.
type startKind int

const (
	notAStart startKind = iota
	sandboxStart
	containerStart
)

// judgeOOM is the rule of sandbox-oom.
func judgeOOM(v oomView, o plugin.Options) plugin.Result {
	var r plugin.Result
	byPod := map[string]kmsg.Story{} // the last sandbox start of each pod
	for _, s := range v.stories {
		place, ok := cgroup.PlaceOf(s.Limit)
		if !ok || !v.ours(place.UID) {
			continue
		}
		switch v.kind(s, place) {
		case sandboxStart:
			byPod[place.UID] = s
		case containerStart:
			r.Asides = append(r.Asides, v.containerStart(s, place))
		case notAStart:
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(byPod)) {
		if v.ready(uid) {
			r.Held = append(r.Held, v.pod(uid).String()+": a start was killed for memory, and the pod now has a sandbox")
			continue
		}
		if v.raisedSince(uid, byPod[uid]) {
			r.Held = append(r.Held, v.pod(uid).String()+": a start was killed for memory, and the limit was raised since")
			continue
		}
		if v.replaced(uid) {
			r.Held = append(r.Held, v.pod(uid).String()+": a start was killed for memory, and another pod of its name has a sandbox")
			continue
		}
		r.Findings = append(r.Findings, v.fromLog(uid, byPod[uid]))
	}
	for _, uid := range slices.Sorted(maps.Keys(v.pods)) {
		if _, told := byPod[uid]; !told {
			r.Findings = append(r.Findings, v.fromCgroup(uid, o)...)
		}
	}
	return r
}

// sandboxStarts are the stories of the pod's sandbox start.
func (v oomView) sandboxStarts(uid string) []kmsg.Story {
	var out []kmsg.Story
	for _, s := range v.stories {
		if place, ok := cgroup.PlaceOf(s.Limit); ok && place.UID == uid && v.kind(s, place) == sandboxStart {
			out = append(out, s)
		}
	}
	return out
}

// ours says whether the pod is of this node: kind's node containers all read one kernel log.
func (v oomView) ours(uid string) bool {
	_, named := v.names()[uid]
	_, has := v.pods[uid]
	return named || has
}

// replaced: the pod has no cgroup any more, and another one of its name has its sandbox. A name is given to one pod at a time: a
// static pod or one of a StatefulSet was mended, and the kubelet keeps the old log directory for up to a minute.
func (v oomView) replaced(uid string) bool {
	if _, active := v.pods[uid]; active {
		return false
	}
	gone := v.pod(uid)
	return gone.Name != "" && slices.ContainsFunc(v.sandboxes, func(s cri.Sandbox) bool {
		return s.Ready && s.Pod.UID != uid && s.Pod.Namespace == gone.Namespace && s.Pod.Name == gone.Name
	})
}

func (v oomView) pod(uid string) plugin.Pod {
	if p, ok := v.names()[uid]; ok {
		return p
	}
	return plugin.Pod{UID: uid}
}

// fromLog is the finding for a sandbox start that the kernel killed.
func (v oomView) fromLog(uid string, s kmsg.Story) plugin.Finding {
	limit := v.limit(uid, s)
	f := v.finding(uid, limit)
	if leaked(s) {
		f.Blame = plugin.BlameNode
		f.Cause = fmt.Sprintf("sandbox start killed, kernel memory fills the limit of %s", size(limit))
		f.Cure = "kernel memory of dead containers leaks: update the kernel, then reboot"
		f.Steps = []string{f.Cure}
	}
	what := "nothing could be killed: the limit leaves no room for the sandbox's own cgroup"
	if !s.NoKillable {
		what = "killed " + s.Victims[0].Name
	}
	at := "time unknown"
	if timed(s) {
		at = stamp(v.at(s))
	}
	f.Evidence = append(f.Evidence,
		plugin.Evidence{Source: "kernel log, " + at, Text: fmt.Sprintf("%s in %s, usage %dkB, limit %dkB", what, s.Limit, s.UsageKB, s.LimitKB)})
	return v.withCgroup(f, uid)
}

// raisedSince says whether the pod's limit is higher now than the story tells: it was mended, and the next start will show.
func (v oomView) raisedSince(uid string, s kmsg.Story) bool {
	m := v.pods[uid].memory
	return m != nil && s.LimitKB >= 0 && (m.Limit == cgroup.Unlimited || m.Limit>>10 > s.LimitKB)
}

// limit is the pod's limit in bytes: the cgroup's own word, else the story's.
func (v oomView) limit(uid string, s kmsg.Story) int64 {
	if m := v.pods[uid].memory; m != nil && m.Limit != cgroup.Unlimited {
		return m.Limit
	}
	if s.LimitKB < 0 {
		return cgroup.Unlimited
	}
	return s.LimitKB << 10
}

// leaked says whether kernel memory makes up the usage of a limit that is not tiny (kernels until about 4.x).
func leaked(s kmsg.Story) bool {
	return s.LimitKB >= 16<<10 && s.KmemKB >= 0 && s.KmemKB*10 >= s.UsageKB*9
}

// fromCgroup is the finding for a pod that has no sandbox and whose cgroup says why, without the kernel log.
func (v oomView) fromCgroup(uid string, o plugin.Options) []plugin.Finding {
	m := v.pods[uid].memory
	if m == nil || !v.waits(uid, o) {
		return nil
	}
	limited := m.Limit != cgroup.Unlimited
	switch {
	case limited && (m.Limit < typoBelow || m.Limit < v.minMemory):
	case limited && (m.OOMs > 0 || m.Kills > 0):
	case limited && m.Failcnt > 0 && m.Usage >= m.Limit:
	default:
		return nil
	}
	f := v.finding(uid, m.Limit)
	if limited && m.Limit < v.minMemory {
		f.Cause = fmt.Sprintf("memory limit %s, CRI-O makes no sandbox below %s", size(m.Limit), size(v.minMemory))
	}
	return []plugin.Finding{v.withCgroup(f, uid)}
}

// waits: no ready sandbox, a log directory in which no container ever was, and this for --start-grace. A pod that waits
// for a volume has no log directory yet.
func (v oomView) waits(uid string, o plugin.Options) bool {
	return v.lacksSandbox(uid) && max(v.since(v.logDirs[uid].made), v.waiting[uid]) >= o.StartGrace
}

func (v oomView) lacksSandbox(uid string) bool {
	l, ok := v.logDirs[uid]
	return ok && l.virgin && !v.ready(uid)
}

// since is how long ago t surely was, in this boot: a wall time from before the clock was set may be of any age, and one
// after now proves nothing. Most of these are of pods that the kubelet began while the check was looking.
func (v oomView) since(t time.Time) time.Duration {
	if t.After(v.clock.Now) {
		return 0
	}
	return min(ago(v.clock.Now, t), v.clock.Uptime-v.stepped)
}

func (v oomView) finding(uid string, limit int64) plugin.Finding {
	f := plugin.Finding{
		Check: SandboxOOMName,
		Blame: plugin.BlamePod,
		Pod:   v.pod(uid),
		Cause: fmt.Sprintf("memory limit %s kills its sandbox at start", size(limit)),
		Cure:  "raise the memory limit of the pod, keep the node",
		Steps: []string{"raise the memory limit of the pod's owner: a sandbox needs some MiB beside the containers"},
	}
	if limit == cgroup.Unlimited {
		f.Cause = "its memory limit kills its sandbox at start"
	}
	if limit >= 0 && limit < typoBelow {
		f.Cure = "m means milli: write Mi in the memory limit, keep the node"
		f.Steps = []string{"write the memory limit of the pod's owner with Mi: 300m is 0.3 byte, 300Mi is 300 mebibytes"}
	}
	return f
}

func (v oomView) withCgroup(f plugin.Finding, uid string) plugin.Finding {
	p := v.pods[uid]
	if p.memory != nil {
		m := p.memory
		f.Evidence = append(f.Evidence, plugin.Evidence{Source: p.dir,
			Text: fmt.Sprintf("limit %d, usage %d, oom %d, oom_kill %d, failcnt %d", m.Limit, m.Usage, m.OOMs, m.Kills, m.Failcnt)})
	}
	return f
}

// containerStart is the aside for a container, not a sandbox, that its limit kills at start.
func (v oomView) containerStart(s kmsg.Story, place cgroup.Place) plugin.Finding {
	limit := cgroup.Unlimited
	if s.LimitKB >= 0 {
		limit = s.LimitKB << 10
	}
	f := v.finding(place.UID, limit)
	f.Cause = fmt.Sprintf("memory limit %s kills a container at start", size(limit))
	f.Quiet = limit < 0 || limit >= typoBelow // kubectl shows the error of the container
	victim, _ := cgroup.PlaceOf(s.VictimCgroup)
	if c := v.container(cmp.Or(victim.ID, place.ID)); c != nil {
		f.Container = c.Name
	}
	f.Evidence = []plugin.Evidence{{Source: "kernel log, " + stamp(v.at(s)), Text: "killed " + s.Victims[0].Name + " in " + s.VictimCgroup}}
	return f
}

// size prints bytes as a memory limit is written. The kernel keeps whole pages, so what was typed may differ.
func size(n int64) string {
	switch {
	case n < 0:
		return "unknown"
	case n == 0:
		return "below one page"
	case n%mib == 0:
		return fmt.Sprintf("%dMi", n/mib)
	case n%1024 == 0:
		return fmt.Sprintf("%dKi", n/1024)
	}
	return fmt.Sprintf("%d bytes", n)
}
