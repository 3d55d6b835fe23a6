package capture

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
)

// pair is key: value or key = value on a line of its own, as in YAML, TOML and files of variables.
var pair = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([ \t]*(?:- +)*(?:export +)?["']?)([A-Za-z0-9_.\-]+)(["']?[ \t]*[:=][ \t]*)(.*)$`)
})

// inline is the same anywhere in a line.
var inline = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(["']?)([A-Za-z0-9_.\-]+)(["']?[ \t]*[:=][ \t]*)("(?:[^"\\\n]|\\.)*"?|'[^'\n]*'?|[^\s",{}\[\]]+)`)
})

// hideInLines hides the values of secret keys, to the end of their line and over the lines that belong to them.
func hideInLines(data []byte) []byte {
	var out bytes.Buffer
	h := lineHider{out: &out}
	for l := range strings.Lines(string(data)) {
		text := strings.TrimRight(l, "\r\n")
		h.line(text, l[len(text):])
	}
	return out.Bytes()
}

type lineHider struct {
	out *bytes.Buffer
	// below is the column of a secret key whose value goes on below it; inside says so. until ends it, where it is set.
	inside bool
	below  int
	until  string
}

func (h *lineHider) line(text, end string) {
	if h.inside && h.belongs(text) {
		if strings.TrimSpace(text) == "" {
			h.out.WriteString(text + end)
		}
		return
	}
	h.inside = false
	m := pair().FindStringSubmatch(text)
	switch {
	case m == nil:
		h.out.WriteString(hideInline(text) + end)
	case !isSecretKey(m[2]):
		h.out.WriteString(m[1] + m[2] + m[3] + hideValue(m[4]) + end)
	default:
		h.out.WriteString(m[1] + m[2] + m[3] + h.secret(m) + end)
	}
}

// secret stands for the value of a secret key, and remembers whether it goes on below.
func (h *lineHider) secret(m []string) string {
	val := strings.TrimSpace(m[4])
	h.below, h.until = column(m[1]), ""
	for _, q := range []string{`"""`, `'''`} {
		if strings.HasPrefix(val, q) && strings.Count(val, q) == 1 {
			h.inside, h.until = true, q
			return hiddenValue
		}
	}
	switch {
	case val == "":
		h.inside = true
		return m[4]
	case strings.ContainsAny(val[:1], "|>{["):
		h.inside = true
		return hiddenValue
	}
	text, quote := val, ""
	for _, q := range []string{`"`, `'`} {
		if strings.HasPrefix(val, q) {
			text, quote = strings.Trim(val, q), q
			h.inside = strings.Count(val, q) == 1 // YAML goes on over line ends
		}
	}
	if !isSecretText(text) {
		return m[4]
	}
	return quote + stubText(text) + quote
}

// column is where the key begins; a dash of a list counts as space.
func column(before string) int { return len(strings.TrimRight(before, `"'`)) }

func (h *lineHider) belongs(text string) bool {
	if h.until != "" {
		if strings.Contains(text, h.until) {
			h.inside, h.until = false, ""
		}
		return true
	}
	bare := strings.TrimLeft(text, " \t")
	indent := len(text) - len(bare)
	return bare == "" || indent > h.below || indent == h.below && strings.HasPrefix(bare, "- ")
}

func hideValue(val string) string {
	if strings.HasPrefix(val, "{") || strings.HasPrefix(val, "[") {
		return string(hideInJSON([]byte(val), false))
	}
	return hideInline(val)
}

func hideInline(text string) string {
	return inline().ReplaceAllStringFunc(text, func(s string) string {
		m := inline().FindStringSubmatch(s)
		val := strings.Trim(m[4], `"'`)
		if !isSecretKey(m[2]) || !isSecretText(val) {
			return s
		}
		quote := ""
		if m[4][0] == '"' || m[4][0] == '\'' {
			quote = m[4][:1]
		}
		return m[1] + m[2] + m[3] + quote + stubText(val) + quote
	})
}
