package cni

import "go.yaml.in/yaml/v3"

// RenamedKubeconfig returns a kubeconfig with nothing in it but what [CheckKubeconfig] reads: the server and the one user of the
// current context. Names of clusters, users and contexts go. What is no YAML becomes something else that is none.
func RenamedKubeconfig(raw []byte) []byte {
	k, err := parseKubeconfig(raw)
	if err != nil {
		return []byte("[ no valid YAML\n")
	}
	server, user := k.current()
	out := map[string]any{"apiVersion": "v1", "kind": "Config"}
	if server != "" {
		out["clusters"] = []any{map[string]any{"name": "cluster", "cluster": map[string]any{"server": server}}}
	}
	if user != nil {
		out["users"] = []any{map[string]any{"name": "user", "user": user.kept()}}
	}
	text, err := yaml.Marshal(out)
	if err != nil {
		return []byte("[ no valid YAML\n")
	}
	return text
}

// kept is what of a user tells whether it can log in.
func (u kubeconfigUser) kept() map[string]any {
	out := map[string]any{}
	for key, val := range map[string]string{"token": u.Token, "tokenFile": u.TokenFile,
		"client-certificate-data": u.CertData, "client-certificate": u.CertFile} {
		if val != "" {
			out[key] = val
		}
	}
	if u.Username != "" {
		out["username"] = "user"
	}
	if !u.Exec.IsZero() || !u.Provider.IsZero() {
		out["exec"] = map[string]any{"command": "program"}
	}
	return out
}
