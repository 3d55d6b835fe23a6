package kmsg

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// seeds are the logs of testdata, whole and in pieces, and made ones.
func seeds(f *testing.F) {
	f.Helper()
	files, err := filepath.Glob("testdata/*.*")
	if err != nil || len(files) == 0 {
		f.Fatalf("no logs: %v", err)
	}
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
		f.Add(raw[len(raw)/2:])
		f.Add(raw[:len(raw)/2])
	}
	f.Add([]byte(raw(time.Second, killed(podA, idA, "runc", 100)...) + raw(time.Second, nothingKilled(podB)...)))
	f.Add([]byte(syslog(killed(podA, idA, "npm start", 100)...)))
	f.Add([]byte("[pid name\n[00]"))
	f.Add([]byte("[  1.5] a\n;b\n"))
	f.Add([]byte("[  1.5] Memory cgroup stats for /kube\npods/a:\n Memory\n[  1.6] Out of memory and no killable processes...\n"))
	f.Add([]byte("192.0.2.9: kern: warning: [2026-11-30T10:15:12.1Z]: oom-kill:constraint=,oom_memcg=/a,task_memcg=/a/b,task=x,pid=1,uid=0\n"))
}

// FuzzParse: a log of any bytes gives records, no more of them than lines, and no time that is absurd.
func FuzzParse(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, log []byte) {
		rs := Parse(log)
		if n := bytes.Count(log, []byte("\n")) + 1; len(rs) > n {
			t.Errorf("%d records of %d lines", len(rs), n)
		}
		total := 0
		for _, r := range rs {
			if r.Time < 0 || !r.HasTime && r.Time != 0 {
				t.Errorf("time %v %v", r.Time, r.HasTime)
			}
			total += len(r.Text)
		}
		if total > len(log) {
			t.Errorf("%d bytes of text from %d bytes of log", total, len(log))
		}
	})
}

// FuzzStories: every cgroup that a story names stands in the log.
func FuzzStories(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, log []byte) {
		rs := Parse(log)
		in := squeezed(string(log))
		for _, s := range Stories(rs) {
			for _, cg := range []string{s.Limit, s.VictimCgroup} {
				if !strings.Contains(in, squeezed(cg)) {
					t.Errorf("%q is not in the log", cg)
				}
			}
			if s.NoKillable == (len(s.Victims) > 0) {
				t.Errorf("neither one thing nor the other: %+v", s)
			}
			if len(s.Tasks) > maxTasks || !s.HasTasks && len(s.Tasks) > 0 {
				t.Errorf("%d tasks", len(s.Tasks))
			}
		}
	})
}

// squeezed undoes what parsing may undo: line breaks of a terminal and escapes.
func squeezed(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '\\' && i+3 < len(s) && s[i+1] == 'x' {
			hi, lo := strings.IndexByte(hexDigits, lower(s[i+2])), strings.IndexByte(hexDigits, lower(s[i+3]))
			if hi >= 0 && lo >= 0 {
				c = byte(hi<<4 | lo)
				i += 3
			}
		}
		if c > ' ' {
			b.WriteByte(c)
		}
	}
	return b.String()
}

const hexDigits = "0123456789abcdef"

func lower(c byte) byte {
	if c >= 'A' && c <= 'F' {
		return c + 'a' - 'A'
	}
	return c
}
