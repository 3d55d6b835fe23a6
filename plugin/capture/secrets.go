package capture

import (
	"bytes"
	"encoding/json"
	"path"
	"regexp"
	"strings"
)

// hidden stands where a secret was.
const hiddenValue = "REDACTED"

// HideSecrets replaces what looks like a credential in every file and in the runtime's answers: the values of keys that
// name a token, password, key or certificate data, and PEM blocks and web tokens wherever they stand. Paths stay: checks
// need them.
func (f *File) HideSecrets() {
	for p, data := range f.Content {
		if !strings.HasPrefix(p, "/proc/") {
			f.Content[p] = hideSecrets(data)
		}
	}
	f.CRI.Info = hideSecrets(f.CRI.Info)
	f.CRI.CRIOConfig = hideSecrets(f.CRI.CRIOConfig)
	f.CRI.Pods = hideSecrets(f.CRI.Pods)
	f.CRI.Containers = hideSecrets(f.CRI.Containers)
}

// secretKey matches the names of keys whose values are secrets.
var secretKey = regexp.MustCompile(`(?i)(token|passw|passphrase|secret|credential|auth|identity|key|cert|ca-?_?data|bearer)`)

// notSecret matches the names that only point at one, or at none.
var notSecret = regexp.MustCompile(`(?i)(file|path|paths|dir|dirs|url|name|type|enabled|labels?)$`)

// Secrets in text that is no JSON, or below innocent keys: PEM, web tokens, user:password in URLs.
var (
	pemBlock = regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]+-----.*?(-----END [A-Z0-9 ]+-----|$)`)
	webToken = regexp.MustCompile(`eyJ[A-Za-z0-9_-]{8,}(\.[A-Za-z0-9_-]*){0,2}`)
	userInfo = regexp.MustCompile(`://[^/\s"'@]+:[^/\s"'@]+@`)
)

// line finds "key": "value", key: value and key = "value", also where the value is cut off.
var line = regexp.MustCompile(`("?)([A-Za-z0-9_.\-]+)("?\s*[:=]\s*)("(?:[^"\\\n]|\\.)*"?|[^\s",{}\[\]]+)`)

func hideSecrets(data []byte) []byte {
	if len(data) == 0 {
		return data
	}
	if out, changed := hideInJSON(data); changed {
		data = out
	} else if !json.Valid(data) {
		data = line.ReplaceAllFunc(data, hidePair)
	}
	data = pemBlock.ReplaceAllFunc(data, func(b []byte) []byte { return bytes.TrimRight(stubPEM(b), "\n") })
	data = webToken.ReplaceAllFunc(data, func(b []byte) []byte { return []byte(stubToken(string(b))) })
	return userInfo.ReplaceAll(data, []byte("://"+hiddenValue+"@"))
}

func hidePair(pair []byte) []byte {
	m := line.FindSubmatch(pair)
	key, val := string(m[2]), m[4]
	text := strings.Trim(string(val), `"`)
	if !isSecretKey(key) || !isSecretText(text) {
		return pair
	}
	quote := ""
	if bytes.HasPrefix(val, []byte(`"`)) {
		quote = `"`
	}
	closing := quote
	if quote != "" && !bytes.HasSuffix(val[1:], []byte(`"`)) {
		closing = "" // stays as broken as it was
	}
	return bytes.Join([][]byte{m[1], m[2], m[3], []byte(quote + stubText(text) + closing)}, nil)
}

// hideInJSON changes strings at any depth below a secret key. Unchanged files stay byte for byte as they are.
func hideInJSON(data []byte) ([]byte, bool) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil || dec.More() {
		return nil, false
	}
	v, changed := hideIn(v, false)
	if !changed {
		return nil, false
	}
	out, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, false
	}
	return append(out, '\n'), true
}

func hideIn(v any, secret bool) (any, bool) {
	changed := false
	switch x := v.(type) {
	case map[string]any:
		for k, e := range x {
			n, c := hideIn(e, (secret || isSecretKey(k)) && !notSecret.MatchString(k))
			x[k], changed = n, changed || c
		}
	case []any:
		for i, e := range x {
			n, c := hideIn(e, secret)
			x[i], changed = n, changed || c
		}
	case string:
		if inner, c := hideInText(x); c {
			return inner, true
		}
		if secret && isSecretText(x) {
			return stubText(x), true
		}
	}
	return v, changed
}

// hideInText looks into text that is JSON itself: containerd repeats the CNI files so in its status.
func hideInText(s string) (string, bool) {
	if s == "" || (s[0] != '{' && s[0] != '[') {
		return s, false
	}
	out, changed := hideInJSON([]byte(s))
	return strings.TrimSuffix(string(out), "\n"), changed
}

func isSecretKey(k string) bool { return secretKey.MatchString(k) && !notSecret.MatchString(k) }

// isSecretText keeps empty values, words that are no secret, and short absolute paths.
func isSecretText(s string) bool {
	switch strings.ToLower(s) {
	case "", "true", "false", "null", "none", strings.ToLower(hiddenValue):
		return false
	}
	isPath := path.IsAbs(s) && len(s) < 80 && strings.Count(s, "/") > 1 && !strings.ContainsAny(s, "+=\n")
	return !isPath
}
