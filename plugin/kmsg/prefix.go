package kmsg

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Prefixes that are seen before the kernel's text:
//
//	[  629.715036] text                                  dmesg
//	[  +0.000003] text                                   dmesg with deltas
//	[  629.715036] [  T123] text                         dmesg of a kernel that names the caller
//	kern  :warn  : [  629.715036] text                   dmesg --decode
//	2026-03-02T08:58:00,123456+00:00 text                dmesg --time-format iso
//	[Thu Dec  7 00:05:14 2017] text                      dmesg -T, in any language
//	Nov 23 19:57:05 node-1 kernel: text                  syslog, journalctl
//	Jul  1 08:12:10 node-5 kernel: [49223.663280] text   syslog with the kernel's time
//	192.0.2.9: kern: warning: [2026-11-30T10:15:12.1Z]: text          talosctl dmesg
//	2023-12-04T10:49:30.127Z In(05) vcpu-5 - Guest: <6>[39291577.009363] text   a virtual console
//	Nov 23 19:57:05 node-1 dockerd: text                 another program: not the kernel's

type lineKind int

const (
	bareLine    lineKind = iota // no prefix
	kernelLine                  // a prefix of the kernel's
	foreignLine                 // a prefix of another program's
)

// maxPrefix is how far into a line a prefix may reach.
const maxPrefix = 140

// textRecord strips the prefix off a line of text.
func textRecord(line string) (Record, lineKind) {
	head := line[:min(len(line), maxPrefix)]
	rest, user := decoded(line)
	kind := bareLine
	if rest != line {
		kind, head = kernelLine, rest[:min(len(rest), maxPrefix)]
		line = rest
	}
	if t, text, ok := isoDate(line); ok {
		return Record{Wall: t, Text: text, User: user}, kernelLine
	}
	if i := strings.Index(head, "kernel: "); i >= 0 && (i == 0 || head[i-1] == ' ') {
		rest, kind = line[i+len("kernel: "):], kernelLine
	} else if text, byUser, ok := talos(line); ok {
		rest, user, kind = text, byUser, kernelLine
	} else if i := strings.Index(head, "Guest: <"); i >= 0 {
		rest, kind = line[i+len("Guest: "):], kernelLine
	}
	if len(rest) > 3 && rest[0] == '<' && rest[2] == '>' {
		rest, kind = rest[3:], kernelLine
	}
	if r, ok := bracketed(rest); ok {
		r.User = user
		r.Text = withoutCaller(r.Text)
		return r, kernelLine
	}
	if kind == bareLine && isSyslog(line) {
		return Record{}, foreignLine
	}
	return Record{Text: rest, User: user}, kind
}

// facilities are the names that dmesg --decode prints.
var facilities = []string{"kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news"}

// decoded drops "kern  :warn  : " and says whether another facility than the kernel's stands there.
func decoded(line string) (string, bool) {
	name, rest, ok := strings.Cut(line, ":")
	if !ok || len(name) > 8 {
		return line, false
	}
	name = strings.TrimRight(name, " ")
	level, text, ok := strings.Cut(rest, ": ")
	if !ok || len(level) > 8 || strings.ContainsAny(strings.TrimRight(level, " "), " [") || !slices.Contains(facilities, name) || level == "" || level[0] == ' ' {
		return line, false
	}
	return text, name != "kern"
}

// isoDate reads the date of dmesg --time-format iso, which has a comma before the fraction; other programs write a dot.
func isoDate(line string) (time.Time, string, bool) {
	stamp, text, ok := strings.Cut(line, " ")
	if !ok || len(stamp) < 20 || len(stamp) > 40 || !strings.Contains(stamp, ",") {
		return time.Time{}, "", false
	}
	t, err := time.Parse(time.RFC3339Nano, strings.Replace(stamp, ",", ".", 1))
	return t, text, err == nil
}

// withoutCaller drops "[  T123] " or "[    C1] ".
func withoutCaller(s string) string {
	t := strings.TrimLeft(s, " ")
	if t == "" || t[0] != '[' {
		return s
	}
	inner, rest, ok := strings.Cut(t[1:], "]")
	inner = strings.TrimLeft(inner, " ")
	if !ok || len(inner) < 2 || (inner[0] != 'T' && inner[0] != 'C') || !digits(inner[1:]) {
		return s
	}
	return strings.TrimPrefix(rest, " ")
}

// talos drops "192.0.2.9: kern: warning: ", with or without the address, and says whether another facility than the
// kernel's stands there.
func talos(line string) (text string, byUser, ok bool) {
	head := line[:min(len(line), maxPrefix)]
	facility, rest, _ := strings.Cut(head, ": ")
	if !slices.Contains(facilities, facility) {
		facility, rest, _ = strings.Cut(rest, ": ")
	}
	level, rest, cut := strings.Cut(strings.TrimLeft(rest, " "), ": ")
	if !cut || !slices.Contains(facilities, facility) || strings.ContainsAny(level, " [") {
		return "", false, false
	}
	return line[len(head)-len(rest):], facility != "kern", true
}

// bracketed reads a leading [time]. What else the kernel writes in brackets (addresses, table rows, module names) is left
// alone: a time has a dot between digits, or a colon between them.
func bracketed(s string) (Record, bool) {
	if s == "" || s[0] != '[' {
		return Record{}, false
	}
	inner, rest, ok := strings.Cut(s[1:], "]")
	if !ok || len(inner) > 60 {
		return Record{}, false
	}
	r := Record{Text: strings.TrimPrefix(strings.TrimPrefix(rest, ":"), " ")}
	inner = strings.TrimSpace(inner)
	if secs, ok := decimal(inner); ok {
		r.Time, r.HasTime = secs, true
		return r, true
	}
	if strings.HasPrefix(inner, "+") {
		_, ok := decimal(strings.TrimSpace(inner[1:]))
		return r, ok
	}
	if !hasClock(inner) {
		return Record{}, false
	}
	// dmesg -T prints no zone, in any language: such a date says nothing that could be compared.
	if t, err := time.Parse(time.RFC3339Nano, inner); err == nil {
		r.Wall = t
	}
	return r, true
}

// decimal reads seconds with a fraction, as "629.715036". A number without a dot is a process id of a table row.
func decimal(s string) (time.Duration, bool) {
	whole, frac, ok := strings.Cut(s, ".")
	if !ok || whole == "" || frac == "" || len(frac) > 9 {
		return 0, false
	}
	sec, err1 := strconv.ParseUint(whole, 10, 32)
	ns, err2 := strconv.ParseUint((frac + "000000000")[:9], 10, 32)
	return time.Duration(sec)*time.Second + time.Duration(ns), err1 == nil && err2 == nil
}

// hasClock finds a time of day such as 00:05:14.
func hasClock(s string) bool {
	for i := 2; i+5 < len(s); i++ {
		if s[i] == ':' && s[i+3] == ':' && digits(s[i-2:i]) && digits(s[i+1:i+3]) && digits(s[i+4:i+6]) {
			return true
		}
	}
	return false
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// isSyslog says whether a line without the kernel's mark is a record of another program: it begins with a date, and the
// program's name and a colon follow.
func isSyslog(line string) bool {
	head := line[:min(len(line), maxPrefix)]
	return hasClock(head[:min(len(head), 40)]) && strings.Contains(head, ": ")
}
