package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"path/filepath"
	"testing"
	"time"
)

// The cluster's identities: one authority, a certificate for the API server, a key for service accounts, and a token for
// each who asks. RBAC and the node authorizer judge them as anywhere.

const (
	adminToken     = "admin"
	kubeletToken   = "kubelet"
	managerToken   = "manager"
	schedulerToken = "scheduler"
)

const tokens = adminToken + `,admin,admin,"system:masters"
` + kubeletToken + `,system:node:` + nodeName + `,kubelet,"system:nodes"
` + managerToken + `,system:kube-controller-manager,manager
` + schedulerToken + `,system:kube-scheduler,scheduler
`

func (m *machine) kube(name string) string        { return filepath.Join("/etc/kubernetes", name) }
func (m *machine) adminConfig() string            { return m.kubeconfig(adminToken) }
func (m *machine) kubeconfig(token string) string { return m.kube(token + ".kubeconfig") }

// writeIdentities puts them on the machine's disk, where they survive a power cut.
func (m *machine) writeIdentities(t *testing.T) {
	t.Helper()
	dir := m.disk("/etc/kubernetes")
	mkdirAll(t, dir)
	caKey, accountKey, serverKey := newKey(t), newKey(t), newKey(t)
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "e2e"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	server := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "kube-apiserver"},
		NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		DNSNames:    []string{"kubernetes.default.svc", "localhost"},
		IPAddresses: []net.IP{net.ParseIP(serviceIP), net.ParseIP(nodeIP), net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	write := func(name, kind string, der []byte) {
		writeFile(t, filepath.Join(dir, name), string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})))
	}
	write("ca.crt", "CERTIFICATE", signed(t, ca, ca, caKey, caKey))
	write("server.crt", "CERTIFICATE", signed(t, server, ca, serverKey, caKey))
	write("server.key", "EC PRIVATE KEY", keyBytes(t, serverKey))
	write("accounts.key", "EC PRIVATE KEY", keyBytes(t, accountKey))
	writeFile(t, filepath.Join(dir, "tokens.csv"), tokens)
	for _, token := range []string{adminToken, kubeletToken, managerToken, schedulerToken} {
		writeFile(t, filepath.Join(dir, token+".kubeconfig"), fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: e2e, cluster: {server: "https://%s:443", certificate-authority: %s}}]
users: [{name: e2e, user: {token: %s}}]
contexts: [{name: e2e, context: {cluster: e2e, user: e2e}}]
current-context: e2e
`, serviceIP, m.kube("ca.crt"), token))
	}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func keyBytes(t *testing.T, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func signed(t *testing.T, subject, by *x509.Certificate, key, byKey *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, subject, by, &key.PublicKey, byKey)
	if err != nil {
		t.Fatal(err)
	}
	return der
}
