package cni

import (
	"slices"
	"testing"
)

// wants are needs as "kind name", in their order.
func wants(needs []Need) []string {
	out := make([]string, 0, len(needs))
	for _, n := range needs {
		out = append(out, string(n.Kind)+" "+n.Name)
	}
	return out
}

// TestNeedsOfEachType has at least one plugin of each row, as its manifest writes it, and what its ADD needs.
func TestNeedsOfEachType(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, typ, plugin string
		want              []string
	}{
		{"flannel", "flannel", `{"type":"flannel","delegate":{"isDefaultGateway":true}}`,
			[]string{"binary flannel", "subnet.env /run/flannel/subnet.env", "binary bridge", "binary host-local"}},
		{"calico", "calico", `{"type":"calico","ipam":{"type":"calico-ipam"},"kubernetes":{"kubeconfig":"/etc/cni/net.d/calico-kubeconfig"}}`,
			[]string{"binary calico", "file /var/lib/calico/nodename", "kubeconfig /etc/cni/net.d/calico-kubeconfig", "binary calico-ipam"}},
		{"calico, host-local", "calico", `{"type":"calico","ipam":{"type":"host-local","subnet":"usePodCidr"}}`,
			[]string{"binary calico", "file /var/lib/calico/nodename", "binary host-local"}},
		// The key nodename alone does not excuse the file.
		{"calico, node name in the file", "calico", `{"type":"calico","nodename":"node-1"}`,
			[]string{"binary calico", "file /var/lib/calico/nodename"}},
		{"calico, etcd", "calico", `{"type":"calico","etcd_ca_cert_file":"/etc/cni/net.d/calico-tls/etcd-ca","etcd_cert_file":"/etc/cni/net.d/calico-tls/etcd-cert","etcd_key_file":"/etc/cni/net.d/calico-tls/etcd-key"}`,
			[]string{"binary calico", "file /var/lib/calico/nodename", "file /etc/cni/net.d/calico-tls/etcd-ca",
				"file /etc/cni/net.d/calico-tls/etcd-cert", "file /etc/cni/net.d/calico-tls/etcd-key"}},
		{"calico, etcd without TLS", "calico", `{"type":"calico","etcd_ca_cert_file":"","etcd_cert_file":"","etcd_key_file":""}`,
			[]string{"binary calico", "file /var/lib/calico/nodename"}},
		{"cilium", "cilium-cni", `{"type":"cilium-cni","enable-debug":false,"log-file":"/var/run/cilium/cilium-cni.log"}`,
			[]string{"binary cilium-cni", "socket /var/run/cilium/cilium.sock"}},
		{"cilium with azure's ipam", "cilium-cni", `{"type":"cilium-cni","ipam":{"type":"azure-ipam"}}`,
			[]string{"binary cilium-cni", "socket /var/run/cilium/cilium.sock", "binary azure-ipam"}},
		{"multus", "multus", `{"type":"multus","kubeconfig":"/etc/cni/net.d/multus.d/multus.kubeconfig","delegates":[{"type":"ptp"}]}`,
			[]string{"binary multus", "file /etc/cni/net.d/multus.d/multus.kubeconfig", "binary ptp"}},
		{"multus-shim", "multus-shim", `{"type":"multus-shim","clusterNetwork":"/host/etc/cni/net.d/10-flannel.conflist"}`,
			[]string{"binary multus-shim", "socket /run/multus/multus.sock"}},
		{"multus-shim of OpenShift", "multus-shim", `{"type":"multus-shim","daemonSocketDir":"/run/multus/socket"}`,
			[]string{"binary multus-shim", "socket /run/multus/socket/multus.sock"}},
		{"aws", "aws-cni", `{"type":"aws-cni","mtu":"9001","pluginLogFile":"/var/log/aws-routed-eni/plugin.log"}`, []string{"binary aws-cni"}},
		{"aws egress, off", "egress-cni", `{"type":"egress-cni","enabled":"false","ipam":{"type":"host-local","ranges":[[{"subnet":"fd00::ac:00/118"}]]}}`,
			[]string{"binary egress-cni"}},
		{"aws egress, on", "egress-cni", `{"type":"egress-cni","enabled":"true","ipam":{"type":"host-local"}}`,
			[]string{"binary egress-cni", "binary host-local"}},
		{"aws egress, not set", "egress-v4-cni", `{"type":"egress-v4-cni","ipam":{"type":"host-local"}}`, []string{"binary egress-v4-cni"}},
		{"aws egress v4, a word", "egress-v4-cni", `{"type":"egress-v4-cni","enabled":"yes","ipam":{"type":"host-local"}}`, []string{"binary egress-v4-cni"}},
		{"aws egress v4, on", "egress-v4-cni", `{"type":"egress-v4-cni","enabled":true,"ipam":{"type":"host-local"}}`,
			[]string{"binary egress-v4-cni", "binary host-local"}},
		{"azure-vnet", "azure-vnet", `{"type":"azure-vnet","mode":"bridge","ipam":{"type":"azure-vnet-ipam"}}`, []string{"binary azure-vnet", "binary azure-vnet-ipam"}},
		// azure-cns is an HTTP service and no program.
		{"azure-vnet with cns", "azure-cns", `{"type":"azure-vnet","ipam":{"mode":"v4overlay","type":"azure-cns"}}`, []string{"binary azure-vnet"}},
		{"azure-vnet, empty ipam", "azure-vnet", `{"type":"azure-vnet","ipam":{"type":""}}`, []string{"binary azure-vnet"}},
		{"antrea", "antrea", `{"type":"antrea","ipam":{"type":"host-local"}}`, []string{"binary antrea", "socket /var/run/antrea/cni.sock"}},
		{"kube-ovn", "kube-ovn", `{"type":"kube-ovn","server_socket":"/run/openvswitch/kube-ovn-daemon.sock"}`,
			[]string{"binary kube-ovn", "socket /run/openvswitch/kube-ovn-daemon.sock"}},
		{"kube-ovn elsewhere, with ipam", "kube-ovn", `{"type":"kube-ovn","server_socket":"/run/x.sock","ipam":{"type":"kube-ovn"}}`,
			[]string{"binary kube-ovn", "socket /run/x.sock"}},
		{"ovn-kubernetes", "ovn-k8s-cni-overlay", `{"type":"ovn-k8s-cni-overlay","ipam":{},"dns":{},"logFile":"/var/log/x.log"}`,
			[]string{"binary ovn-k8s-cni-overlay", "socket /run/ovn-kubernetes/cni/ovn-cni-server.sock"}},
		{"terway", "terway", `{"type":"terway","eniip_virtual_type":"Veth"}`, []string{"binary terway", "socket /var/run/eni/eni.socket"}},
		{"galaxy", "galaxy-sdn", `{"type":"galaxy-sdn"}`, []string{"binary galaxy-sdn", "socket /var/run/galaxy/galaxy.sock"}},
		{"opflex-agent", "opflex-agent-cni", `{"type":"opflex-agent-cni","ipam":{"type":"opflex-agent-cni-ipam"}}`,
			[]string{"binary opflex-agent-cni", "socket /var/run/aci-containers-ep-rpc.sock"}},
		{"coil", "coil", `{"type":"coil","socket":"/run/coild.sock","capabilities":{"ipam":true}}`, []string{"binary coil", "socket /run/coild.sock"}},
		{"openshift-sdn", "openshift-sdn", `{"type":"openshift-sdn"}`,
			[]string{"binary openshift-sdn", "binary loopback", "socket /var/run/openshift-sdn/cniserver/socket"}},
		{"istio", "istio-cni", `{"type":"istio-cni","kubernetes":{"kubeconfig":"/etc/cni/net.d/ZZZ-istio-cni-kubeconfig"}}`,
			[]string{"binary istio-cni", "kubeconfig /etc/cni/net.d/ZZZ-istio-cni-kubeconfig"}},
		{"istio, no options", "istio-cni", `{"type":"istio-cni"}`, []string{"binary istio-cni"}},
		{"linkerd", "linkerd-cni", `{"type":"linkerd-cni","kubernetes":{"kubeconfig":"/etc/cni/net.d/ZZZ-linkerd-cni-kubeconfig"},"incoming-proxy-port":4143}`,
			[]string{"binary linkerd-cni", "kubeconfig /etc/cni/net.d/ZZZ-linkerd-cni-kubeconfig"}},
		{"vpc-router", "vpc-router", `{"type":"vpc-router","ipam":{"type":"host-local"}}`, []string{"binary vpc-router"}},
		{"romana", "romana", `{"type":"romana","ipam":{"type":"romana"}}`, []string{"binary romana"}},
		{"opflex", "opflex", `{"type":"opflex","ipam":{"type":"opflex-ipam"}}`, []string{"binary opflex"}},
		{"contrail", "contrail-k8s-cni", `{"type":"contrail-k8s-cni"}`, []string{"binary contrail-k8s-cni", "socket /var/run/contrail/cni.socket"}},
		{"weave", "weave-net", `{"type":"weave-net","hairpinMode":true}`, []string{"binary weave-net"}},
		{"weave with its ipam", "weave-net", `{"type":"weave-net","ipam":{"type":"weave-ipam"}}`, []string{"binary weave-net", "binary weave-ipam"}},
		{"calico-ipam elsewhere", "calico-ipam", `{"type":"ptp","ipam":{"type":"calico-ipam"}}`, []string{"binary ptp", "binary calico-ipam"}},
		{"whereabouts", "whereabouts", `{"type":"ipvlan","master":"eth0","ipam":{"type":"whereabouts","range":"192.168.2.224/28"}}`,
			[]string{"binary ipvlan", "binary whereabouts", "whereabouts.conf /etc/cni/net.d/whereabouts.d/whereabouts.conf"}},
		{"whereabouts elsewhere", "whereabouts", `{"type":"macvlan","ipam":{"type":"whereabouts","configuration_path":"/etc/w.conf"}}`,
			[]string{"binary macvlan", "binary whereabouts", "whereabouts.conf /etc/w.conf"}},
		{"whereabouts with a kubeconfig", "whereabouts", `{"type":"macvlan","ipam":{"type":"whereabouts","kubernetes":{"kubeconfig":"/etc/w.kubeconfig"}}}`,
			[]string{"binary macvlan", "binary whereabouts", "kubeconfig /etc/w.kubeconfig"}},
		{"dhcp", "dhcp", `{"type":"macvlan","ipam":{"type":"dhcp"}}`, []string{"binary macvlan", "binary dhcp", "socket /run/cni/dhcp.sock"}},
		{"dhcp elsewhere", "dhcp", `{"type":"macvlan","ipam":{"type":"dhcp","daemonSocketPath":"/run/d.sock"}}`,
			[]string{"binary macvlan", "binary dhcp", "socket /run/d.sock"}},
		{"unknown", "unknown", `{"type":"unknown","kubeconfig":"/etc/x","socket":"/run/x","subnetFile":"/x","ipam":{"type":"own-ipam"}}`,
			[]string{"binary unknown", "binary own-ipam"}},
		{"no ipam type", "bridge", `{"type":"bridge","ipam":{}}`, []string{"binary bridge"}},
	}
	covered := map[string]bool{}
	for _, tc := range cases {
		covered[tc.typ] = true
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := wants(listOf(t, tc.plugin).Needs()); !slices.Equal(got, tc.want) {
				t.Errorf("\ngot  %q\nwant %q", got, tc.want)
			}
		})
	}
	for _, typ := range Types() {
		if !covered[typ] {
			t.Errorf("no case for %s: a row is added with its test", typ)
		}
	}
}

func TestTypes(t *testing.T) {
	t.Parallel()
	types := Types()
	seen := map[string]bool{}
	for _, typ := range types {
		if typ == "" || seen[typ] {
			t.Errorf("%q twice or empty", typ)
		}
		seen[typ] = true
	}
	for _, typ := range []string{"flannel", "calico", "cilium-cni", "multus", "aws-cni", "whereabouts", "dhcp"} {
		if !seen[typ] {
			t.Errorf("%s is not in the table", typ)
		}
	}
	// The standard plugins have no row: their binary and their ipam are all they need.
	for _, typ := range []string{"bridge", "ptp", "portmap", "host-local", "loopback"} {
		if seen[typ] {
			t.Errorf("%s is in the table", typ)
		}
	}
}
