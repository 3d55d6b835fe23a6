package capture

import (
	"bytes"
	"path"
	"regexp"
	"strings"
	"sync"
)

// hidden stands where a secret was.
const hiddenValue = "REDACTED"

// HideSecrets replaces what looks like a credential in every file and in the runtime's answers: the values of keys that
// name a token, password, key or certificate data, and PEM blocks, web tokens and logins wherever they stand. Paths stay:
// checks need them.
func (f *File) HideSecrets() {
	for p, data := range f.Content {
		switch {
		case strings.HasPrefix(p, "/proc/"):
		case secretFile().MatchString(p) && !likeJSON(data) && !bytes.Contains(bytes.TrimSpace(data), []byte("\n")) && len(data) > 0:
			f.Content[p] = []byte(stubText(strings.TrimSpace(string(data))) + "\n")
		default:
			f.Content[p] = hideSecrets(data)
		}
	}
	f.CRI.Info = hideSecrets(f.CRI.Info)
	f.CRI.CRIOConfig = hideSecrets(f.CRI.CRIOConfig)
	f.CRI.Pods = hideSecrets(f.CRI.Pods)
	f.CRI.Containers = hideSecrets(f.CRI.Containers)
	for id, data := range f.CRI.Sandbox {
		f.CRI.Sandbox[id] = hideSecrets(data)
	}
}

// secretFile matches the names of files that are nothing but a secret.
var secretFile = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)(token|password|secret|\.key)$`) })

// secretKey matches the names of keys whose values are secrets.
var secretKey = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(token|passw|passphrase|^pass$|pwd|psk|secret|credential|^auth$|authorization|identity|key|cert|ca-?_?data|bearer)`)
})

// notSecret matches the names that only point at one, or at none.
var notSecret = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(file|path|paths|dir|dirs|url|name|type|enabled|labels?)$`)
})

// Secrets below innocent keys: PEM, web tokens, logins in URLs and in headers.
var (
	pemBlock = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?s)-----BEGIN [A-Za-z0-9 ]+-----.*?(-----END [A-Za-z0-9 ]+-----|$)`)
	})
	webToken = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`ey[AJ][A-Za-z0-9_-]{8,}(\.[A-Za-z0-9_-]*=*){0,2}`) })
	userInfo = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`://[^/\s"'?#]*@`) })
	bearer   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)(\bbearer[ \t]+)[A-Za-z0-9._~+/=-]{6,}`) })
)

func hideSecrets(data []byte) []byte {
	if len(data) == 0 {
		return data
	}
	if likeJSON(data) {
		data = hideInJSON(data, false)
	} else {
		data = hideInLines(data)
	}
	data = pemBlock().ReplaceAllFunc(data, func(b []byte) []byte { return bytes.TrimRight(stubPEM(b), "\n") })
	data = webToken().ReplaceAllFunc(data, func(b []byte) []byte { return []byte(stubToken(string(b))) })
	data = bearer().ReplaceAll(data, []byte("${1}"+hiddenValue))
	return userInfo().ReplaceAll(data, []byte("://"+hiddenValue+"@"))
}

// likeJSON also takes JSON that is cut or broken. TOML begins with a bracket too, but not with one before a quote or brace.
func likeJSON(data []byte) bool {
	s := bytes.TrimLeft(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), " \t\r\n")
	if bytes.HasPrefix(s, []byte("[")) {
		s = bytes.TrimLeft(s[1:], " \t\r\n")
		return bytes.HasPrefix(s, []byte("{")) || bytes.HasPrefix(s, []byte(`"`))
	}
	return bytes.HasPrefix(s, []byte("{"))
}

func isSecretKey(k string) bool { return secretKey().MatchString(k) && !notSecret().MatchString(k) }

// isSecretText keeps empty values, words that are no secret, and short absolute paths.
func isSecretText(s string) bool {
	switch strings.ToLower(s) {
	case "", "true", "false", "null", "none", "~", strings.ToLower(hiddenValue):
		return false
	}
	return !path.IsAbs(s) || len(s) >= 80 || strings.Count(s, "/") < 2 || strings.ContainsAny(s, "+=\n")
}
