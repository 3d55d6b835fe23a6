package plugin

import (
	"fmt"
	"strings"
)

// MaxLine is the longest line in bytes: max_output_length of our NPD files. NPD cuts at a byte without a sign of it.
const MaxLine = 256

// maxSubject keeps the cause within sight of a very long pod name.
const maxSubject = 120

// Line renders findings as "SUBJECT: CAUSE; CURE", the findings that fit, then "+N more". It is a pure function of the set
// of findings: NPD may be told to update the condition when the message changes, and remedies time by that.
func Line(findings []Finding) string {
	fs := sorted(findings)
	var b strings.Builder
	for i, f := range fs {
		part := Clean(shortened(f.Subject(), maxSubject) + ": " + f.Cause)
		// The cure is said once for a run of findings that share it.
		if f.Cure != "" && (i == len(fs)-1 || fs[i+1].Cure != f.Cure) {
			part += "; " + Clean(f.Cure)
		}
		if i > 0 {
			part = " | " + part
		}
		rest := len(fs) - i - 1
		if i > 0 && b.Len()+len(part)+len(more(rest)) > MaxLine {
			return withCure(b.String(), fs[i-1], more(rest+1))
		}
		b.WriteString(part)
	}
	return cut(b.String(), MaxLine)
}

// withCure ends a capped line. The last finding shown may have left its cure to a neighbour that did not fit.
func withCure(s string, last Finding, tail string) string {
	cure := "; " + Clean(last.Cure)
	if last.Cure != "" && !strings.HasSuffix(s, cure) && len(s)+len(cure)+len(tail) <= MaxLine {
		s += cure
	}
	return cut(s, MaxLine-len(tail)) + tail
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" (+%d more)", n)
}

// Clean makes s fit for the line: printable ASCII on one line, without percent signs (NPD hands the message to a format
// string), quotes or backslashes (NPD's events escape them). Anything else becomes "?", white space one space.
func Clean(s string) string {
	var b strings.Builder
	space := false
	for _, r := range s {
		switch {
		case r == ' ' || r == '\n' || r == '\t' || r == '\r':
			space = b.Len() > 0
			continue
		case r == '%':
			r = '?'
		case r == '"' || r == '\'' || r == '`':
			continue
		case r == '\\':
			r = '/'
		case r < ' ' || r > '~':
			r = '?'
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// cut shortens s to n bytes and shows that it did.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.TrimRight(s[:n-2], " ;:,") + ".."
}

// shortened takes out the middle of a long name: its beginning says what it is and its end which one.
func shortened(s string, n int) string {
	if len(s) <= n {
		return s
	}
	half := (n - 2) / 2
	return s[:half] + ".." + s[len(s)-half:]
}
