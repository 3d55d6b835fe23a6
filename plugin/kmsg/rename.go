package kmsg

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// leftOut stands for records that tell no story. It keeps their latest time: a story whose end was lost ends by the clock.
const leftOut = "other records were left out"

// Renamed returns the log without what tells whose node it is: it keeps what [Stories], [DeniesRunc] and [UserspaceKill]
// read, gives cgroups the names that cgroup says, and calls every process "app" that is no helper. Prefixes of syslog and
// the like are dropped, as they hold host names; the times stay. A log that has a record keeps one.
func Renamed(log []byte, cgroup func(string) string) []byte {
	r := renaming{cgroup: cgroup}
	w := &logWriter{}
	for _, rec := range Parse(log) {
		if text := r.text(rec); text != "" {
			w.before(rec)
			rec.Text = text
			w.write(rec)
			continue
		}
		w.skip(rec)
	}
	return w.finish()
}

// logWriter writes records as /dev/kmsg has them, or with the prefix that keeps what they have of a time.
type logWriter struct {
	out bytes.Buffer
	n   int
	// skipped: records were left out. latest is the latest of the kernel's own since the last one that was written.
	skipped bool
	latest  Record
}

func (w *logWriter) skip(r Record) {
	w.skipped = true
	if !r.User && r.HasTime && r.Time >= w.latest.Time {
		w.latest = Record{Time: r.Time, HasTime: true, Text: leftOut}
	}
}

// before writes what was left out before the next record, where that has not the same effect by its own time.
func (w *logWriter) before(next Record) {
	if next.User {
		return
	}
	if w.latest.HasTime && (!next.HasTime || next.Time < w.latest.Time) {
		w.write(w.latest)
	}
	w.latest = Record{}
}

// finish makes sure that a log is not empty that was not.
func (w *logWriter) finish() []byte {
	if w.skipped && w.n == 0 {
		w.latest.Text = leftOut
		w.write(w.latest)
	}
	return w.out.Bytes()
}

func (w *logWriter) write(r Record) {
	w.n++
	raw, facility := 4, "kern"
	if r.User {
		raw, facility = 12, "user"
	}
	switch {
	case r.HasTime:
		fmt.Fprintf(&w.out, "%d,%d,%d,-;%s\n", raw, w.n, r.Time/time.Microsecond, escape(r.Text))
	case !r.Wall.IsZero(): // as talosctl prints it
		fmt.Fprintf(&w.out, "%s: warning: [%s]: %s\n", facility, r.Wall.UTC().Format(time.RFC3339Nano), r.Text)
	default: // as dmesg --decode prints it
		fmt.Fprintf(&w.out, "%s  :warn  : %s\n", facility, r.Text)
	}
}

// escape is what the kernel does to control bytes and backslashes.
func escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '\\' {
			fmt.Fprintf(&b, `\x%02x`, c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// renaming writes records anew with nothing in them but what is read. What it cannot read becomes a line that says as
// little to the teller as the old one.
type renaming struct {
	cgroup func(string) string
	// columns of the last table before the name.
	columns int
}

// text is the record's text anew, "" when nothing reads it.
func (n *renaming) text(r Record) string {
	if !r.User {
		if s := n.story(r.Text); s != "" {
			return s
		}
	}
	if DeniesRunc(r.Text) {
		return denial(r.Text)
	}
	if path, ok := UserspaceKill(r.Text); ok {
		return fmt.Sprintf(`[talos] Sending SIGKILL to cgroup {"cgroup": "%s%s"}`, cgroupMount, n.cgroup(path))
	}
	return ""
}

// story follows the order in which [teller.record] looks at a text.
func (n *renaming) story(text string) string {
	if comm, rest, ok := strings.Cut(text, " invoked oom-killer: "); ok {
		return processName(comm) + " invoked oom-killer: " + plainText(rest)
	}
	switch {
	case strings.HasPrefix(text, "Task in "):
		return n.taskIn(text)
	case strings.HasPrefix(text, "memory: usage "), strings.HasPrefix(text, "kmem: usage "):
		return usageLine(text)
	case strings.HasPrefix(text, "Memory cgroup stats for "):
		return n.stats(text)
	case isTableHead(text):
		return n.tableHead(text)
	case strings.HasPrefix(text, "["):
		return n.tableRow(text)
	case strings.HasPrefix(text, "oom-kill:"):
		return n.oomKill(text)
	case strings.Contains(text, "Out of memory and no killable processes"):
		return "Out of memory and no killable processes..."
	}
	if path, _, ok := strings.Cut(strings.TrimPrefix(text, "Tasks in "), " are going to be killed due to memory.oom.group set"); ok && strings.HasPrefix(text, "Tasks in ") {
		return "Tasks in " + n.cgroup(path) + " are going to be killed due to memory.oom.group set"
	}
	return killLine(text)
}
