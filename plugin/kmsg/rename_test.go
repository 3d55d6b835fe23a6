package kmsg

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func same(path string) string { return path }

// nameless is stories with what renaming leaves of them.
func nameless(log []byte) []Story {
	stories := Stories(Parse(log))
	for i := range stories {
		s := &stories[i]
		s.Time = s.Time.Truncate(time.Microsecond)
		s.Wall = s.Wall.UTC()
		if s.Invoker != "" {
			s.Invoker = processName(s.Invoker)
		}
		for _, tasks := range [][]Task{s.Victims, s.Tasks} {
			for j := range tasks {
				tasks[j].Name = processName(tasks[j].Name)
			}
		}
	}
	return stories
}

// Every log tells the same stories without its names, and once more without a change.
func TestRenamedTellsTheSame(t *testing.T) {
	t.Parallel()
	logs := map[string]string{
		"raw":     raw(time.Second, killed(podA, idA, "runc:[2:INIT]", 100)...) + raw(time.Minute, nothingKilled(podB)...),
		"syslog":  syslog(killed(podA, idA, "npm start", 100)...),
		"twice":   raw(time.Hour, killed(podA, idA, "6", 100)...) + raw(time.Second, killed(podA, idA, "java", 100)...),
		"talos":   "192.0.2.9: kern: warning: [2026-11-30T10:15:12.1Z]: oom-kill:constraint=,oom_memcg=/a,task_memcg=/a/b,task=x,pid=1,uid=0\n192.0.2.9: kern: err: [2026-11-30T10:15:12.2Z]: Memory cgroup out of memory: Killed process 1 (x) total-vm:1kB\n",
		"no time": "kernel: Task in /a killed as a result of limit of /b\nkernel: Killed process 1 (x) total-vm:1kB, anon-rss:1kB\n",
		// The story's end was lost, and the next boot's records are earlier.
		"lost end":  "4,1,1000000,-;x invoked oom-killer: gfp_mask=0x0\n4,2,1000001,-;memory: usage 1kB, limit 1kB, failcnt 1\n6,3,99000000,-;umbrella\n4,4,500000,-;Memory cgroup stats for /b:\n4,5,500001,-;Out of memory and no killable processes...\n",
		"cut lines": "4,1,1,-;Task in /a\n4,2,2,-;Memory cgroup stats for /a\n4,3,3,-;oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/a\n4,4,4,-;oom-kill:x,oom_memcg=/a,task_memcg=/b\n4,5,5,-;Killed process 7 (x)\n",
		"group":     "4,1,1,-;oom-kill:x,oom_memcg=/a,task_memcg=/b,task=x,pid=7,uid=0\n4,2,2,-;Memory cgroup out of memory: Killed process 7 (x) total-vm:1kB\n4,3,3,-;Tasks in /a are going to be killed due to memory.oom.group set\n4,4,4,-;Memory cgroup out of memory: Killed process 8 (pause) total-vm:1kB\n",
	}
	files, err := filepath.Glob("testdata/*.*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no logs: %v", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		logs[name] = string(text)
	}
	for name, log := range logs {
		got := Renamed([]byte(log), same)
		was, now := nameless([]byte(log)), nameless(got)
		if len(was) == 0 || !reflect.DeepEqual(was, now) {
			t.Errorf("%s: %+v\nwas %+v\n%s", name, now, was, got)
		}
		if again := Renamed(got, same); string(again) != string(got) {
			t.Errorf("%s: renamed again it becomes\n%s\nfrom\n%s", name, again, got)
		}
	}
}

func TestRenamedSigns(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`5,1,1,-;audit: type=1400 audit(1.1:2): apparmor="DENIED" operation="signal" class="signal" profile="acme" pid=7 comm="acmed" requested_mask="receive" peer="runc"` + "\n": `4,1,1,-;audit: apparmor="DENIED" profile="app" comm="app" peer="runc"` + "\n",
		`5,1,1,-;audit: apparmor="DENIED" profile="cri-containerd.apparmor.d" comm="runc:[1:CHILD]"` + "\n":                                                                        `4,1,1,-;audit: apparmor="DENIED" profile="cri-containerd.apparmor.d" comm="runc:[1:CHILD]"` + "\n",
		`5,1,1,-;audit: apparmor="DENIED" x_profile="runc"` + "\n":                                                                                                                 `4,1,1,-;audit: apparmor="DENIED" comm="runc"` + "\n",
		`5,1,1,-;audit: apparmor="DENIED" profile="acme" comm="acmed"` + "\n":                                                                                                      "4,1,1,-;" + leftOut + "\n",
		`12,1,1,-;[talos] Sending SIGKILL to cgroup {"component": "acme", "cgroup": "/sys/fs/cgroup/a/b"}` + "\n":                                                                  `12,1,1,-;[talos] Sending SIGKILL to cgroup {"cgroup": "/sys/fs/cgroup/A/B"}` + "\n",
		"":                          "",
		"Nov 23 19:57:05 n1 d: x\n": "",
	} {
		if got := string(Renamed([]byte(in), strings.ToUpper)); got != want {
			t.Errorf("%q becomes\n%q, want\n%q", in, got, want)
		}
	}
}

// FuzzRenamed: whatever the log, as many stories are told, each at its time, of its cgroup and with its numbers.
func FuzzRenamed(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, log []byte) {
		got := Renamed(log, plainPath)
		was, now := nameless(log), nameless(got)
		if len(was) != len(now) || (len(Parse(log)) == 0) != (len(Parse(got)) == 0) {
			t.Fatalf("%d stories, were %d\n%q\n%q", len(now), len(was), got, log)
		}
		for i, s := range now {
			w := was[i]
			if s.Time != w.Time || !s.Wall.Equal(w.Wall) || s.Limit != plainPath(w.Limit) || s.VictimCgroup != plainPath(w.VictimCgroup) || s.UsageKB != w.UsageKB ||
				s.LimitKB != w.LimitKB || s.NoKillable != w.NoKillable || s.Group != w.Group || !reflect.DeepEqual(s.Victims, w.Victims) {
				t.Errorf("%+v\nwas %+v\n%q\n%q", s, w, got, log)
			}
		}
	})
}

// plainPath keeps paths apart and has no bytes that a log would break at.
func plainPath(p string) string {
	return strings.Map(func(r rune) rune {
		if r > ' ' && r <= '~' && r != ':' && r != ',' && r != '[' && r != '<' {
			return r
		}
		return 'x'
	}, p)
}
