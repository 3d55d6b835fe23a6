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
	records, _ := ParseSince(log, 0)
	return records
}

// ParseSince is [Parse] without the records of /dev/kmsg that are older than since, on the kernel's clock: as a rule that is
// nearly all of a log, and they are passed over without being copied. seen counts these too.
func ParseSince(log []byte, since time.Duration) (records []Record, seen int) {
	p := parser{since: since.Microseconds()}
	for line := range bytes.Lines(log) {
		line = bytes.TrimRight(line, "\r\n\x00")
		if len(line) == 0 {
			continue
		}
		if h, ok := rawHead(line); ok {
			p.raw(h, line)
			continue
		}
		if !p.passedOver {
			p.line(string(line))
		}
	}
	return p.records, p.old + len(p.records)
}

type parser struct {
	records []Record
	since   int64 // microseconds
	old     int   // records that were passed over
	// passedOver: the record above was, and what belongs to it must be too.
	passedOver bool
	// prefixed: the log's lines have a prefix, so a line without one belongs to the record above it.
	prefixed bool
	// foreign: the line above was another program's.
	foreign bool
	// ended: an indented line stood below the record's own, so nothing after it is the rest of that.
	ended bool
}

// raw takes a line of /dev/kmsg.
func (p *parser) raw(h head, line []byte) {
	p.prefixed, p.foreign, p.ended, p.passedOver = true, false, false, h.usec < p.since
	if p.passedOver {
		p.old++
		return
	}
	// The facility is above the three bits of the level; the kernel's own is 0.
	p.records = append(p.records, Record{Time: time.Duration(h.usec) * time.Microsecond, HasTime: true, User: h.level>>3 != 0,
		Text: unescape(string(line[h.text:]))})
}

func (p *parser) line(line string) {
	r, kind := textRecord(line)
	switch {
	case kind == kernelLine:
		p.prefixed, p.foreign, p.ended = true, false, false
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
		p.ended = true
		return // values of a list, or the device of a raw record: no story needs them
	}
	if !p.ended && len(last.Text) < maxText {
		last.Text += line
	}
}

// maxText bounds a joined record. The kernel's own records are below 1 KiB, escaped ones below 4.
const maxText = 8 << 10

// head is what stands before the text of a line of /dev/kmsg.
type head struct {
	level uint64
	usec  int64
	text  int // where the text begins
}

// rawHead reads "4,564,134174266,-;". It makes no strings: a full ring has thousands of lines, and most are passed over.
func rawHead(line []byte) (head, bool) {
	end := bytes.IndexByte(line[:min(len(line), maxHead)], ';')
	if end <= 0 {
		return head{}, false
	}
	level, rest, ok1 := number(line[:end])
	_, rest, ok2 := number(rest)
	usec, _, ok3 := number(rest)
	if !ok1 || !ok2 || !ok3 || level > 1<<32-1 || usec > maxUsec {
		return head{}, false
	}
	return head{level, int64(usec), end + 1}, true
}

// maxHead is more than three numbers and the flags need.
const maxHead = 81

// number reads decimal digits up to a comma.
func number(b []byte) (n uint64, rest []byte, ok bool) {
	for i, c := range b {
		switch {
		case c == ',' && i > 0:
			return n, b[i+1:], true
		case c < '0' || c > '9' || n > (1<<64-1-9)/10:
			return 0, nil, false
		}
		n = n*10 + uint64(c-'0')
	}
	return 0, nil, false
}

// maxUsec is a century; more would overflow a Duration.
const maxUsec = 100 * 365 * 24 * 3600 * 1_000_000

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
