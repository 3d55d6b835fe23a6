package kmsg

import (
	"strconv"
	"strings"
	"time"
)

// Story is one run of the OOM killer for a memory cgroup, or for the whole node.
type Story struct {
	// Time is of the last record that belongs to it, since the boot.
	Time    time.Duration
	HasTime bool
	Wall    time.Time
	// Invoker is the command that asked for memory. It is no evidence: it may be any process, also outside the cgroup.
	Invoker string
	// Limit is the cgroup that ran out; "" when the log does not name it. Victim's is the cgroup of the process that was
	// killed.
	Limit, VictimCgroup string
	Victims             []Task
	// UsageKB, LimitKB and KmemKB are -1 when not told.
	UsageKB, LimitKB, KmemKB int64
	// Tasks is the table of processes in the cgroup; HasTasks is false when the log has none.
	Tasks    []Task
	HasTasks bool
	// NoKillable: nothing could be killed, because there was nothing in the cgroup.
	NoKillable bool
	// Group: the kernel then killed the rest of the victim's cgroup (memory.oom.group).
	Group bool
}

// Task is one process. Name is cut to 15 bytes by the kernel and may hold anything.
type Task struct {
	PID  int
	Name string
}

// maxGap ends a story whose end was lost: its records come within milliseconds.
const maxGap = 10 * time.Second

// maxTasks bounds the table: pods have a few dozen processes, and a verdict needs a handful.
const maxTasks = 4096

// Stories finds the stories in records. A story that is cut short, by the end of the log or by a gap, is dropped. Kill
// lines without a story (the kernel limits its rate) make none: they name no cgroup.
func Stories(records []Record) []Story {
	var t teller
	for i := range records {
		if !records[i].User {
			t.record(&records[i])
		}
	}
	return t.done
}

// teller keeps the stories that are being told. As a rule there is one at a time: the kernel holds a lock.
type teller struct {
	open []*telling
	done []Story
}

// telling is a story not yet ended.
type telling struct {
	Story
	last time.Duration
	// columns of the table before the name; 0 before its head.
	columns int
	// mixed: another story began before this one ended. Lines that name neither a cgroup nor a process may then be either
	// story's and are taken for neither.
	mixed bool
	// pid is what the oom-kill line says will be killed.
	pid int
}

func (t *teller) record(r *Record) {
	t.dropOld(r)
	text := r.Text
	switch {
	case strings.Contains(text, " invoked oom-killer: "):
		t.begin(r)
		return
	case len(t.open) == 0 && !opens(text):
		t.afterwards(text)
		return
	case len(t.open) == 0: // the head is lost: the ring wrapped, or a person copied a part
		t.begin(r)
	}
	switch {
	case strings.HasPrefix(text, "Task in "):
		t.taskIn(r)
	case strings.HasPrefix(text, "memory: usage "), strings.HasPrefix(text, "kmem: usage "):
		t.usage(r)
	case strings.HasPrefix(text, "Memory cgroup stats for "):
		t.stats(r)
	case isTableHead(text):
		t.tableHead(r)
	case strings.HasPrefix(text, "["):
		t.tableRow(r)
	case strings.HasPrefix(text, "oom-kill:"):
		t.oomKill(r)
	case strings.Contains(text, "Out of memory and no killable processes"):
		t.end(r, t.pick(func(s *telling) bool { return s.pid == 0 && s.VictimCgroup == "" }), func(s *telling) { s.NoKillable = true })
	case strings.HasPrefix(text, "Killed process "), strings.HasPrefix(text, "Memory cgroup out of memory: Killed process "),
		strings.HasPrefix(text, "Out of memory: Killed process "):
		t.killed(r)
	}
}

// dropOld ends what the log lost the end of.
func (t *teller) dropOld(r *Record) {
	kept := t.open[:0]
	for _, s := range t.open {
		if !r.HasTime || !s.HasTime || r.Time-s.last < maxGap {
			kept = append(kept, s)
		}
	}
	t.open = kept
}

