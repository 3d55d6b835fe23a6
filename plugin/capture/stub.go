package capture

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"time"
)

// A capture must give the verdict that the node gave, and one verdict is that a credential has expired. So a token or
// certificate is replaced by one that says nothing but when it expires.

// stubToken is a JSON Web Token with the exp of tok alone, "REDACTED" when tok has none.
func stubToken(tok string) string {
	parts := strings.Split(tok, ".")
	if len(parts) < 2 {
		return hiddenValue
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Exp json.Number `json:"exp"`
	}
	if err != nil || json.Unmarshal(payload, &claims) != nil {
		return hiddenValue
	}
	exp, err := claims.Exp.Int64()
	if err != nil {
		return hiddenValue
	}
	enc := base64.RawURLEncoding.EncodeToString
	return enc([]byte(`{"alg":"none"}`)) + "." + enc(fmt.Appendf(nil, `{"exp":%d}`, exp)) + "." + hiddenValue
}

// stubPEM is a certificate without names that ends when the first one of pemData does, "REDACTED" for anything else.
func stubPEM(pemData []byte) []byte {
	block, _ := pem.Decode(pemData)
	if block == nil || block.Type != "CERTIFICATE" {
		return []byte(hiddenValue)
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return []byte(hiddenValue)
	}
	stub, err := emptyCert(cert.NotAfter)
	if err != nil {
		return []byte(hiddenValue)
	}
	return stub
}

func emptyCert(notAfter time.Time) ([]byte, error) {
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: notAfter}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, pub, key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

// stubText stands for the value of a secret key.
func stubText(s string) string {
	if strings.HasPrefix(s, "eyJ") {
		return stubToken(s)
	}
	if raw, err := base64.StdEncoding.DecodeString(s); err == nil && strings.Contains(string(raw), "-----BEGIN CERTIFICATE") {
		if stub := stubPEM(raw); string(stub) != hiddenValue {
			return base64.StdEncoding.EncodeToString(stub)
		}
	}
	return hiddenValue
}
