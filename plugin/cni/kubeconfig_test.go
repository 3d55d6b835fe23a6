package cni

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"
)

// now is the time of all tests of credentials.
var now = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// kubeconfigWith is a kubeconfig in the form that agents write, with these lines for its user.
func kubeconfigWith(user string) string {
	return `apiVersion: v1
kind: Config
clusters:
- name: local
  cluster:
    server: https://10.96.0.1:443
    certificate-authority-data: ""
users:
- name: calico
  user:
` + indented(user) + `contexts:
- name: calico-context
  context:
    cluster: local
    user: calico
current-context: calico-context
`
}

func indented(s string) string {
	var b strings.Builder
	for l := range strings.Lines(s) {
		b.WriteString("    " + strings.TrimSuffix(l, "\n") + "\n")
	}
	return b.String()
}

// linkerd and istio write one line of JSON, which is YAML too.
const oneLine = `{"kind":"Config","apiVersion":"v1","clusters":[{"name":"x","cluster":{"server":"https://h:443"}}],"users":[{"name":"u","user":{"token":"opaque"}}],"contexts":[{"name":"c","context":{"cluster":"x","user":"u"}}],"current-context":"c"}`

func TestCheckKubeconfig(t *testing.T) {
	t.Parallel()
	fresh, old := jwt(`{"exp":%d}`, now.Add(time.Hour).Unix()), jwt(`{"exp":%d}`, now.Add(-time.Hour).Unix())
	freshCert, oldCert := b64(certUntil(t, now.Add(time.Hour))), b64(certUntil(t, now.Add(-time.Hour)))
	usual := kubeconfigWith("token: opaque")
	for name, tc := range map[string]struct {
		raw  string
		want string // "" for a kubeconfig that works
		cred Credential
	}{
		"token":               {usual, "", Credential{}},
		"token that lasts":    {kubeconfigWith("token: " + fresh), "", Credential{}},
		"token that has not":  {kubeconfigWith("token: " + old), "token expired on 2026-03-02 08:00 UTC", Credential{}},
		"token, quoted":       {kubeconfigWith(`token: "` + old + `"`), "token expired", Credential{}},
		"token, folded":       {kubeconfigWith("token: >-\n  " + old), "token expired", Credential{}},
		"one line of JSON":    {oneLine, "", Credential{}},
		"CRLF":                {strings.ReplaceAll(usual, "\n", "\r\n"), "", Credential{}},
		"BOM":                 {"\xef\xbb\xbf" + usual, "", Credential{}}, // YAML allows one
		"tokenFile":           {kubeconfigWith("tokenFile: /var/run/secrets/token"), "", Credential{TokenFile: "/var/run/secrets/token"}},
		"tokenFile and token": {kubeconfigWith("token: " + old + "\ntokenFile: /t"), "", Credential{TokenFile: "/t"}}, // the file is the fresher one
		"cert file":           {kubeconfigWith("client-certificate: kubelet-client-current.pem\nclient-key: k.pem"), "", Credential{CertFile: "kubelet-client-current.pem"}},
		"cert data":           {kubeconfigWith("client-certificate-data: " + freshCert + "\nclient-key-data: a2V5"), "", Credential{}},
		"cert data expired":   {kubeconfigWith("client-certificate-data: " + oldCert), "client certificate expired on 2026-03-02 08:00 UTC", Credential{}},
		"cert data in lines":  {kubeconfigWith("client-certificate-data: |\n" + indented(wrapped(oldCert))), "client certificate expired", Credential{}},
		"cert, no base64":     {kubeconfigWith("client-certificate-data: '-----BEGIN CERTIFICATE-----'"), "no base64", Credential{}},
		"cert, no PEM":        {kubeconfigWith("client-certificate-data: " + b64([]byte("hunter2"))), "no PEM", Credential{}},
		"cert before file":    {kubeconfigWith("client-certificate-data: " + oldCert + "\nclient-certificate: /c.pem"), "expired", Credential{}}, // data override the file
		"exec":                {kubeconfigWith("exec:\n  apiVersion: client.authentication.k8s.io/v1\n  command: aws"), "", Credential{}},
		"auth-provider":       {kubeconfigWith("auth-provider: {name: gcp}"), "", Credential{}},
		"username":            {kubeconfigWith("username: admin\npassword: hunter2"), "", Credential{}},
		"no credential":       {kubeconfigWith("as: nobody"), "no credential", Credential{}},
		"empty token":         {kubeconfigWith(`token: ""`), "no credential", Credential{}},
		"null token":          {kubeconfigWith("token:"), "no credential", Credential{}},
		"empty":               {"", "no server", Credential{}},
		"only a comment":      {"# installed by the agent\n", "no server", Credential{}},
		"no server":           {strings.Replace(usual, "server: https://10.96.0.1:443", `server: ""`, 1), "no server", Credential{}},
		"no clusters":         {"users: [{name: a, user: {token: x}}]", "no server", Credential{}},
		"no users":            {"clusters: [{name: a, cluster: {server: x}}]", "no user", Credential{}},
		// Where no context says which, the only ones count.
		"no contexts":            {"clusters: [{name: a, cluster: {server: x}}]\nusers: [{name: b, user: {token: y}}]", "", Credential{}},
		"no contexts, old token": {"clusters: [{name: a, cluster: {server: x}}]\nusers: [{name: b, user: {token: " + old + "}}]", "expired", Credential{}},
		"no contexts, two users": {"clusters: [{name: a, cluster: {server: x}}]\nusers: [{name: b, user: {token: y}}, {name: c, user: {token: y}}]", "no user", Credential{}},
		"two contexts":           {contexts("new", fresh, old), "", Credential{}},
		"two contexts, the old":  {contexts("old", fresh, old), "expired", Credential{}},
		"context without a user": {strings.Replace(usual, "user: calico\ncurrent", "user: felix\ncurrent", 1), "no user", Credential{}},
		"context, other cluster": {strings.Replace(usual, "cluster: local", "cluster: remote", 1), "no server", Credential{}},
		"a list":                 {"- a\n- b\n", "no valid YAML", Credential{}},
		"users a text":           {"users: hunter2\n", "no valid YAML", Credential{}},
		"tabs":                   {"users:\n\t- name: hunter2\n", "no valid YAML", Credential{}},
		"cut":                    {usual[:len(usual)/2] + "\n  \"", "no valid YAML", Credential{}},
		"zero bytes":             {"\x00\x00\x00\x00", "no valid YAML", Credential{}},
		"the token alone":        {old, "no valid YAML", Credential{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cred, err := CheckKubeconfig([]byte(tc.raw), now)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("%v; want %q", err, tc.want)
			}
			if cred != tc.cred {
				t.Errorf("%+v; want %+v", cred, tc.cred)
			}
			if err != nil && (strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), old)) {
				t.Errorf("quotes the file: %v", err)
			}
		})
	}
}

