package plugin

import (
	"fmt"
	"strings"
)

// MaxLine is the longest line in bytes: max_output_length of our NPD files. NPD cuts at a byte without a sign of it.
const MaxLine = 256

// maxSubject keeps the cause within sight of a very long pod name.
const maxSubject = 120

// Line renders findings as "SUBJECT: CAUSE; CURE". Findings with the same cause and cure are one part, "SUBJECT and 2 more:
// CAUSE; CURE", and the others are named at the end where there is room. Parts that do not fit become "(+2 more: NAME, NAME)". It is a
// pure function of the set of findings: NPD may be told to update the condition when the message changes, and remedies
// time by that.
func Line(findings []Finding) string {
	groups := groupsOf(sorted(findings))
	var b strings.Builder
	for i, g := range groups {
		part := g.text()
		if i > 0 {
			part = " | " + part
		}
		tail := more(len(groups) - i - 1)
		if i > 0 && b.Len()+len(part)+len(tail) > MaxLine {
			return b.String() + rest(groups[i:], MaxLine-b.Len())
		}
		b.WriteString(cut(part, MaxLine-len(tail)-b.Len()))
	}
	return b.String() + others(groups, MaxLine-b.Len())
}

// group is findings that differ in their subject alone.
type group struct {
	subjects    []string
	cause, cure string
}

// groupsOf keeps the order of the first subject of each group.
func groupsOf(fs []Finding) []*group {
	var out []*group
	index := map[[2]string]*group{}
	for _, f := range fs {
		key := [2]string{f.Cause, f.Cure}
		if index[key] == nil {
			index[key] = &group{cause: Clean(f.Cause), cure: Clean(f.Cure)}
			out = append(out, index[key])
		}
		g := index[key]
		subject := Clean(shortened(f.Subject(), maxSubject))
		if n := len(g.subjects); n == 0 || g.subjects[n-1] != subject {
			g.subjects = append(g.subjects, subject)
		}
	}
	return out
}

func (g *group) text() string {
	s := g.subjects[0]
	if n := len(g.subjects) - 1; n > 0 {
		s += fmt.Sprintf(" and %d more", n)
	}
	s += ": " + g.cause
	if g.cure != "" {
		s += "; " + g.cure
	}
	return s
}

// others names the subjects that the groups only counted, as far as room allows.
func others(groups []*group, room int) string {
	var names []string
	for _, g := range groups {
		names = append(names, g.subjects[1:]...)
	}
	s := ""
	for _, n := range names {
		sep := ", "
		if s == "" {
			sep = " (also "
		}
		if len(s)+len(sep)+len(n)+len(")") > room {
			break
		}
		s += sep + n
	}
	if s == "" {
		return ""
	}
	return s + ")"
}

// rest counts the groups that do not fit, and names as many of them as room allows. There is always room for the count.
func rest(groups []*group, room int) string {
	s := strings.TrimSuffix(more(len(groups)), ")")
	for i, g := range groups {
		sep := ", "
		if i == 0 {
			sep = ": "
		}
		if len(s)+len(sep)+len(g.subjects[0])+len(")") > room {
			break
		}
		s += sep + g.subjects[0]
	}
	return s + ")"
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
