package cni

import (
	"fmt"
	"strings"
	"testing"
)

// A kubeconfig without names says the same of its login.
func TestRenamedKubeconfig(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		"", "x", "[", "users: x\n", "\t", "clusters:\n- {name: acme, cluster: {server: https://h}}\n",
		kubeconfigWith("token: opaque\n"), kubeconfigWith("tokenFile: acme/token\n"), kubeconfigWith("client-certificate: a.crt\n"),
		kubeconfigWith("client-certificate-data: aGk=\n"), kubeconfigWith("client-certificate-data: '?'\n"), kubeconfigWith("username: acme\n"),
		kubeconfigWith("exec: {command: acme}\n"), kubeconfigWith("auth-provider: {name: acme}\n"), kubeconfigWith("{}\n"),
		strings.Replace(kubeconfigWith("token: opaque\n"), "current-context: calico-context", "current-context: acme", 1),
		strings.Replace(kubeconfigWith("token: opaque\n"), "server:", "sever:", 1),
		strings.Replace(kubeconfigWith("token: opaque\n"), "- name: calico\n", "- name: acme\n", 1),
	} {
		got := RenamedKubeconfig([]byte(raw))
		was, err := CheckKubeconfig([]byte(raw), now)
		cred, gotErr := CheckKubeconfig(got, now)
		if fmt.Sprint(err) != fmt.Sprint(gotErr) || cred != was {
			t.Errorf("%v %v, was %v %v\n%s\nof\n%s", cred, gotErr, was, err, got, raw)
		}
		for _, word := range []string{"calico", "local", "command: acme", "username: acme", "name: acme"} {
			if strings.Contains(string(got), word) {
				t.Errorf("%q is left: %s", word, got)
			}
		}
	}
}
