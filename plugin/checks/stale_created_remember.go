package checks

import (
	"slices"
	"time"

	"sandbox-checker/plugin/cri"
	"sandbox-checker/plugin/state"
)

// rememberSandboxes notes the sandboxes of created containers, and takes which of them are known to be of this boot: when the
// clock is set on by more than the uptime, all that is dated before looks as if it were of the boot before.
func (v *createdView) rememberSandboxes(s *state.State) {
	made := map[string]bool{} // in this boot, by the history
	var listed []string
	for _, p := range byPod(*v) {
		for _, c := range p.containers {
			sb, ok := p.sandboxes[c.SandboxID]
			if c.State != cri.Created || !ok || p.pod.UID == "" {
				continue
			}
			listed = append(listed, sb.ID)
			s.See(p.pod.UID, sb.ID, sb.Attempt, v.made(p, sb))
			for _, seen := range s.Seen[p.pod.UID] {
				made[seen.ID] = made[seen.ID] || seen.Made > 0
			}
		}
	}
	s.Keep(listed, func(id string) bool { return made[id] })
	v.ofThisBoot = map[string]bool{}
	for _, id := range listed {
		v.ofThisBoot[id] = slices.Contains(s.ThisBoot, state.Short(id))
	}
}

// made is when a sandbox was made, by the boot clock: below 0 before this boot, 0 where its date proves nothing.
func (v *createdView) made(p *podView, sb cri.Sandbox) time.Duration {
	d := v.clock.Uptime - v.clock.Now.Sub(sb.Created)
	if sb.Created.IsZero() || sb.Created.After(v.clock.Now) || p.clockLied() || v.stepped > 0 && d < v.stepped {
		return 0
	}
	return d
}

// dates are those of sandboxes and containers.
func (v createdView) dates(yield func(time.Time) bool) {
	for _, s := range v.sandboxes {
		if !s.Created.IsZero() && !yield(s.Created) {
			return
		}
	}
	for _, c := range v.containers {
		if !c.Created.IsZero() && !yield(c.Created) {
			return
		}
	}
}
