package e2e

import (
	"encoding/base64"
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

const subnetEnv = "FLANNEL_NETWORK=198.51.100.0/24\nFLANNEL_SUBNET=198.51.100.1/24\nFLANNEL_MTU=1400\nFLANNEL_IPMASQ=false\n"

// agentCases are about what a plugin's agent leaves on the node. The plugins are stand-ins: see testdata/standin.
var agentCases = []agreementCase{
	{name: "flannel", arrange: flannel(subnetEnv)},
	{
		name:    "flannel without subnet.env",
		arrange: flannel(""),
		want:    want{1, []string{"subnet.env", "missing", "kube-flannel"}},
	},
	{
		name:    "flannel, subnet.env with Windows line ends",
		arrange: flannel("FLANNEL_NETWORK=198.51.100.0/24\r\nFLANNEL_SUBNET=198.51.100.1/24\r\nFLANNEL_MTU=1400\r\nFLANNEL_IPMASQ=false\r\n"),
	},
	{
		name:    "flannel, subnet.env without FLANNEL_NETWORK",
		arrange: flannel("FLANNEL_SUBNET=198.51.100.1/24\nFLANNEL_MTU=1400\nFLANNEL_IPMASQ=false\n"),
		want:    want{1, []string{"subnet.env", "FLANNEL_NETWORK"}},
	},
	{
		name:    "flannel, subnet.env without FLANNEL_SUBNET",
		arrange: flannel("FLANNEL_NETWORK=198.51.100.0/24\nFLANNEL_MTU=1400\nFLANNEL_IPMASQ=false\n"),
		want:    want{1, []string{"subnet.env", "FLANNEL_SUBNET"}},
	},
	{
		name:    "flannel, subnet.env without FLANNEL_MTU",
		arrange: flannel("FLANNEL_NETWORK=198.51.100.0/24\nFLANNEL_SUBNET=198.51.100.1/24\nFLANNEL_IPMASQ=false\n"),
		want:    want{1, []string{"subnet.env", "FLANNEL_MTU"}},
	},
	{
		name: "flannel, the bridge that it runs missing", // the file does not name it
		arrange: func(t *testing.T, n *node) {
			flannel(subnetEnv)(t, n)
			remove(t, n.plugin("bridge"))
		},
		want: want{1, []string{"flannel", "bridge", "not in"}},
	},
	{
		name: "flannel, the host-local that it runs missing",
		arrange: func(t *testing.T, n *node) {
			flannel(subnetEnv)(t, n)
			remove(t, n.plugin("host-local"))
		},
		want: want{1, []string{"flannel", "host-local", "not in"}},
	},
	{
		name: "flannel, a delegate with ipam",
		arrange: func(t *testing.T, n *node) {
			flannel(subnetEnv)(t, n)
			n.writeConf(t, "10-pods.conflist", conflist(map[string]any{"type": "flannel", "subnetFile": n.agentFile("subnet.env"),
				"delegate": map[string]any{"bridge": run.name, "ipam": hostLocal()}}))
		},
		want: want{1, []string{"delegate", "ipam"}},
	},
	{name: "calico", arrange: calico(map[string]any{}, time.Hour)},
	{
		name: "calico without nodename",
		arrange: func(t *testing.T, n *node) {
			calico(map[string]any{}, time.Hour)(t, n)
			remove(t, n.agentFile("nodename"))
		},
		want: want{1, []string{"nodename", "missing", "calico-node"}},
	},
	{
		name: "calico without nodename, which is optional",
		arrange: func(t *testing.T, n *node) {
			calico(map[string]any{"nodename_file_optional": true}, time.Hour)(t, n)
			remove(t, n.agentFile("nodename"))
		},
	},
	{
		name: "calico without its kubeconfig",
		arrange: func(t *testing.T, n *node) {
			calico(map[string]any{}, time.Hour)(t, n)
			remove(t, n.agentFile("kubeconfig"))
		},
		want: want{1, []string{"kubeconfig", "missing"}},
	},
	{
		name:    "calico, its token expired",
		arrange: calico(map[string]any{}, -time.Hour),
		want:    want{1, []string{"kubeconfig", "token expired"}},
	},
}

// flannel sets up the stand-in with this subnet.env, none for "".
func flannel(env string) func(*testing.T, *node) {
	return func(t *testing.T, n *node) {
		n.addStandIn(t, "flannel")
		if env != "" {
			writeFile(t, n.agentFile("subnet.env"), env)
		}
		n.writeConf(t, "10-pods.conflist", conflist(map[string]any{
			"type":       "flannel",
			"subnetFile": n.agentFile("subnet.env"),
			"ipam":       map[string]any{"dataDir": filepath.Join(run.dir, "addresses")},
			"delegate":   map[string]any{"bridge": run.name},
		}))
	}
}

// calico sets up the stand-in with more keys and a token that ends in a while.
func calico(more map[string]any, tokenEnds time.Duration) func(*testing.T, *node) {
	return func(t *testing.T, n *node) {
		n.addStandIn(t, "calico")
		writeFile(t, n.agentFile("nodename"), "node-1")
		writeFile(t, n.agentFile("kubeconfig"), kubeconfig(token(time.Now().Add(tokenEnds))))
		conf := map[string]any{
			"type": "calico", "bridge": run.name, "ipam": hostLocal(),
			"nodename_file": n.agentFile("nodename"),
			"kubernetes":    map[string]any{"kubeconfig": n.agentFile("kubeconfig")},
		}
		for key, value := range more {
			conf[key] = value
		}
		n.writeConf(t, "10-pods.conflist", conflist(conf))
	}
}

// token is a JSON Web Token as the API server issues them for a service account; nobody here looks at its signature.
func token(ends time.Time) string {
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"RS256"}`)) + "." +
		encode(fmt.Appendf(nil, `{"exp":%d,"sub":"system:serviceaccount:kube-system:calico-cni-plugin"}`, ends.Unix())) + "." +
		encode([]byte("signature"))
}

func kubeconfig(token string) string {
	return `apiVersion: v1
kind: Config
clusters:
- name: local
  cluster:
    server: https://192.0.2.1:443
users:
- name: calico
  user:
    token: ` + token + `
contexts:
- name: calico-context
  context: {cluster: local, user: calico}
current-context: calico-context
`
}
