package cgroup

import (
	"testing"
	"testing/fstest"
)

// FuzzMemory: whatever stands in a pod's cgroup files is an error or numbers; a limit that is not there is Unlimited and nothing
// else is below zero.
func FuzzMemory(f *testing.F) {
	f.Add("max\n", "4096\n", "low 0\nhigh 0\nmax 12\noom 3\noom_kill 0\noom_group_kill 0\n", "7\n", true)
	f.Add("0\n", "0\n", "", "0\n", true)
	f.Add("9223372036854771712\n", "1048576\n", "oom_kill_disable 0\nunder_oom 1\noom_kill 2\n", "41\n", false)
	f.Add("-1\n", "max", "oom -5\noom", "x", false)
	f.Fuzz(func(t *testing.T, limit, usage, events, failcnt string, v2 bool) {
		const dir = "sys/fs/cgroup/kubepods/podx"
		files := fstest.MapFS{}
		names := []string{"memory.limit_in_bytes", "memory.usage_in_bytes", "memory.oom_control", "memory.failcnt"}
		if v2 {
			names = []string{"memory.max", "memory.current", "memory.events", "unused"}
		}
		for i, text := range []string{limit, usage, events, failcnt} {
			files[dir+"/"+names[i]] = &fstest.MapFile{Data: []byte(text)}
		}
		m, err := Pod{Dir: dir, v2: v2}.Read(files)
		if err != nil {
			return
		}
		if m.Limit < Unlimited || m.Limit > 1<<60 && !v2 || m.Usage < Unlimited || m.Failcnt < Unlimited || m.OOMs < 0 || m.Kills < 0 {
			t.Errorf("%+v of %q %q %q %q", m, limit, usage, events, failcnt)
		}
	})
}
