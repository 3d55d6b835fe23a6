package cni

// A kubeconfig as CNI agents write it for their plugin:
//
//	apiVersion: v1
//	kind: Config
//	clusters:
//	- name: local
//	  cluster:
//	    server: https://10.96.0.1:443
//	users:
//	- name: calico
//	  user:
//	    token: eyJhbGciOi...
//	contexts:
//	- name: calico-context
//	  context: {cluster: local, user: calico}
//	current-context: calico-context
//
// Source: k8s.io/client-go/tools/clientcmd/api/v1. Nothing of a credential ever leaves this file but when it expires.

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

type kubeconfig struct {
	Current  string `yaml:"current-context"`
	Clusters []struct {
		Name    string `yaml:"name"`
		Cluster struct {
			Server string `yaml:"server"`
		} `yaml:"cluster"`
	} `yaml:"clusters"`
	Users []struct {
		Name string         `yaml:"name"`
		User kubeconfigUser `yaml:"user"`
	} `yaml:"users"`
	Contexts []struct {
		Name    string `yaml:"name"`
		Context struct {
			Cluster string `yaml:"cluster"`
			User    string `yaml:"user"`
		} `yaml:"context"`
	} `yaml:"contexts"`
}

type kubeconfigUser struct {
	Token     string    `yaml:"token"`
	TokenFile string    `yaml:"tokenFile"`
	CertData  string    `yaml:"client-certificate-data"`
	CertFile  string    `yaml:"client-certificate"`
	Username  string    `yaml:"username"`
	Exec      yaml.Node `yaml:"exec"`
	Provider  yaml.Node `yaml:"auth-provider"`
}

// Credential is what a kubeconfig points at for its current context and that has to be read from another file.
type Credential struct {
	TokenFile, CertFile string
}

// CheckKubeconfig says why a plugin could not log in with this kubeconfig at the time now: no server, no credential, or
// one that has run out. Files that it names for the credential are returned, to be checked by [CheckToken] and [CheckCert].
func CheckKubeconfig(raw []byte, now time.Time) (Credential, error) {
	k, err := parseKubeconfig(raw)
	if err != nil {
		// The parser's own words may quote the line, and the line may hold a token.
		return Credential{}, errors.New("is no valid YAML")
	}
	server, user := k.current()
	if server == "" {
		return Credential{}, errors.New("names no server")
	}
	if user == nil {
		return Credential{}, errors.New("has no user")
	}
	switch {
	case user.Token != "": // beside a tokenFile the token counts where the file cannot be read; the file is the fresher one
		if user.TokenFile == "" {
			return Credential{}, CheckToken(user.Token, now)
		}
	case user.CertData != "":
		pemData, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(user.CertData), ""))
		if err != nil {
			return Credential{}, errors.New("client certificate is no base64")
		}
		return Credential{}, CheckCert(pemData, now)
	}
	c := Credential{TokenFile: user.TokenFile, CertFile: user.CertFile}
	if c == (Credential{}) && user.Username == "" && user.Exec.IsZero() && user.Provider.IsZero() {
		return c, errors.New("has no credential")
	}
	return c, nil
}

// parseKubeconfig decodes only the keys that count. yaml.v3 compares each key of a mapping with each other one: a MiB of keys
// takes minutes, of equal keys gigabytes of errors. client-go takes the last of equal keys.
func parseKubeconfig(raw []byte) (kubeconfig, error) {
	var k kubeconfig
	var doc yaml.Node
	if err := yaml.Unmarshal(raw, &doc); err != nil || len(doc.Content) == 0 {
		return k, err
	}
	err := kubeconfigKeys.of(doc.Content[0]).Decode(&k)
	return k, err
}

// keys are the keys of a mapping that count, and those below each.
type keys map[string]keys

