package cni

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"
)

// jwt is a JSON Web Token with these claims, in the form of a service account's. Its signature is never looked at.
func jwt(claims string, args ...any) string {
	enc := base64.RawURLEncoding.EncodeToString
	return enc([]byte(`{"alg":"RS256","kid":"x"}`)) + "." + enc(fmt.Appendf(nil, claims, args...)) + "." + enc([]byte("signature"))
}

// certUntil is a PEM certificate that is valid until t.
func certUntil(tb testing.TB, t time.Time) []byte {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: t.Add(-24 * time.Hour), NotAfter: t}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		tb.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func TestCheckToken(t *testing.T) {
	t.Parallel()
	past, future := now.Add(-time.Minute).Unix(), now.Add(time.Minute).Unix()
	const expired = "token expired on 2026-03-02 08:59 UTC"
	for name, tc := range map[string]struct{ token, want string }{ // want is "" for a token that may be good
		"int, lasts":      {jwt(`{"exp":%d}`, future), ""},
		"int":             {jwt(`{"exp":%d}`, past), expired},
		"this second":     {jwt(`{"exp":%d}`, now.Unix()), ""},
		"float":           {jwt(`{"exp":%d.75}`, past), expired},
		"float, lasts":    {jwt(`{"exp":%d.5}`, future), ""},
		"with exponent":   {jwt(`{"exp":1.7e9}`), "token expired on 2023-11-14 22:13 UTC"},
		"text":            {jwt(`{"exp":"%d"}`, past), expired},
		"text, lasts":     {jwt(`{"exp":"%d"}`, future), ""},
		"text, a word":    {jwt(`{"exp":"never"}`), ""},
		"text, empty":     {jwt(`{"exp":""}`), ""},
		"null":            {jwt(`{"exp":null}`), ""},
		"missing":         {jwt(`{"iss":"kubernetes/serviceaccount"}`), ""}, // the old ones, which never expire
		"a list":          {jwt(`{"exp":[1]}`), ""},
		"other claims":    {jwt(`{"aud":["https://kubernetes.default.svc"],"exp":%d,"iat":1,"nbf":1,"kubernetes.io":{"pod":{}}}`, past), expired},
		"newline at end":  {jwt(`{"exp":%d}`, past) + "\n", expired},
		"CRLF at end":     {jwt(`{"exp":%d}`, past) + "\r\n", expired},
		"padded":          {padded(jwt(`{"exp":%d}`, past)), expired},
		"empty":           {"", ""},
		"bootstrap token": {"abcdef.0123456789abcdef", ""},
		"five parts":      {"a.b.c.d.e", ""}, // encrypted
		"opaque":          {"hunter2", ""},
		"dots":            {"..", ""},
		"no base64":       {"a.%%%.c", ""},
		"no JSON":         {"a." + base64.RawURLEncoding.EncodeToString([]byte("exp=1")) + ".c", ""},
		"cut JSON":        {"a." + base64.RawURLEncoding.EncodeToString([]byte(`{"exp":1`)) + ".c", ""},
		"JSON text":       {"a." + base64.RawURLEncoding.EncodeToString([]byte(`"exp"`)) + ".c", ""},
		"a year later":    {jwt(`{"exp":%d}`, now.AddDate(1, 0, 0).Unix()), ""},
		"year 9999":       {jwt(`{"exp":253402300799}`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := CheckToken(tc.token, now)
			if (err == nil) != (tc.want == "") || err != nil && err.Error() != tc.want {
				t.Errorf("%v; want %q", err, tc.want)
			}
		})
	}
}

// padded gives the payload the = that RFC 7515 forbids and some write.
func padded(token string) string {
	p := strings.Split(token, ".")
	for len(p[1])%4 != 0 {
		p[1] += "="
	}
	return strings.Join(p, ".")
}

func TestCheckCert(t *testing.T) {
	t.Parallel()
	fresh, old := certUntil(t, now.Add(time.Hour)), certUntil(t, now.Add(-time.Hour))
	key := []byte("-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n")
	const expired = "client certificate expired on 2026-03-02 08:00 UTC"
	for name, tc := range map[string]struct {
		raw  []byte
		want string
	}{
		"lasts": {fresh, ""}, "expired": {old, expired}, "this second": {certUntil(t, now), ""},
		// kubelet-client-current.pem holds the key as well; the first certificate is the client's own, others are its issuers.
		"with its key":       {slices.Concat(fresh, key), ""},
		"expired, with key":  {slices.Concat(old, key), expired},
		"old issuer":         {slices.Concat(fresh, old), ""},
		"young issuer":       {slices.Concat(old, fresh), expired},
		"words before it":    {slices.Concat([]byte("subject=CN = system:node:a\n"), old), expired},
		"CRLF":               {[]byte(strings.ReplaceAll(string(old), "\n", "\r\n")), expired},
		"empty":              {nil, "client certificate is no PEM"},
		"a word":             {[]byte("hunter2"), "client certificate is no PEM"},
		"cut":                {fresh[:len(fresh)/2], "client certificate is no PEM"},
		"DER":                {derOf(t, fresh), "client certificate is no PEM"},
		"nothing inside":     {[]byte("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"), "client certificate cannot be parsed"},
		"no certificate":     {[]byte("-----BEGIN CERTIFICATE-----\naHVudGVyMg==\n-----END CERTIFICATE-----\n"), "client certificate cannot be parsed"},
		"megabytes of words": {[]byte(strings.Repeat("-----BEGIN ", 1<<17)), "client certificate is no PEM"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := CheckCert(tc.raw, now)
			if (err == nil) != (tc.want == "") || err != nil && err.Error() != tc.want {
				t.Errorf("%v; want %q", err, tc.want)
			}
		})
	}
}

func derOf(tb testing.TB, raw []byte) []byte {
	tb.Helper()
	block, _ := pem.Decode(raw)
	if block == nil {
		tb.Fatal("no PEM")
	}
	return block.Bytes
}
