// Package kmsg reads the kernel log and tells the stories in it: which memory cgroup ran out, what was killed.
//
// A story as /dev/kmsg has it, shortened (Documentation/ABI/testing/dev-kmsg: priority, sequence, microseconds since the
// boot, flags; a line that begins with a space belongs to the record above it):
//
//	4,564,134174266,-;runc:[0:PARENT] invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=-998
//	6,592,134204137,-;memory: usage 512kB, limit 512kB, failcnt 122
//	6,594,134204223,-;Memory cgroup stats for /kubepods/burstable/pod0000b000-0000-4000-8000-000000524288:
//	6,597,134204420,-;[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name
//	6,598,134204472,-;[   1077]     0  1077     2837       83    53248        0          -998 runc:[0:PARENT]
//	6,601,134208539,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=1707...,mems_allowed=0,oom_memcg=/kubepods/...
//	3,602,134209184,-;Memory cgroup out of memory: Killed process 1077 (runc:[0:PARENT]) total-vm:11348kB, ...
//
// The same text comes from dmesg, dmesg -T in any language, journalctl, syslog, Talos and virtual consoles, each with a
// prefix of its own. [Parse] takes them all, line by line.
package kmsg

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// Record is one message of the kernel.
type Record struct {
	// Time is since the boot; HasTime is false when the text gives none.
	Time    time.Duration
	HasTime bool
	// User: a program wrote it into the kernel's log; the kernel did not say it.
	User bool
	// Wall is set when the text has a date that can be read, as in Talos.
	Wall time.Time
	Text string
}

// Parse reads a kernel log of any of the known forms. Lines that are no kernel record, such as those of other programs in
// a syslog file, are left out. It never fails: a log is cut anywhere.
func Parse(log []byte) []Record {
	var p parser
	for line := range bytes.Lines(log) {
		p.line(string(bytes.TrimRight(line, "\r\n\x00")))
	}
	return p.records
}

type parser struct {
	records []Record
	// prefixed: the log's lines have a prefix, so a line without one belongs to the record above it.
	prefixed bool
	// foreign: the line above was another program's.
	foreign bool
}

func (p *parser) line(line string) {
	if line == "" {
		return
	}
	if r, ok := rawRecord(line); ok {
		p.prefixed, p.foreign = true, false
		p.records = append(p.records, r)
		return
	}
	r, kind := textRecord(line)
	switch {
	case kind == kernelLine:
		p.prefixed, p.foreign = true, false
		p.records = append(p.records, r)
	case kind == foreignLine:
		p.foreign = true
	case !p.prefixed:
		p.records = append(p.records, Record{Text: line})
	case p.foreign || len(p.records) == 0:
	default:
		p.carryOn(line)
	}
}

// carryOn adds a line to the record above: one of its own when it is indented (the kernel's own line breaks), else the rest
// of a line that a terminal broke.
func (p *parser) carryOn(line string) {
	last := &p.records[len(p.records)-1]
	if line[0] == ' ' || line[0] == '\t' {
		return // values of a list, or the device of a raw record: no story needs them
	}
	if len(last.Text) < maxText {
		last.Text += line
	}
}

// maxText bounds a joined record. The kernel's own records are below 1 KiB, escaped ones below 4.
const maxText = 8 << 10

// rawRecord reads a line of /dev/kmsg.
func rawRecord(line string) (Record, bool) {
	head, text, ok := strings.Cut(line, ";")
	if !ok || head == "" || len(head) > 80 || head[0] < '0' || head[0] > '9' {
		return Record{}, false
	}
	prio, rest, ok1 := strings.Cut(head, ",")
	seq, rest, ok2 := strings.Cut(rest, ",")
	usec, _, ok3 := strings.Cut(rest, ",")
	if !ok1 || !ok2 || !ok3 {
		return Record{}, false
	}
	level, err := strconv.ParseUint(prio, 10, 32)
	if err != nil {
		return Record{}, false
	}
	if _, err := strconv.ParseUint(seq, 10, 64); err != nil {
		return Record{}, false
	}
	t, err := strconv.ParseInt(usec, 10, 64)
	if err != nil || t < 0 || t > maxUsec {
		return Record{}, false
	}
	// The facility is above the three bits of the level; the kernel's own is 0.
	return Record{Time: time.Duration(t) * time.Microsecond, HasTime: true, User: level>>3 != 0, Text: unescape(text)}, true
}

// maxUsec is a century; more would overflow a Duration.
const maxUsec = 100 * 365 * 24 * 3600 * 1e6

// unescape undoes \xNN, as the kernel writes control bytes and backslashes. Text below a line break is dropped: it is the
// values of a list.
func unescape(s string) string {
	if !strings.Contains(s, `\x`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+3 >= len(s) || s[i+1] != 'x' {
			b.WriteByte(s[i])
			continue
		}
		n, err := strconv.ParseUint(s[i+2:i+4], 16, 8)
		if err != nil {
			b.WriteByte(s[i])
			continue
		}
		if n == '\n' {
			break
		}
		b.WriteByte(byte(n))
		i += 3
	}
	return b.String()
}