var kubeconfigKeys = keys{
	"current-context": nil,
	"clusters":        {"name": nil, "cluster": {"server": nil}},
	"users": {"name": nil, "user": {"token": nil, "tokenFile": nil, "client-certificate-data": nil, "client-certificate": nil,
		"username": nil, "exec": nil, "auth-provider": nil}},
	"contexts": {"name": nil, "context": {"cluster": nil, "user": nil}},
}

// of is the node with no other keys. Aliases go too: no agent writes any, and they multiply.
func (k keys) of(n *yaml.Node) *yaml.Node {
	out := *n
	switch n.Kind {
	case yaml.AliasNode:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
	case yaml.SequenceNode:
		out.Content = nil
		for _, c := range n.Content {
			if k != nil {
				out.Content = append(out.Content, k.of(c))
			}
		}
	case yaml.MappingNode:
		out.Content = nil
		last := map[string]*yaml.Node{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if _, ok := k[n.Content[i].Value]; ok && n.Content[i].Kind == yaml.ScalarNode {
				last[n.Content[i].Value] = n.Content[i+1]
			}
		}
		for key, v := range last {
			out.Content = append(out.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, k[key].of(v))
		}
	}
	return &out
}

// current finds server and user of the current context, or the only ones where no context is set.
func (k kubeconfig) current() (string, *kubeconfigUser) {
	cluster, user := "", ""
	for _, c := range k.Contexts {
		if c.Name == k.Current {
			cluster, user = c.Context.Cluster, c.Context.User
		}
	}
	server := ""
	for _, c := range k.Clusters {
		if c.Name == cluster || (cluster == "" && len(k.Clusters) == 1) {
			server = c.Cluster.Server
		}
	}
	for i := range k.Users {
		if k.Users[i].Name == user || (user == "" && len(k.Users) == 1) {
			return server, &k.Users[i].User
		}
	}
	return server, nil
}

// CheckToken fails with a token that has expired, and not with one that does not say when it does.
func CheckToken(token string, now time.Time) error {
	at, told := TokenExpiry(token)
	if !told {
		return nil
	}
	return expired("token", at, now)
}

// TokenExpiry is exp of a JSON Web Token (RFC 7519), in whole seconds. A token of another kind, and a time after the year 9999, tells
// nothing.
func TokenExpiry(token string) (time.Time, bool) {
	parts := strings.Split(strings.TrimSpace(token), ".")
	if len(parts) != 3 {
		return time.Time{}, false
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil {
		return time.Time{}, false
	}
	var claims struct {
		Exp json.Number `json:"exp"`
	}
	if json.Unmarshal(payload, &claims) != nil || claims.Exp == "" {
		return time.Time{}, false
	}
	exp, err := claims.Exp.Float64()
	if err != nil || exp > maxExp { // int64 would wrap
		return time.Time{}, false
	}
	return time.Unix(int64(max(exp, 0)), 0), true
}

// CheckCert says whether the first certificate of a PEM file has expired, or why it is none.
func CheckCert(pemData []byte, now time.Time) error {
	at, err := CertExpiry(pemData)
	if err != nil {
		return err
	}
	return expired("client certificate", at, now)
}

// ErrNoPEM is what is no certificate at all.
var ErrNoPEM = errors.New("client certificate is no PEM")

// CertExpiry is when the first certificate of a PEM file expires. It fails with [ErrNoPEM] where there is none, and otherwise where it
// cannot be parsed.
func CertExpiry(pemData []byte) (time.Time, error) {
	block, rest := pem.Decode(pemData)
	for block != nil && block.Type != "CERTIFICATE" { // its key may stand before it (tls.X509KeyPair)
		block, rest = pem.Decode(rest)
	}
	if block == nil {
		return time.Time{}, ErrNoPEM
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return time.Time{}, errors.New("client certificate cannot be parsed")
	}
	return cert.NotAfter, nil
}

// maxExp is the end of the year 9999.
const maxExp = 253402300799

func expired(what string, at, now time.Time) error {
	if now.After(at) {
		return fmt.Errorf("%s expired on %s", what, at.UTC().Format("2006-01-02 15:04 UTC"))
	}
	return nil
}
