package kmsg

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestCut: a story that loses its end, at any byte, is dropped silently and names nobody.
func TestCut(t *testing.T) {
	t.Parallel()
	for _, lines := range [][]string{killed(podA, idA, "runc", 100), nothingKilled(podA)} {
		log := raw(time.Second, lines...)
		last := strings.LastIndex(log, ";") + 1
		for n := range last + len("Memory cgroup out of memory: Killed process 1") {
			if n < len(log) && !strings.Contains(log[:n], "no killable processes") {
				if got := tell(log[:n]); len(got) != 0 {
					t.Fatalf("cut at %d: %+v\n%s", n, got, log[:n])
				}
			}
		}
	}
	if got := tell(string(recorded(t, "v2-6.1-killed.kmsg"))[:3000]); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

// TestCutLines: a line that is cut names nothing.
func TestCutLines(t *testing.T) {
	t.Parallel()
	whole := killed(podA, idA, "python", 11342)
	for name, change := range map[string]func([]string){
		"in the victim's path": func(l []string) { l[13] = l[13][:strings.Index(l[13], ",task=")-40] },
		"in the limit's path":  func(l []string) { l[13] = l[13][:strings.Index(l[13], ",task_memcg=")-9] },
		"before the paths":     func(l []string) { l[13] = l[13][:strings.Index(l[13], ",oom_memcg=")-3] },
		"in the statistics":    func(l []string) { l[8] = l[8][:len(l[8])-9] },
	} {
		lines := slices.Clone(whole)
		change(lines)
		for _, s := range tell(raw(time.Second, lines...)) {
			if s.Limit != "" && s.Limit != podA || s.VictimCgroup != "" && s.VictimCgroup != podA+"/"+idA {
				t.Errorf("%s: limit %q, victim %q", name, s.Limit, s.VictimCgroup)
			}
			if len(s.Victims) != 1 || s.Victims[0].Name != "python" {
				t.Errorf("%s: %+v", name, s.Victims)
			}
		}
	}
	// Both lines that name the cgroup are cut: the story has no name.
	lines := slices.Clone(whole)
	lines[13] = lines[13][:strings.Index(lines[13], ",task_memcg=")-9]
	lines[8] = lines[8][:len(lines[8])-9]
	for _, s := range tell(raw(time.Second, lines...)) {
		if s.Limit != "" {
			t.Errorf("named by half a path: %q", s.Limit)
		}
	}
	// What a terminal shortens with dots.
	lines = slices.Clone(whole)
	for i := range lines {
		lines[i] = lines[i][:min(len(lines[i]), 70)] + "..."
	}
	for _, s := range tell(raw(time.Second, lines...)) {
		if s.Limit != "" || s.VictimCgroup != "" {
			t.Errorf("named by a shortened line: %+v", s)
		}
	}
}

// TestHeadLost: the ring was overwritten up to the middle of a story.
func TestHeadLost(t *testing.T) {
	t.Parallel()
	lines := killed(podA, idA, "runc", 100)
	for from := range 14 {
		s := one(t, raw(time.Second, lines[from:]...))
		if said(s) != "00000000000a 100:runc" {
			t.Errorf("from line %d: %+v", from, s)
		}
	}
	if got := tell(raw(time.Second, lines[14:]...)); len(got) != 0 {
		t.Errorf("a bare kill line makes a story: %+v", got)
	}
	lines = nothingKilled(podA)
	for from := range 4 {
		if got := said(one(t, raw(time.Second, lines[from:]...))); got != "00000000000a none" {
			t.Errorf("from line %d: %q", from, got)
		}
	}
	for _, s := range tell(raw(time.Second, lines[5:]...)) {
		if s.Limit != "" {
			t.Errorf("%+v", s)
		}
	}
}

// TestBareKillLines: the kernel limits the rate of the rest, and such a line names no cgroup.
func TestBareKillLines(t *testing.T) {
	t.Parallel()
	bare := killed(podA, idA, "runc", 100)[14]
	if got := tell(raw(time.Second, "oom_kill_process: 70 callbacks suppressed", bare, bare)); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	// After a whole story it does not belong to it.
	other := strings.ReplaceAll(bare, "process 100", "process 999")
	if got := saidAll(tell(raw(time.Second, append(killed(podA, idA, "runc", 100), other, bare)...))); !slices.Equal(got, []string{"00000000000a 100:runc"}) {
		t.Errorf("%q", got)
	}
	// After a cut one neither, soon or late.
	for _, gap := range []time.Duration{time.Millisecond, 20 * time.Second} {
		log := raw(time.Second, killed(podA, idA, "runc", 100)[:14]...) + raw(time.Second+gap, other)
		for _, s := range tell(log) {
			if s.Limit != "" {
				t.Errorf("after %v: %+v", gap, s)
			}
		}
	}
}

// TestOldKillLines: until 5.1 two lines tell one kill, the first of them of a thread.
func TestOldKillLines(t *testing.T) {
	t.Parallel()
	log := "[Thu Dec  7 00:05:14 2017] Task in " + podA + "/" + idA + " killed as a result of limit of " + podA + "\n" +
		"[Thu Dec  7 00:05:15 2017] [ pid ]   uid  tgid total_vm      rss nr_ptes swapents oom_score_adj name\n" +
		"[Thu Dec  7 00:05:15 2017] [28438]     0 28438  5063909   119961    1661   136409          -998 java\n" +
		"[Thu Dec  7 00:05:15 2017] Memory cgroup out of memory: Kill process 24572 (java) score 0 or sacrifice child\n" +
		"[Thu Dec  7 00:05:15 2017] Killed process 28438 (java) total-vm:20255636kB, anon-rss:466160kB, file-rss:13684kB\n"
	if got := said(one(t, log)); got != "00000000000a 28438:java" {
		t.Errorf("%q", got)
	}
	s := one(t, strings.ReplaceAll(log, "Killed process 28438 (java) ", "Killed process 28438 (java), UID 0, "))
	if got := said(s); got != "00000000000a 28438:java" {
		t.Errorf("with a user: %q", got)
	}
}

// TestConstraints: the constraint is no evidence. 5.0 says NONE for a memory cgroup, a vendor's 3.10 nothing at all.
func TestConstraints(t *testing.T) {
	t.Parallel()
	for _, c := range []string{"constraint=CONSTRAINT_MEMCG,nodemask=(null)", "constraint=CONSTRAINT_NONE,nodemask=(null)", ""} {
		lines := killed(podA, idA, "runc", 100)
		lines[13] = strings.Replace(lines[13], "constraint=CONSTRAINT_MEMCG,nodemask=(null)", c, 1)
		if got := said(one(t, raw(time.Second, lines...))); got != "00000000000a 100:runc" {
			t.Errorf("%q: %q", c, got)
		}
	}
	// The whole node: no cgroup is at its limit.
	lines := []string{
		"exe invoked oom-killer: gfp_mask=0x100cca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=-999",
		"Mem-Info:",
		"[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name",
		"[   1611]     0  1611     6025     1010    77824        0          -999 exe",
		"oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=" + podA + "/" + idA + ",task=exe,pid=1611,uid=0",
		"Out of memory: Killed process 1611 (exe) total-vm:24100kB, anon-rss:160kB, file-rss:3880kB, shmem-rss:0kB, UID:0 pgtables:76kB oom_score_adj:-999",
	}
	for _, s := range tell(raw(time.Second, lines...)) {
		if s.Limit != "" {
			t.Errorf("the node's own story has a limit: %+v", s)
		}
	}
}

// TestTimes: a story has the time of its last record, and the next one begins afresh.
func TestTimes(t *testing.T) {
	t.Parallel()
	log := raw(10*time.Second, killed(podA, idA, "runc", 100)...) + raw(25*time.Second, killed(podB, idB, "exe", 200)...)
	got := tell(log)
	if len(got) != 2 || got[0].Time != 10*time.Second+14*us || got[1].Time != 25*time.Second+14*us || !got[0].HasTime {
		t.Errorf("%+v", got)
	}
	for _, s := range tell(syslog(killed(podA, idA, "runc", 100)...)) {
		if s.HasTime || !s.Wall.IsZero() {
			t.Errorf("a time out of nothing: %+v", s)
		}
	}
}

// TestDateWithoutAZone: dmesg -T prints the node's local time and no zone. Whoever takes it for UTC is hours off.
func TestDateWithoutAZone(t *testing.T) {
	t.Parallel()
	for _, r := range Parse([]byte("[Thu Dec  7 00:05:14 2017] memory: usage 1kB, limit 1kB, failcnt 1\n")) {
		if r.HasTime || !r.Wall.IsZero() {
			t.Errorf("%+v", r)
		}
	}
}

// TestCutWithoutTimes: where no record has a time, a story that lost its end does not swallow those after it.
func TestCutWithoutTimes(t *testing.T) {
	t.Parallel()
	for name, b := range map[string][]string{"nothing killed": nothingKilled(podB), "killed": killed(podB, idB, "runc", 200)} {
		cut := nothingKilled(podA)
		log := syslog(cut[:5]...)
		for range 5 {
			log += syslog(b...)
		}
		told := 0
		for _, s := range tell(log) {
			switch s.Limit {
			case podA:
				t.Errorf("%s: the cut story is told: %+v", name, s)
			case podB:
				told++
			}
		}
		if told < 4 {
			t.Errorf("%s: %d of 5 whole stories are told", name, told)
		}
	}
}

// TestOddTableHeads: what looks like the head of a table and is none counts no columns.
func TestOddTableHeads(t *testing.T) {
	t.Parallel()
	for _, head := range []string{"[pid name", "[pid] name", "[ pid ] name", "[]pid name", "[  pid  ]   name "} {
		lines := killed(podA, idA, "runc", 100)
		lines[11] = head
		if got := said(one(t, raw(time.Second, lines...))); got != "00000000000a 100:runc" {
			t.Errorf("%q: %q", head, got)
		}
	}
}

// TestManyTasks: a pod with very many processes is bounded, and its victim is still told.
func TestManyTasks(t *testing.T) {
	t.Parallel()
	lines := killed(podA, idA, "java", 7)
	rows := make([]string, 0, 3*maxTasks)
	for i := range 3 * maxTasks {
		rows = append(rows, fmt.Sprintf("[%7d]     0 %5d     2837       83    53248        0          -998 worker", i, i))
	}
	s := one(t, raw(time.Second, slices.Insert(lines, 13, rows...)...))
	if len(s.Tasks) > maxTasks || said(s) != "00000000000a 7:java" {
		t.Errorf("%d tasks, %q", len(s.Tasks), said(s))
	}
}

// TestHeadsWithoutEnds: the stories that are open at a time are bounded.
func TestHeadsWithoutEnds(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	for range 10000 {
		b.WriteString(syslog(nothingKilled(podA)[0]))
	}
	var tl teller
	rs := Parse(b.Bytes())
	for i := range rs {
		tl.record(&rs[i])
	}
	if len(tl.open) > maxOpen || len(tl.done) != 0 {
		t.Errorf("%d open, %d told", len(tl.open), len(tl.done))
	}
}
