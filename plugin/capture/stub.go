package capture

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"sandbox-checker/plugin/cni"
)

// A capture must give the verdict that the node gave, and one verdict is that a credential has expired. So a token or
// certificate is replaced by one that says nothing but when it expires.

// stubToken is a JSON Web Token with the exp of tok alone, "REDACTED" when tok has none.
func stubToken(tok string) string {
	at, told := cni.TokenExpiry(tok)
	if !told {
		return hiddenValue
	}
	enc := base64.RawURLEncoding.EncodeToString
	return enc([]byte(`{"alg":"none"}`)) + "." + enc(fmt.Appendf(nil, `{"exp":%d}`, at.Unix())) + "." + hiddenValue
}

// stubPEM is a certificate without names that ends when the first one of pemData does, one that cannot be parsed where that cannot,
// "REDACTED" for anything else.
func stubPEM(pemData []byte) []byte {
	at, err := cni.CertExpiry(pemData)
	switch {
	case errors.Is(err, cni.ErrNoPEM):
		return []byte(hiddenValue)
	case err != nil:
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte(hiddenValue)})
	}
	stub, err := emptyCert(at)
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
	if token := stubToken(s); token != hiddenValue {
		return token
	}
	if raw, err := base64.StdEncoding.DecodeString(s); err == nil && strings.Contains(string(raw), "-----BEGIN CERTIFICATE") {
		if stub := stubPEM(raw); string(stub) != hiddenValue {
			return base64.StdEncoding.EncodeToString(stub)
		}
	}
	return hiddenValue
}