func (t *teller) begin(r *Record) {
	comm, _, ok := strings.Cut(r.Text, " invoked oom-killer: ")
	if !ok {
		comm = ""
	}
	s := &telling{Story: Story{Invoker: comm, UsageKB: -1, LimitKB: -1, KmemKB: -1, Time: r.Time, HasTime: r.HasTime, Wall: r.Wall}, last: r.Time}
	t.open = append(t.open, s)
	if len(t.open) > maxOpen {
		t.open = t.open[1:]
	}
	if len(t.open) > 1 {
		for _, o := range t.open {
			o.mixed = true
		}
	}
}

// opens says whether a line can be the first that is left of a story: it names a cgroup or its numbers.
func opens(text string) bool {
	return strings.HasPrefix(text, "Task in ") || strings.HasPrefix(text, "memory: usage ") ||
		strings.HasPrefix(text, "Memory cgroup stats for ") || strings.HasPrefix(text, "oom-kill:") || isTableHead(text)
}

// maxOpen bounds stories without an end in a log without times.
const maxOpen = 8

// pick is the open story that fits a line which names neither cgroup nor process. When it could be more than one, the
// newest is taken and what it says of cgroups is dropped: no pod may be named by guess.
func (t *teller) pick(fits func(*telling) bool) *telling {
	var found *telling
	for _, s := range t.open {
		if !fits(s) {
			continue
		}
		if found != nil {
			s.Limit, s.VictimCgroup = "", ""
		}
		found = s
	}
	if found == nil {
		found = t.last()
		found.Limit, found.VictimCgroup = "", ""
	}
	return found
}

func (t *teller) last() *telling { return t.open[len(t.open)-1] }

func (s *telling) touch(r *Record) {
	if r.HasTime {
		s.last, s.Time, s.HasTime = r.Time, r.Time, true
	}
	if !r.Wall.IsZero() {
		s.Wall = r.Wall
	}
}

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
	path := strings.TrimPrefix(r.Text, "Memory cgroup stats for ")
	if before, _, ok := strings.Cut(path, ": cache:"); ok {
		path = before
	}
	path, whole := strings.CutSuffix(strings.TrimSpace(path), ":")
	if !whole && !strings.Contains(r.Text, ": cache:") {
		return // cut short
	}
	for _, s := range t.open {
		if s.Limit == "" {
			s.Limit = path
			s.touch(r)
			return
		}
	}
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

func (t *teller) end(r *Record, s *telling, finish func(*telling)) {
	finish(s)
	s.touch(r)
	t.done = append(t.done, s.Story)
	kept := t.open[:0]
	before := true
	for _, o := range t.open {
		if o == s {
			before = false
			continue
		}
		// Without times a story that lost its end would stay open for ever, and every later one would be mixed with it.
		if before && !o.HasTime {
			continue
		}
		kept = append(kept, o)
	}
	t.open = kept
	if len(t.open) == 1 && !t.open[0].HasTime {
		t.open[0].mixed = false
	}
}

// afterwards reads what follows a story that has ended: the group kill, which repeats the first victim.
func (t *teller) afterwards(text string) {
	if len(t.done) == 0 {
		return
	}
	s := &t.done[len(t.done)-1]
	if path, ok := strings.CutPrefix(text, "Tasks in "); ok && strings.Contains(path, " are going to be killed due to memory.oom.group set") {
		s.Group = true
		return
	}
	if !s.Group || !strings.HasPrefix(text, "Memory cgroup out of memory: Killed process ") {
		return
	}
	task, ok := killedTask(text)
	if ok && len(s.Victims) < maxTasks && !has(s.Victims, task.PID) {
		s.Victims = append(s.Victims, task)
	}
}

func has(tasks []Task, pid int) bool {
	for _, t := range tasks {
		if t.PID == pid {
			return true
		}
	}
	return false
}
