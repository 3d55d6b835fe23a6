package kmsg

import (
	"strconv"
	"strings"
)

// taskIn reads "Task in A killed as a result of limit of B" (until 5.0).
func (t *teller) taskIn(r *Record) {
	victim, limit, ok := strings.Cut(strings.TrimPrefix(r.Text, "Task in "), " killed as a result of limit of ")
	if !ok {
		return
	}
	for _, s := range t.open {
		if s.Limit == "" {
			s.VictimCgroup, s.Limit = victim, strings.TrimSpace(limit)
			s.touch(r)
			return
		}
	}
}

// usage reads "memory: usage 512kB, limit 512kB, failcnt 122" and the kmem line like it.
func (t *teller) usage(r *Record) {
	if len(t.open) != 1 || t.open[0].mixed {
		return
	}
	s := t.open[0]
	s.touch(r)
	usage := kilobytes(r.Text, "usage ")
	if strings.HasPrefix(r.Text, "kmem:") {
		s.KmemKB = usage
		return
	}
	s.UsageKB, s.LimitKB = usage, kilobytes(r.Text, "limit ")
}

func kilobytes(text, word string) int64 {
	_, rest, _ := strings.Cut(text, word)
	num, _, ok := strings.Cut(rest, "kB")
	n, err := strconv.ParseInt(num, 10, 64)
	if !ok || err != nil || n < 0 {
		return -1
	}
	return n
}

// stats reads "Memory cgroup stats for PATH:", alone on its line or with values behind it. The first one is of the cgroup
// that ran out; old kernels add one for each below it. Where nothing is killed it is the only line that names the cgroup.
func (t *teller) stats(r *Record) {
	path, ok := statsPath(r.Text)
	if !ok {
		return
	}
	for _, s := range t.open {
		if s.Limit == "" {
			s.Limit = path
			s.touch(r)
			return
		}
	}
}

// statsPath is the cgroup of that line, false when the line is cut short.
func statsPath(text string) (string, bool) {
	path := strings.TrimPrefix(text, "Memory cgroup stats for ")
	if before, _, ok := strings.Cut(path, ": cache:"); ok {
		path = before
	}
	path, whole := strings.CutSuffix(strings.TrimSpace(path), ":")
	return path, whole || strings.Contains(text, ": cache:")
}

func isTableHead(text string) bool {
	return strings.HasPrefix(text, "[") && strings.HasSuffix(strings.TrimSpace(text), " name") && strings.Contains(text, "pid")
}

func (t *teller) tableHead(r *Record) {
	if len(t.open) != 1 || t.open[0].mixed {
		return
	}
	s := t.open[0]
	_, head, _ := strings.Cut(r.Text, "]")
	if n := len(strings.Fields(head)) - 1; n > 0 {
		s.columns, s.HasTasks = n, true
	}
	s.touch(r)
}

// tableRow reads "[   1077]     0  1077     2837       83    53248        0          -998 runc:[0:PARENT]". The columns
// differ from kernel to kernel; the head says how many there are, and the rest is the name.
func (t *teller) tableRow(r *Record) {
	if len(t.open) != 1 || t.open[0].mixed || t.open[0].columns == 0 {
		return
	}
	s := t.open[0]
	pid, rest, ok := strings.Cut(r.Text[1:], "]")
	n, err := strconv.Atoi(strings.TrimSpace(pid))
	fields := strings.Fields(rest)
	if !ok || err != nil || len(fields) <= s.columns || len(s.Tasks) >= maxTasks {
		return
	}
	s.Tasks = append(s.Tasks, Task{PID: n, Name: strings.Join(fields[s.columns:], " ")})
	s.touch(r)
}

// oomKill reads the summary of 5.0 and later. Names may hold commas, so the end is split from the right.
func (t *teller) oomKill(r *Record) {
	head, _, whole := cutLast(r.Text, ",task=")
	_, paths, named := strings.Cut(head, ",oom_memcg=")
	if !named {
		return // of the whole node, or cut short before it
	}
	limit, victim, hasVictim := strings.Cut(paths, ",task_memcg=")
	if !hasVictim {
		return // cut inside the path
	}
	if !whole {
		victim = "" // cut inside the victim's path
	}
	s := t.byLimit(limit)
	s.Limit, s.VictimCgroup = limit, victim
	if _, rest, ok := cutLast(r.Text, ",pid="); ok {
		pid, _, _ := strings.Cut(rest, ",")
		s.pid, _ = strconv.Atoi(pid) // 0 is no process: then the kill line alone tells
	}
	s.touch(r)
}

// byLimit is the open story of that cgroup, else the newest one.
func (t *teller) byLimit(limit string) *telling {
	for _, s := range t.open {
		if s.Limit == limit && s.pid == 0 {
			return s
		}
	}
	return t.last()
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// killed reads "[Memory cgroup out of memory: ]Killed process PID (NAME) total-vm:...". The "Kill process TID (NAME) score N
// or sacrifice child" of old kernels comes before it and is not needed.
func (t *teller) killed(r *Record) {
	task, ok := killedTask(r.Text)
	if !ok {
		return
	}
	s := t.byPID(task.PID)
	t.end(r, s, func(s *telling) { s.Victims = append(s.Victims, task) })
}

func killedTask(text string) (Task, bool) {
	_, rest, _ := strings.Cut(text, "Killed process ")
	num, rest, ok := strings.Cut(rest, " (")
	pid, err := strconv.Atoi(strings.TrimSuffix(num, ","))
	if !ok || err != nil {
		return Task{}, false
	}
	name, _, ok := cutLast(rest, ") total-vm:")
	if !ok {
		if name, _, ok = cutLast(rest, ")"); !ok {
			return Task{}, false
		}
	}
	return Task{PID: pid, Name: name}, true
}

// byPID is the open story that announced the process, has it in its table, or else the one that has announced none.
func (t *teller) byPID(pid int) *telling {
	for _, s := range t.open {
		if s.pid == pid {
			return s
		}
	}
	for _, s := range t.open {
		for _, task := range s.Tasks {
			if task.PID == pid {
				return s
			}
		}
	}
	return t.pick(func(s *telling) bool { return s.pid == 0 })
}
