package kmsg

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// plainName matches the names that helpers really have. A name after "runc:[" may be anything.
var plainName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9:_\[\].-]{1,16}$`) })

func processName(name string) string {
	switch {
	case !IsHelper(name):
		return "app"
	case plainName().MatchString(name):
		return name
	}
	return "runc:[x]"
}

// numbers matches flags and figures: "gfp_mask=0xcc0(GFP_KERNEL), order=0", "total-vm:11348kB, anon-rss:132kB".
var numbers = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-zA-Z_-]+[:=]-?(0x)?[0-9a-f]+(kB)?(\([A-Z_|]+\))?,?$`)
})

// plainText keeps the words that are numbers.
func plainText(s string) string {
	var kept []string
	for w := range strings.FieldsSeq(s) {
		if numbers().MatchString(w) {
			kept = append(kept, w)
		}
	}
	return strings.TrimSuffix(strings.Join(kept, " "), ",")
}

func (n *renaming) taskIn(text string) string {
	victim, limit, ok := strings.Cut(strings.TrimPrefix(text, "Task in "), " killed as a result of limit of ")
	if !ok {
		return "Task in .." // cut short; it still begins a story
	}
	return "Task in " + n.cgroup(victim) + " killed as a result of limit of " + n.cgroup(strings.TrimSpace(limit))
}

var failcnt = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`failcnt [0-9]+`) })

func usageLine(text string) string {
	kind, _, _ := strings.Cut(text, ":")
	out := fmt.Sprintf("%s: usage %s, limit %s", kind, figure(kilobytes(text, "usage ")), figure(kilobytes(text, "limit ")))
	if f := failcnt().FindString(text); f != "" {
		out += ", " + f
	}
	return out
}

func figure(kb int64) string {
	if kb < 0 {
		return "untold"
	}
	return strconv.FormatInt(kb, 10) + "kB"
}

func (n *renaming) stats(text string) string {
	path, ok := statsPath(text)
	if !ok {
		return "Memory cgroup stats for .."
	}
	return "Memory cgroup stats for " + n.cgroup(path) + ":"
}

func (n *renaming) tableHead(text string) string {
	_, head, _ := strings.Cut(text, "]")
	cols := strings.Fields(head)
	if len(cols) > 1 {
		n.columns = len(cols) - 1
	}
	for i, c := range cols {
		if strings.Trim(c, "abcdefghijklmnopqrstuvwxyz_") != "" {
			cols[i] = "x"
		}
	}
	if len(cols) == 0 {
		cols = []string{"name"}
	}
	return "[  pid  ] " + strings.Join(cols, " ")
}

// tableRow keeps the numbers; a row that is none tells nothing.
func (n *renaming) tableRow(text string) string {
	pid, rest, ok := strings.Cut(text[1:], "]")
	num, err := strconv.Atoi(strings.TrimSpace(pid))
	fields := strings.Fields(rest)
	if !ok || err != nil || n.columns == 0 || len(fields) <= n.columns {
		return ""
	}
	name := processName(strings.Join(fields[n.columns:], " "))
	for i, f := range fields[:n.columns] {
		if _, err := strconv.ParseInt(f, 10, 64); err != nil {
			fields[i] = "x"
		}
	}
	return fmt.Sprintf("[%7d] %s %s", num, strings.Join(fields[:n.columns], " "), name)
}

// oomKill leaves out the cpuset, which is a name too.
func (n *renaming) oomKill(text string) string {
	head, tail, whole := cutLast(text, ",task=")
	_, paths, named := strings.Cut(head, ",oom_memcg=")
	limit, victim, hasVictim := strings.Cut(paths, ",task_memcg=")
	switch {
	case !named:
		return "oom-kill:constraint=CONSTRAINT_NONE"
	case !hasVictim:
		return "oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=.."
	}
	out := "oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=" + n.cgroup(limit) + ",task_memcg="
	if whole {
		name, _, _ := cutLast(tail, ",pid=")
		out += n.cgroup(victim) + ",task=" + processName(name)
	}
	if _, rest, ok := cutLast(text, ",pid="); ok {
		pid, _, _ := strings.Cut(rest, ",")
		num, _ := strconv.Atoi(pid) // 0 is no process
		out += fmt.Sprintf(",pid=%d,uid=0", num)
	}
	return out
}

func killLine(text string) string {
	for _, prefix := range []string{"Killed process ", "Memory cgroup out of memory: Killed process ", "Out of memory: Killed process "} {
		if !strings.HasPrefix(text, prefix) {
			continue
		}
		task, ok := killedTask(text)
		if !ok {
			return ""
		}
		out := fmt.Sprintf("%s%d (%s)", prefix, task.PID, processName(task.Name))
		if _, tail, ok := cutLast(text, ") total-vm:"); ok {
			out += " " + plainText("total-vm:"+tail)
		}
		return strings.TrimSpace(out)
	}
	return ""
}

// auditField finds the fields of an AppArmor record that say who was denied what.
var auditField = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b(profile|comm|peer)="([^"]*)"`) })

// commonProfiles tell nothing of a node.
var commonProfiles = map[string]bool{"unconfined": true, "cri-containerd.apparmor.d": true, "crio-default": true, "docker-default": true}

func denial(text string) string {
	out := `audit: apparmor="DENIED"`
	for _, m := range auditField().FindAllStringSubmatch(text, -1) {
		val := processName(m[2])
		if commonProfiles[m[2]] {
			val = m[2]
		}
		out += fmt.Sprintf(" %s=%q", m[1], val)
	}
	if !DeniesRunc(out) { // a field in an odd form
		out += ` comm="runc"`
	}
	return out
}
