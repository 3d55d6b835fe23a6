package capture

import (
	"bytes"
	"encoding/json"
	"strings"
)

// hideInJSON changes the values below secret keys, at any depth, and leaves every other byte as it is: an odd comma may be
// what is wrong with the file. It also reads what is no JSON: cut, with commas too many, keys twice, or without quotes as
// in YAML's flow style. secret says whether the whole is one.
func hideInJSON(data []byte, secret bool) []byte {
	s := jsonHider{in: data, stack: []level{{secret: secret, list: true}}}
	for s.at < len(data) {
		s.token()
	}
	return s.out.Bytes()
}

// level is one open bracket.
type level struct{ secret, list bool }

type jsonHider struct {
	in    []byte
	at    int
	out   bytes.Buffer
	stack []level
	// value: a key has been read, and keySecret says whether it names a secret.
	value, keySecret bool
}

func (s *jsonHider) top() level { return s.stack[len(s.stack)-1] }

func (s *jsonHider) secret() bool {
	if s.value {
		return s.keySecret
	}
	return s.top().secret
}

func (s *jsonHider) token() {
	switch c := s.in[s.at]; c {
	case '{', '[':
		s.stack = append(s.stack, level{secret: s.secret(), list: c == '['})
		s.value = false
		s.copy(1)
	case '}', ']':
		if len(s.stack) > 1 {
			s.stack = s.stack[:len(s.stack)-1]
		}
		s.value = false
		s.copy(1)
	case ',':
		s.value = false
		s.copy(1)
	case ' ', '\t', '\r', '\n', ':':
		s.copy(1)
	default:
		s.word()
	}
}

func (s *jsonHider) copy(n int) {
	s.out.Write(s.in[s.at : s.at+n])
	s.at += n
}

// word is a key or a value.
func (s *jsonHider) word() {
	tok := s.text()
	if rest := bytes.TrimLeft(s.in[s.at+len(tok):], " \t\r\n"); !s.value && !s.top().list && bytes.HasPrefix(rest, []byte(":")) {
		k := unquoted(tok)
		s.keySecret = (s.top().secret || isSecretKey(k)) && !notSecret().MatchString(k)
		s.value = true
		s.copy(len(tok))
		return
	}
	s.out.Write(hideWord(tok, s.secret()))
	s.at += len(tok)
	s.value = false
}

// text is the quoted string, or the bare word, that begins here.
func (s *jsonHider) text() []byte {
	rest := s.in[s.at:]
	if q := rest[0]; q == '"' || q == '\'' {
		for i := 1; i < len(rest); i++ {
			switch {
			case rest[i] == '\\' && q == '"':
				i++
			case rest[i] == q:
				return rest[:i+1]
			case rest[i] == '\n':
				return rest[:i]
			}
		}
		return rest
	}
	// A bare value goes on over spaces and colons, a bare key does not.
	ends := " \t\r\n,:{}[]\""
	if s.value || s.top().list {
		ends = "\r\n,{}[]"
	}
	n := bytes.IndexAny(rest, ends)
	if n < 0 {
		n = len(rest)
	}
	return bytes.TrimRight(rest[:max(n, 1)], " \t")
}

func unquoted(tok []byte) string {
	var s string
	if json.Unmarshal(tok, &s) == nil {
		return s
	}
	return strings.Trim(string(tok), `"'`)
}

func hideWord(tok []byte, secret bool) []byte {
	text := unquoted(tok)
	if secret && isSecretText(text) {
		return quotedLike(tok, stubText(text))
	}
	// The runtime tells its CNI configuration as JSON in a string.
	if inner := []byte(text); !secret && tok[0] == '"' && likeJSON(inner) {
		if hidden := hideSecrets(inner); !bytes.Equal(hidden, inner) {
			return quotedLike(tok, string(hidden))
		}
	}
	return tok
}

// quotedLike is s in quotes, and as broken as tok was.
func quotedLike(tok []byte, s string) []byte {
	out, err := json.Marshal(s)
	if err != nil {
		return []byte(`"` + hiddenValue + `"`)
	}
	if tok[0] == '"' && (len(tok) == 1 || tok[len(tok)-1] != '"') {
		out = out[:len(out)-1]
	}
	return out
}
