package kmsg

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// The uids and ids of the stories that are made here. They have the length of real ones.
const (
	podA = "/kubepods/burstable/pod0000b000-0000-4000-8000-00000000000a"
	podB = "/kubepods/burstable/pod0000b000-0000-4000-8000-00000000000b"
	idA  = "17073bd42454cf2081169f61bdce3e238359ed8c67f6b276e6f8cf3161d2b95d"
	idB  = "960f6d2f816b92a5da36b1e9cbadb318158ffdf83326c715325e2b8d497ef840"
)

// killed is a story of a 6.1 kernel in which one process is killed, a line an element.
func killed(pod, id, comm string, pid int) []string {
	return []string{
		"runc:[1:CHILD] invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=-998",
		fmt.Sprintf("CPU: 1 PID: %d Comm: runc:[1:CHILD] Not tainted 6.1.0-57-cloud-amd64 #1", pid),
		"Call Trace:",
		" <TASK>",
		" mem_cgroup_out_of_memory+0x134/0x150",
		" </TASK>",
		"memory: usage 512kB, limit 512kB, failcnt 122",
		"swap: usage 0kB, limit 9007199254740988kB, failcnt 0",
		"Memory cgroup stats for " + pod + ":",
		"anon 4096",
		"Tasks state (memory values in pages):",
		"[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name",
		fmt.Sprintf("[%7d]     0 %5d     2837       83    53248        0          -998 %s", pid, pid, comm),
		fmt.Sprintf("oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=%s,mems_allowed=0,oom_memcg=%s,task_memcg=%s/%s,task=%s,pid=%d,uid=0", id, pod, pod, id, comm, pid),
		fmt.Sprintf("Memory cgroup out of memory: Killed process %d (%s) total-vm:11348kB, anon-rss:52kB, file-rss:280kB, shmem-rss:0kB, UID:0 pgtables:52kB oom_score_adj:-998", pid, comm),
	}
}

// nothingKilled is a story of a 6.1 kernel at a limit of 0.
func nothingKilled(pod string) []string {
	return []string{
		"runc invoked oom-killer: gfp_mask=0x400cc0(GFP_KERNEL_ACCOUNT), order=1, oom_score_adj=1",
		"memory: usage 0kB, limit 0kB, failcnt 18",
		"swap: usage 0kB, limit 9007199254740988kB, failcnt 0",
		"Memory cgroup stats for " + pod + ":",
		"anon 0",
		"Tasks state (memory values in pages):",
		"[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name",
		"Out of memory and no killable processes...",
	}
}

// raw writes lines as /dev/kmsg has them, one microsecond apart.
func raw(start time.Duration, lines ...string) string {
	var b strings.Builder
	for i, l := range lines {
		fmt.Fprintf(&b, "6,%d,%d,-;%s\n", 100+i, start.Microseconds()+int64(i), l)
	}
	return b.String()
}

// syslog writes lines without a time that can be read.
func syslog(lines ...string) string {
	return "Nov 23 19:57:05 node-1 kernel: " + strings.Join(lines, "\nNov 23 19:57:05 node-1 kernel: ") + "\n"
}

func tell(log string) []Story { return Stories(Parse([]byte(log))) }

// one is the only story of a log.
func one(t *testing.T, log string) Story {
	t.Helper()
	got := tell(log)
	if len(got) != 1 {
		t.Fatalf("%d stories: %+v", len(got), got)
	}
	return got[0]
}

// said is a story in short, for comparisons.
func said(s Story) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", strings.TrimPrefix(s.Limit, "/kubepods/burstable/pod0000b000-0000-4000-8000-"))
	for _, v := range s.Victims {
		fmt.Fprintf(&b, " %d:%s", v.PID, v.Name)
	}
	if s.NoKillable {
		b.WriteString(" none")
	}
	return b.String()
}

func saidAll(ss []Story) []string {
	out := make([]string, 0, len(ss))
	for _, s := range ss {
		out = append(out, said(s))
	}
	return out
}