// contexts is a kubeconfig of two users whose current context is the one named.
func contexts(current, fresh, old string) string {
	return fmt.Sprintf(`current-context: %s
clusters: [{name: a, cluster: {server: "https://a"}}, {name: b, cluster: {server: "https://b"}}]
users: [{name: ua, user: {token: %s}}, {name: ub, user: {token: %s}}]
contexts: [{name: new, context: {cluster: a, user: ua}}, {name: old, context: {cluster: b, user: ub}}]
`, current, fresh, old)
}

// Errors name no value, wherever in the file the slip is.
func TestKubeconfigErrorsQuoteNothing(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		"users: {hunter2}", "users: [hunter2]", "hunter2", "'hunter2", "{hunter2", "a: hunter2: b", "\thunter2", "*hunter2", "&hunter2 [", "!hunter2 x: y",
		"hunter2: &a [*a]\nusers: *a\n", "hunter2: 1\nhunter2: 2\n", "users: [{name: [hunter2], user: {token: [hunter2]}}]", "current-context: [hunter2]",
		kubeconfigWith("client-certificate-data: hunter2!"), kubeconfigWith("client-certificate-data: " + b64([]byte("-----BEGIN hunter2-----\nAA==\n-----END hunter2-----\n"))),
		kubeconfigWith("token: " + jwt(`{"exp":1,"sub":"hunter2"}`)),
	} {
		if _, err := CheckKubeconfig([]byte(raw), now); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%.40q: %v", raw, err)
		}
	}
}

// Hostile YAML ends quickly, whatever it says: the program is run every minute.
func TestKubeconfigBombs(t *testing.T) {
	t.Parallel()
	var laughs strings.Builder
	laughs.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x]\n")
	for i := range 40 {
		fmt.Fprintf(&laughs, "a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 9), ","))
	}
	var steps strings.Builder
	for i := range 1000 {
		steps.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	for name, raw := range map[string]string{
		"aliases of aliases":   laughs.String(),
		"as the users":         laughs.String() + "users: *a40\n",
		"as a token":           laughs.String() + "clusters: [{name: a, cluster: {server: x}}]\nusers: [{name: a, user: {token: *a40}}]\n",
		"as an exec":           laughs.String() + "clusters: [{name: a, cluster: {server: x}}]\nusers: [{name: a, user: {exec: *a40}}]\n",
		"an alias of itself":   "users: &a [*a]\n",
		"merged with itself":   "users: &a\n- <<: *a\n",
		"brackets":             strings.Repeat("[", 1<<20),
		"braces":               strings.Repeat("{a: ", 1<<18),
		"steps":                steps.String(),
		"dashes":               strings.Repeat("- ", 1<<19),
		"question marks":       strings.Repeat("? ", 1<<19),
		"one long text":        "a: " + strings.Repeat("x", 1<<20),
		"one long token":       kubeconfigWith("token: " + strings.Repeat(".", 1<<20)),
		"one long certificate": kubeconfigWith("client-certificate-data: " + strings.Repeat("QUFB", 1<<18)),
		"many documents":       strings.Repeat("---\n", 1<<18),
		"many users":           "users:\n" + strings.Repeat("- {name: a, user: {}}\n", 1<<15),
		"comments":             strings.Repeat("# x\n", 1<<18),
		"newlines":             strings.Repeat("\n", 1<<20),
		"zero bytes":           strings.Repeat("\x00", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			_, _ = CheckKubeconfig([]byte(raw), now) // what it says does not matter here
			if d := time.Since(start); d > 10*time.Second {
				t.Errorf("took %v", d)
			}
		})
	}
}

func b64(raw []byte) string { return base64.StdEncoding.EncodeToString(raw) }

// wrapped breaks base64 into the lines of 64 characters that openssl writes.
func wrapped(s string) string {
	var b strings.Builder
	for len(s) > 64 {
		b.WriteString(s[:64] + "\n")
		s = s[64:]
	}
	return b.String() + s + "\n"
}
