package kmsg

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// recorded is a log of testdata: copied from a real node, or composed in the form of one.
func recorded(tb testing.TB, name string) []byte {
	tb.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

// texts are the texts of the records, for messages and comparisons.
func texts(rs []Record) []string {
	out := make([]string, 0, len(rs))
	for _, r := range rs {
		out = append(out, r.Text)
	}
	return out
}

const us = time.Microsecond

// TestPrefixes: each form that a kernel log is copied in gives the kernel's own text.
func TestPrefixes(t *testing.T) {
	t.Parallel()
	const text = "memory: usage 512kB, limit 512kB, failcnt 122"
	for name, tc := range map[string]struct {
		line string
		time time.Duration // 0 when the line gives none
		wall string
	}{
		"/dev/kmsg":                  {"6,592,134204137,-;" + text, 134204137 * us, ""},
		"/dev/kmsg with a caller":    {"6,592,134204137,-,caller=T20133;" + text, 134204137 * us, ""},
		"/dev/kmsg, more fields":     {"6,592,134204137,c,x=y,z;" + text, 134204137 * us, ""},
		"dmesg":                      {"[  629.715036] " + text, 629715036 * us, ""},
		"dmesg of a year":            {"[39291577.009363] " + text, 39291577009363 * us, ""},
		"dmesg with a caller":        {"[  629.715036][T20133] " + text, 629715036 * us, ""},
		"dmesg -r":                   {"<6>[  629.715036] " + text, 629715036 * us, ""},
		"dmesg -x":                   {"kern  :info  : [  629.715036] " + text, 629715036 * us, ""},
		"dmesg, delta":               {"[  +0.000003] " + text, 0, ""},
		"dmesg -T in Chinese":        {"[一 4月 1 17:22:49 2019] " + text, 0, ""},
		"dmesg -T in German":         {"[Mo Mär  2 08:58:00 2026] " + text, 0, ""},
		"dmesg -t":                   {text, 0, ""},
		"syslog":                     {"Nov 23 19:57:05 node-1 kernel: " + text, 0, ""},
		"syslog with kernel time":    {"Jul  1 08:12:10 node-5 kernel: [49223.663280] " + text, 49223663280 * us, ""},
		"syslog, ISO date":           {"2026-03-02T08:58:00.000000+00:00 node-1 kernel: [  629.715036] " + text, 629715036 * us, ""},
		"syslog of BusyBox":          {"Mar  2 08:58:00 node-1 kern.info kernel: [  629.715036] " + text, 629715036 * us, ""},
		"syslog in Russian":          {"дек 06 14:58:14 minikube kernel: " + text, 0, ""},
		"journalctl without a host":  {"Dec 14 17:13:12 kernel: " + text, 0, ""},
		"journalctl short-monotonic": {"[  629.715036] node-1 kernel: " + text, 0, ""},
		"talosctl, info":             {"192.0.2.92: kern:    info: [2026-11-30T10:15:12.100233999Z]: " + text, 0, "2026-11-30T10:15:12.100233999Z"},
		"talosctl, warning":          {"192.0.2.92: kern: warning: [2026-11-30T10:15:12.1Z]: " + text, 0, "2026-11-30T10:15:12.1Z"},
		"console":                    {"2023-12-04T10:49:30.127Z In(05) vcpu-5 - Guest: <6>[39291577.009363] " + text, 39291577009363 * us, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, nl := range []string{"\n", "\r\n", ""} {
				rs := Parse([]byte(tc.line + nl))
				if len(rs) != 1 || rs[0].Text != text {
					t.Fatalf("%q: %q", tc.line+nl, texts(rs))
				}
				r := rs[0]
				if tc.time != 0 && (!r.HasTime || r.Time != tc.time) {
					t.Errorf("time %v %v, want %v", r.HasTime, r.Time, tc.time)
				}
				if tc.wall != "" && r.Wall.Format(time.RFC3339Nano) != tc.wall {
					t.Errorf("wall %v, want %s", r.Wall, tc.wall)
				}
			}
		})
	}
}