// TestRecordedStories: what logs of real kernels tell.
func TestRecordedStories(t *testing.T) {
	t.Parallel()
	const el7 = "/kubepods/pod968128e3-5456-11e9-8874-000c29721372"
	const v2 = "/kubepods/burstable/pod0000b000-0000-4000-8000-0000005"
	for name, want := range map[string][]Story{
		"el7-dmesg.txt": {
			{Limit: el7, VictimCgroup: el7 + "/0c04b9baa40f781fbeb4d53e0ca67101e6e6d588ecdcbec5874e753f1a42e457", Victims: []Task{{121875, "5"}},
				UsageKB: 0, LimitKB: 0, KmemKB: 0, Tasks: []Task{{121875, "5"}}, HasTasks: true},
			{Invoker: "exe", Limit: el7, VictimCgroup: el7 + "/1db6c350afbbf07ad909f2c9f896a69333e182d83d513fc283d728cd7d6cf0b5", Victims: []Task{{121918, "exe"}},
				UsageKB: 0, LimitKB: 0, KmemKB: 0, Tasks: []Task{{121918, "exe"}}, HasTasks: true},
		},
		"v2-6.1-zero-limit.kmsg": {
			{Invoker: "runc", Limit: "/kubepods/burstable/pod0000b000-0000-4000-8000-000000000001", UsageKB: 0, LimitKB: 0, KmemKB: -1, HasTasks: true, NoKillable: true,
				Time: 100231563 * us, HasTime: true},
		},
		"v2-6.1-killed.kmsg": {
			{Invoker: "runc:[0:PARENT]", Limit: v2 + "24288", VictimCgroup: v2 + "24288/17073bd42454cf2081169f61bdce3e238359ed8c67f6b276e6f8cf3161d2b95d", Victims: []Task{{1077, "runc:[0:PARENT]"}},
				UsageKB: 512, LimitKB: 512, KmemKB: -1, Tasks: []Task{{1077, "runc:[0:PARENT]"}, {1078, "runc:[1:CHILD]"}, {1079, "runc:[2:INIT]"}}, HasTasks: true, Time: 134209184 * us, HasTime: true},
			{Invoker: "runc:[1:CHILD]", Limit: v2 + "24288", VictimCgroup: v2 + "24288/17073bd42454cf2081169f61bdce3e238359ed8c67f6b276e6f8cf3161d2b95d", Victims: []Task{{1079, "runc:[2:INIT]"}},
				UsageKB: 408, LimitKB: 512, KmemKB: -1, Tasks: []Task{{1078, "runc:[1:CHILD]"}, {1079, "runc:[2:INIT]"}}, HasTasks: true, Time: 134236525 * us, HasTime: true},
		},
		"v1-6.18-dmesg.txt": {
			{Invoker: "runc:[2:INIT]", Limit: "/kubepods/burstable/pod968128e3-5456-11e9-8874-000c29721373", VictimCgroup: "/kubepods/burstable/pod968128e3-5456-11e9-8874-000c29721373/fd8f2cbb3fba80fb3d3e902cb524bb19afc545f4b0d15d4b62ed1e43ef159f9f",
				Victims: []Task{{19339, "runc:[2:INIT]"}}, UsageKB: 512, LimitKB: 512, KmemKB: 252, Tasks: []Task{{19339, "runc:[2:INIT]"}}, HasTasks: true, Time: 629800892 * us, HasTime: true},
		},
		"syslog-el7.txt": {
			{Invoker: "runc:[1:CHILD]", Limit: "/kubepods/pod6938baad-f6ea-4d11-a4f5-f9f38c45f5ef", VictimCgroup: "/kubepods/pod6938baad-f6ea-4d11-a4f5-f9f38c45f5ef/16a27bc57416602929f68d8165ca5c861bc68ef1d5fee95544167527eeeb0ea8",
				Victims: []Task{{33496, "runc:[1:CHILD]"}}, UsageKB: 51200, LimitKB: 51200, KmemKB: 51064, Tasks: []Task{{33496, "runc:[1:CHILD]"}}, HasTasks: true},
		},
	} {
		got := Stories(Parse(recorded(t, name)))
		for i := range got {
			if len(got[i].Tasks) == 0 {
				got[i].Tasks = nil
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: %d stories, want %d", name, len(got), len(want))
			continue
		}
		for i := range got {
			if g, w := fmt.Sprintf("%+v", got[i]), fmt.Sprintf("%+v", want[i]); g != w {
				t.Errorf("%s, story %d:\n%s\nwant\n%s", name, i, g, w)
			}
		}
	}
}

// TestGroupKill: the kernel kills the rest of the cgroup and says the first victim again; that is one story.
func TestGroupKill(t *testing.T) {
	t.Parallel()
	s := one(t, string(recorded(t, "journal-5.14-group.txt")))
	if !s.Group || len(s.Victims) != 1 || s.Victims[0].Name != "runc:[2:INIT]" || !strings.HasSuffix(s.Limit, ".scope") {
		t.Errorf("%+v", s)
	}
	lines := killed(podA, idA, "python3", 100)
	kill := func(pid int, comm string) string {
		return fmt.Sprintf("Memory cgroup out of memory: Killed process %d (%s) total-vm:1kB, anon-rss:0kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:8kB oom_score_adj:900", pid, comm)
	}
	lines = append(lines, "Tasks in "+podA+"/"+idA+" are going to be killed due to memory.oom.group set", kill(100, "python3"), kill(101, "sh"), "audit: type=1400", kill(102, "mount"))
	s = one(t, raw(time.Second, lines...))
	if got := said(s); got != "00000000000a 100:python3 101:sh 102:mount" {
		t.Errorf("%q", got)
	}
}

// TestPauseFirst: a Guaranteed pod's table is whole, so that the victim's neighbours are seen.
func TestPauseFirst(t *testing.T) {
	t.Parallel()
	s := one(t, string(recorded(t, "v1-5.x-pause.txt")))
	if len(s.Tasks) != 13 || s.Victims[0] != (Task{5740, "pause"}) || s.LimitKB != 16777216 || s.Tasks[12].Name != "data_sim" {
		t.Errorf("%+v", s)
	}
}

// TestNames: the kernel puts any 15 bytes into a name.
func TestNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"runc:[2:INIT]", "npm start", "CPU 2/KVM", "StreamTrans #72", "./server", "a:b:c", "(sd-pam)", "a) (b", "a) total-vm:1",
		"x,pid=7,uid=0", "x,task=y", "elastic-operato", "6", "-", "[kworker/u8:1]", "a,oom_memcg=/b",
	} {
		s := one(t, raw(time.Second, killed(podA, idA, name, 4711)...))
		if s.Limit != podA || !strings.HasPrefix(s.VictimCgroup, podA+"/"+idA) {
			t.Errorf("%q: limit %q, victim %q", name, s.Limit, s.VictimCgroup)
		}
		if len(s.Victims) != 1 || s.Victims[0] != (Task{4711, name}) {
			t.Errorf("%q: victims %v", name, s.Victims)
		}
		if len(s.Tasks) != 1 || s.Tasks[0].Name != strings.Join(strings.Fields(name), " ") {
			t.Errorf("%q: tasks %v", name, s.Tasks)
		}
	}
}

