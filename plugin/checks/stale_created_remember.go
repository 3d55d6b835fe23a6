package checks

import (
	"time"

	"sandbox-checker/plugin/cri"
	"sandbox-checker/plugin/state"
)

// rememberSandboxes notes the sandboxes of created containers, and takes which of them are known to be of this boot: when the
// clock is set on by more than the uptime, all that is dated before looks as if it were of the boot before.
func (v *createdView) rememberSandboxes(s *state.State) {
	v.ofThisBoot = map[string]bool{}
	for _, p := range byPod(*v) {
		for _, c := range p.containers {
			sb, listed := p.sandboxes[c.SandboxID]
			if c.State != cri.Created || !listed || p.pod.UID == "" {
				continue
			}
			s.See(p.pod.UID, sb.ID, sb.Attempt, v.made(p, sb))
			for _, seen := range s.Seen[p.pod.UID] {
				if seen.ID == state.Short(sb.ID) && seen.Made > 0 {
					v.ofThisBoot[sb.ID] = true
				}
			}
		}
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