// TestBrackets: brackets at the start of a line are not always a time.
func TestBrackets(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"[<ffffffffb5379262>] dump_stack+0x19/0x1b",
		"[33496]     0 33496     2613      125       9        0          -998 runc:[1:CHILD]",
		"[   1077]     0  1077     2837       83    53248        0          -998 runc:[0:PARENT]",
		"[ pid ]   uid  tgid total_vm      rss nr_ptes swapents oom_score_adj name",
		"[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name",
		"[talos] Sending SIGKILL to cgroup",
		"[",
		"[]",
		"[1.",
		"[1.2",
	} {
		for _, prefix := range []string{"", "[  629.715036] ", "6,1,629715036,-;"} {
			rs := Parse([]byte(prefix + text + "\n"))
			if len(rs) != 1 || rs[0].Text != text {
				t.Errorf("%q: %q", prefix+text, texts(rs))
			}
		}
	}
}

// TestRaw: what only /dev/kmsg has.
func TestRaw(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		log  string
		want []string
	}{
		"text with semicolons":    {"6,1,2,-;a;b;c\n", []string{"a;b;c"}},
		"no text":                 {"6,1,2,-;\n6,2,3,-;x\n", []string{"", "x"}},
		"escaped bytes":           {`6,1,2,-;tab\x09quote\x22 back\x5cslash` + "\n", []string{"tab\tquote\" back\\slash"}},
		"line breaks":             {`6,1,2,-;anon 4096\x0afile 0\x0akernel 8192` + "\n6,2,3,-;next\n", []string{"anon 4096", "next"}},
		"escapes that are none":   {`6,1,2,-;a\x b\xg1 c\x4` + "\n", []string{`a\x b\xg1 c\x4`}},
		"dictionary":              {"6,1,2,-;usb 1-1: new\n SUBSYSTEM=usb\n DEVICE=c189:1\n6,2,3,-;next\n", []string{"usb 1-1: new", "next"}},
		"dictionary at the start": {" SUBSYSTEM=usb\n6,2,3,-;next\n", []string{"next"}},
		"UTF-8":                   {"6,1,2,-;名前\n", []string{"名前"}},
		"last line without end":   {"6,1,2,-;a\n6,2,3,-;b", []string{"a", "b"}},
		"NUL bytes at the end":    {"6,1,2,-;a\x00\x00\n", []string{"a"}},
		"empty lines":             {"\n\n6,1,2,-;a\n\n", []string{"a"}},
		"nothing":                 {"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := texts(Parse([]byte(tc.log)))
			// A dictionary may stand before the first record where the ring was read from its middle.
			got = slices.DeleteFunc(got, func(s string) bool { return strings.HasPrefix(s, " SUBSYSTEM") })
			if !slices.Equal(got, tc.want) {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// TestNotRaw: lines that look a little like a record of /dev/kmsg are text.
func TestNotRaw(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"6,1;x", "6;x", "a,1,2,-;x", "6,b,2,-;x", "6,1,c,-;x", "6,1,-5,-;x", ";x",
		"6,1,99999999999999999999,-;x", "6,1,9223372036854775807,-;x", "+6,1,2,-;x",
	} {
		rs := Parse([]byte(line + "\n"))
		if len(rs) != 1 || rs[0].HasTime || rs[0].Text != line {
			t.Errorf("%q: %+v", line, rs)
		}
	}
}

// TestUserRecords: programs may write into /dev/kmsg too. Their records have another facility, and their words are not
// the kernel's.
func TestUserRecords(t *testing.T) {
	t.Parallel()
	const limit = "/kubepods/burstable/pod0000b000-0000-4000-8000-000000000001"
	log := "12,1,1000,-;runc invoked oom-killer: gfp_mask=0x400cc0(GFP_KERNEL_ACCOUNT), order=1, oom_score_adj=1\n" +
		"12,2,1001,-;Memory cgroup stats for " + limit + ":\n" +
		"30,3,1002,-;Out of memory and no killable processes...\n"
	if got := Stories(Parse([]byte(log))); len(got) != 0 {
		t.Errorf("a program's words make a story: %+v", got)
	}
}

// TestContinuation: lines without a prefix of their own belong to the record above.
func TestContinuation(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		log  string
		want []string
	}{
		"values without a time": {
			"[  912.100260] anon 204800\n               file 0\n               kernel_stack 32768\n[  912.100273] Tasks state (memory values in pages):\n",
			[]string{"anon 204800", "Tasks state (memory values in pages):"},
		},
		"broken by a terminal": {
			"[  1.5] Memory cgroup stats for /kube\npods/burstable/pod0000b000-0000-4000-8000-0000\n00000001:\n[  1.6] x\n",
			[]string{"Memory cgroup stats for /kubepods/burstable/pod0000b000-0000-4000-8000-000000000001:", "x"},
		},
		"not broken by what it lists": {
			"[  1.5] Memory cgroup stats for /kube\n file 0\npods/a:\n[  1.6] x\n",
			[]string{"Memory cgroup stats for /kube", "x"},
		},
		"broken in syslog": {
			"Jul  1 08:12:10 node-5 kernel: Task in /kube\npods/a killed as a result of limit of /b\n",
			[]string{"Task in /kubepods/a killed as a result of limit of /b"},
		},
		"after another program's line": {
			"Jul  1 08:12:10 node-5 kernel: a\nJul  1 08:12:10 node-5 agent[1]: first\nsecond\nJul  1 08:12:11 node-5 kernel: b\n",
			[]string{"a", "b"},
		},
		"no prefix anywhere": {"a\nb\n c\n", []string{"a", "b", " c"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := texts(Parse([]byte(tc.log))); !slices.Equal(got, tc.want) {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// TestForeign: a syslog file holds lines of other programs, some of which repeat the kernel's words.
func TestForeign(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`Nov 23 19:57:05 node-1 dockerd: time="2019-11-23T19:57:05+08:00" level=info msg="shim started" debug=false pid=33479`,
		"May 19 18:14:43 node-1 systemd[1]: cri-containerd-16b1.scope: A process of this unit has been killed by the OOM killer.",
		"May 19 18:14:43 node-1 agent.sh[4208]: I0519 18:14:43.767687    4208 log_monitor.go:159] Memory cgroup out of memory: Killed process 7788 (bash) total-vm:7169492kB",
		"2026-03-02T08:58:00+00:00 node-1 agent[4208]: Memory cgroup stats for /kubepods/burstable/podx:",
		"4月 01 16:22:07 node-1 kubelet[69210]: E0401 16:22:07.087320 69210 remote_runtime.go:96] RunPodSandbox failed: rpc error",
		"Dec 14 17:13:12 systemd[2765]: run-u820.service: A process of this unit has been killed by the OOM killer.",
	} {
		if rs := Parse([]byte(line + "\n")); len(rs) != 0 {
			t.Errorf("%q is taken for the kernel's: %q", line, texts(rs))
		}
		rs := Parse([]byte("Nov 23 19:57:05 node-1 kernel: a\n" + line + "\nNov 23 19:57:05 node-1 kernel: b\n"))
		if !slices.Equal(texts(rs), []string{"a", "b"}) {
			t.Errorf("%q between: %q", line, texts(rs))
		}
	}
}

// TestRecordedLogs: every line of a recorded log has its text and, where there is one, its time.
func TestRecordedLogs(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ records, timed, walls int }{
		"el7-dmesg.txt":          {53, 0, 0},
		"v2-6.1-zero-limit.kmsg": {44, 44, 0},
		"v1-6.18-dmesg.txt":      {0, -1, 0},
		"talos-6.12.txt":         {37, 0, 37},
		"syslog-el7.txt":         {19, 0, 0},
		"v1-5.x-pause.txt":       {20, 20, 0},
	} {
		rs := Parse(recorded(t, name))
		timed, walls := 0, 0
		for _, r := range rs {
			if r.HasTime {
				timed++
			}
			if !r.Wall.IsZero() {
				walls++
			}
		}
		if tc.timed < 0 {
			tc.records = strings.Count(string(recorded(t, name)), "\n")
			tc.timed = tc.records
		}
		if len(rs) != tc.records || timed != tc.timed || walls != tc.walls {
			t.Errorf("%s: %d records, %d with a time, %d with a date; want %+v", name, len(rs), timed, walls, tc)
		}
	}
}

// TestJoinIsBounded: a log of one endless broken line does not grow without end.
func TestJoinIsBounded(t *testing.T) {
	t.Parallel()
	log := "[  1.5] a\n" + strings.Repeat(strings.Repeat("x", 100)+"\n", 10000)
	rs := Parse([]byte(log))
	if len(rs) != 1 || len(rs[0].Text) > 2*maxText {
		t.Errorf("%d records, the first of %d bytes", len(rs), len(rs[0].Text))
	}
}
