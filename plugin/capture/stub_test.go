package capture

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sandbox-checker/plugin/cni"
)

// TestStubsExpireAlike: what stands for a token or a certificate is judged as that was.
func TestStubsExpireAlike(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	enc := base64.RawURLEncoding.EncodeToString
	for _, exp := range []string{"%d", "%d.75", `"%d"`, "%d0e-1", `"never"`, "null", "[%d]", "%d000000000"} {
		for _, pad := range []string{"", "=", "=="} {
			for _, by := range []time.Duration{-time.Minute, time.Minute} {
				claims := strings.Replace(exp, "%d", fmt.Sprint(now.Add(by).Unix()), 1)
				for _, head := range []string{`{"alg":"RS256"}`, `{ "alg": "RS256" }`} {
					tok := enc([]byte(head)) + "." + enc(fmt.Appendf(nil, `{"exp":%s}`, claims)) + pad + "." + enc([]byte("signature"))
					want, got := cni.CheckToken(tok, now), cni.CheckToken(stubText(tok), now)
					if fmt.Sprint(got) != fmt.Sprint(want) {
						t.Errorf("%s in %q, padded %q: %v, its stub %v", claims, head, pad, want, got)
					}
					if text := string(hideSecrets([]byte("see " + tok))); strings.Contains(text, enc([]byte("signature"))) {
						t.Errorf("the signature is left: %s", text)
					}
				}
			}
		}
	}
	fresh, err := emptyCert(now.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	old, err := emptyCert(now.Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	key := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: []byte("key")})
	for name, raw := range map[string][]byte{
		"lasts": fresh, "expired": old, "after its key": slices.Concat(key, old), "before its key": slices.Concat(old, key), "old issuer": slices.Concat(fresh, old),
		"cut": old[:len(old)/2], "cannot be parsed": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("hunter2")}), "a key alone": key, "a word": []byte("hunter2"),
	} {
		stub, err := base64.StdEncoding.DecodeString(stubText(base64.StdEncoding.EncodeToString(raw)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if want, got := cni.CheckCert(raw, now), cni.CheckCert(stub, now); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, its stub %v", name, want, got)
		}
	}
}
