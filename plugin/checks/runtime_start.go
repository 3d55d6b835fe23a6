package checks

import (
	"iter"
	"time"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/boot"
	"sandbox-checker/plugin/state"
)

// socketMade is the time of the runtime's socket, which the runtime makes when it starts; zero when it cannot be read. It is
// what the wall clock said then.
func socketMade(h *plugin.Host, rt plugin.Runtime) time.Time {
	st, err := h.Stat(rt.Socket())
	if err != nil {
		return time.Time{}
	}
	return st.ModTime()
}

// rounded is more than any reading of a clock is off.
const rounded = 2 * time.Second

// startLies says whether today's wall clock puts the making of the socket after the first sight of it, by the boot clock: the
// clock was ahead then and was set back. It stays a lie when the clock has caught up.
func startLies(c boot.Clock, made time.Time, firstSeen time.Duration) bool {
	return c.Uptime-c.Now.Sub(made) > firstSeen+rounded
}

// runtimeStart is the time of the socket where it says when the runtime started, else zero; and the time of the boot clock before
// which wall times prove nothing, as the history has it or, at the first look, as unseenStep finds.
func runtimeStart(s *state.State, c boot.Clock, made time.Time, dates iter.Seq[time.Time]) (start time.Time, stepped time.Duration) {
	s.Unseen(unseenStep(c, made, dates))
	stepped = s.Clock(c.Now.Add(-c.Uptime))
	if !made.IsZero() && !startLies(c, made, s.Socket(made)) && !made.After(c.Now) {
		start = made
	}
	return start, stepped
}

// noteSocketAhead remembers a socket whose time lies in the future. When the clock has caught up it looks like any other.
func noteSocketAhead(h *plugin.Host, rt plugin.Runtime) {
	made := socketMade(h, rt)
	if !made.After(h.Now) {
		return
	}
	if c, err := h.Boot(); err == nil {
		h.Remember(c, func(s *state.State) { s.Socket(made) })
	}
}

// unseenStep is the time of the boot clock before which wall times prove nothing, because the clock was set on before anybody
// looked; 0 where nothing tells of that. The socket of a runtime that answers is of this boot: one that is dated before it was
// made by another clock. Of what has a date, that alone is surely dated since which is younger than the step is wide.
func unseenStep(c boot.Clock, made time.Time, dates iter.Seq[time.Time]) time.Duration {
	width := c.Booted.Sub(made)
	if made.IsZero() || width <= rounded {
		return 0
	}
	var since time.Duration
	for t := range dates {
		if age := c.Now.Sub(t); age < min(width, c.Uptime) {
			since = max(since, age)
		}
	}
	return c.Uptime - since
}