// TestForeignRecordsInside: other records of the kernel fall into a story.
func TestForeignRecordsInside(t *testing.T) {
	t.Parallel()
	var lines []string
	for i, l := range killed(podA, idA, "runc", 100) {
		lines = append(lines, l, []string{
			"audit: type=1325 audit(1583448728.949:176): table=filter family=2 entries=31",
			"IPv6: ADDRCONF(NETDEV_CHANGE): eni3f1a: link becomes ready",
			"[drm] a module that begins with brackets",
		}[i%3])
	}
	if got := said(one(t, raw(time.Second, lines...))); got != "00000000000a 100:runc" {
		t.Errorf("%q", got)
	}
}

// TestInterleaved: two stories whose records are shuffled one by one stay apart, or name nothing.
func TestInterleaved(t *testing.T) {
	t.Parallel()
	shuffle := func(a, b []string) []string {
		var out []string
		for i := range max(len(a), len(b)) {
			if i < len(a) {
				out = append(out, a[i])
			}
			if i < len(b) {
				out = append(out, b[i])
			}
		}
		return out
	}
	a, b := killed(podA, idA, "runc", 100), killed(podB, idB, "exe", 200)
	got := saidAll(tell(raw(time.Second, shuffle(a, b)...)))
	slices.Sort(got)
	if want := []string{"00000000000a 100:runc", "00000000000b 200:exe"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	// An application in A, nothing killable in B: A must never be who had nothing to kill.
	for _, lines := range [][]string{shuffle(killed(podA, idA, "java", 100), nothingKilled(podB)), shuffle(nothingKilled(podB), killed(podA, idA, "java", 100))} {
		for _, s := range tell(raw(time.Second, lines...)) {
			if s.Limit == podA && (s.NoKillable || len(s.Victims) != 1 || s.Victims[0].Name != "java") {
				t.Errorf("A is told B's end: %+v", s)
			}
			if s.Limit == podB && !s.NoKillable {
				t.Errorf("B is told A's end: %+v", s)
			}
		}
	}
}

// TestEveryShuffle: whatever order the records of two stories come in, no victim is put to the other's cgroup.
func TestEveryShuffle(t *testing.T) {
	t.Parallel()
	short := func(lines []string) []string { // head, numbers, cgroup, table, summary, end
		return slices.DeleteFunc(slices.Clone(lines), func(s string) bool {
			return strings.HasPrefix(s, " ") || strings.HasPrefix(s, "CPU") || strings.HasPrefix(s, "Call") || strings.HasPrefix(s, "swap") || strings.HasPrefix(s, "anon") || strings.HasPrefix(s, "Tasks state")
		})
	}
	for _, pair := range [][2][]string{
		{short(killed(podA, idA, "java", 100)), short(nothingKilled(podB))},
		{short(killed(podA, idA, "java", 100)), short(killed(podB, idB, "runc", 200))},
	} {
		n := 0
		each(pair[0], pair[1], nil, func(lines []string) {
			n++
			for _, log := range []string{raw(time.Second, lines...), syslog(lines...)} {
				for _, s := range tell(log) {
					java := len(s.Victims) > 0 && s.Victims[0].Name == "java"
					if s.Limit == podA && !java || s.Limit == podB && java {
						t.Fatalf("%+v\nof\n%s", s, log)
					}
				}
			}
		})
		t.Logf("%d orders", n)
	}
}

// each calls f with every order of a and b that keeps the order within each.
func each(a, b, done []string, f func([]string)) {
	if len(a) == 0 || len(b) == 0 {
		f(slices.Concat(done, a, b))
		return
	}
	each(a[1:], b, append(slices.Clip(done), a[0]), f)
	each(a, b[1:], append(slices.Clip(done), b[0]), f)
}
