package kmsg

import (
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
