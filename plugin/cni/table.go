package cni

import "strings"

// row says what one plugin type needs beyond its own binary and its ipam's. Adding a plugin is one row here and one
// directory of test data.
type row struct {
	typ string
	// runs are binaries it runs without naming them in the file.
	runs []string
	// needs are paths without which its ADD fails.
	needs []where
	// ownIPAM: ipam.type is its own affair and no binary; noBinary: as an ipam it is no binary itself.
	ownIPAM, noBinary bool
	// agent is who makes what is missing.
	agent string
	// more adds what does not fit into a row; also says it in words.
	also string
	more func(g *gatherer, p Plugin, dirs []string, depth int)
}

// where is a path: the value of key, else def. unless names a key that, when true, lifts the need. file is joined to the
// value of key when key names a directory.
// (A key set to any text but "false" counts as true.)
type where struct {
	kind             Kind
	key, def, unless string
	file             string
	// or are other places that serve as well.
	or []string
}

func (w where) in(conf map[string]any) string {
	if w.unless != "" && (isTrue(value(conf, w.unless)) || text(conf, w.unless) != "" && text(conf, w.unless) != "false") {
		return ""
	}
	p := text(conf, w.key)
	if w.key == "" || p == "" {
		return w.def
	}
	if !strings.HasPrefix(p, "/") {
		return "" // a name, not a path: multus clusterNetwork may be either
	}
	if w.file != "" {
		p = strings.TrimRight(p, "/") + "/" + w.file
	}
	return p
}

func socket(path string) []where { return []where{{kind: Socket, def: path}} }

// table is what each plugin type needs at ADD. Sources: the plugins' own code and manifests, 2026.
func table() []row {
	return []row{
		{typ: "flannel", needs: []where{{kind: SubnetEnv, key: "subnetFile", def: "/run/flannel/subnet.env"}},
			agent: "the kube-flannel pod of this node (k3s and rke2: the k3s or rke2 service)",
			also:  "the binary that delegate.type names, else bridge, and its ipam, else host-local", more: flannelDelegate},
		{typ: "calico", needs: []where{
			{kind: File, key: "nodename_file", def: "/var/lib/calico/nodename", unless: "nodename_file_optional"},
			{kind: Kubeconfig, key: "kubernetes.kubeconfig"},
			{kind: File, key: "etcd_ca_cert_file"}, {kind: File, key: "etcd_cert_file"}, {kind: File, key: "etcd_key_file"}},
			agent: "the calico-node pod of this node"},
		{typ: "cilium-cni", needs: socket("/var/run/cilium/cilium.sock"), agent: "the cilium pod of this node"},
		{typ: "multus", needs: []where{{kind: File, key: "kubeconfig"}, {kind: File, key: "readinessindicatorfile"},
			{kind: NetworkFile, key: "clusterNetwork"}}, agent: "the multus pod of this node",
			also: "its delegates, and what they need", more: multusDelegates},
		{typ: "multus-shim", needs: []where{{kind: Socket, key: "daemonSocketDir", file: "multus.sock", def: "/run/multus/multus.sock"}},
			agent: "the multus daemon pod of this node"},
		{typ: "aws-cni", ownIPAM: true, agent: "the aws-node pod of this node"},
		{typ: "egress-cni", ownIPAM: true, agent: "the aws-node pod of this node", also: "the ipam when enabled", more: ipamIfEnabled},
		{typ: "egress-v4-cni", ownIPAM: true, agent: "the aws-node pod of this node", also: "the ipam when enabled", more: ipamIfEnabled},
		{typ: "azure-cns", noBinary: true, agent: "the azure-cns pod of this node"},
		{typ: "antrea", ownIPAM: true, needs: socket("/var/run/antrea/cni.sock"), agent: "the antrea-agent pod of this node"},
		{typ: "kube-ovn", ownIPAM: true, needs: []where{{kind: Socket, key: "server_socket", def: "/run/openvswitch/kube-ovn-daemon.sock"}},
			agent: "the kube-ovn-cni pod of this node"},
		{typ: "ovn-k8s-cni-overlay", ownIPAM: true, needs: socket("/run/ovn-kubernetes/cni/ovn-cni-server.sock"),
			agent: "the ovnkube-node pod of this node"},
		{typ: "terway", ownIPAM: true, needs: socket("/var/run/eni/eni.socket"), agent: "the terway pod of this node"},
		{typ: "galaxy-sdn", needs: socket("/var/run/galaxy/galaxy.sock"), agent: "the galaxy pod of this node"},
		{typ: "opflex-agent-cni", ownIPAM: true, needs: socket("/var/run/aci-containers-ep-rpc.sock"),
			agent: "the aci-containers-host pod of this node"},
		{typ: "coil", needs: []where{{kind: Socket, key: "socket", def: "/run/coild.sock"}}, agent: "the coild pod of this node"},
		{typ: "openshift-sdn", runs: []string{"loopback"}, needs: socket("/var/run/openshift-sdn/cniserver/socket"),
			agent: "the sdn pod of this node"},
		{typ: "istio-cni", needs: []where{{kind: Kubeconfig, key: "kubernetes.kubeconfig"}}, agent: "the istio-cni-node pod of this node"},
		{typ: "linkerd-cni", needs: []where{{kind: Kubeconfig, key: "kubernetes.kubeconfig"}}, agent: "the linkerd-cni pod of this node"},
		{typ: "vpc-router", ownIPAM: true}, {typ: "romana", ownIPAM: true}, {typ: "opflex", ownIPAM: true},
		{typ: "contrail-k8s-cni", needs: socket("/var/run/contrail/cni.socket"), agent: "the contrail agent of this node"},
		{typ: "weave-net", agent: "the weave-net pod of this node"},
		// As ipam plugins.
		{typ: "calico-ipam", agent: "the calico-node pod of this node"},
		{typ: "whereabouts", needs: []where{{kind: WhereaboutsConf, key: "configuration_path", unless: "kubernetes.kubeconfig",
			def: "/etc/cni/net.d/whereabouts.d/whereabouts.conf", or: []string{"/etc/kubernetes/cni/net.d/whereabouts.d/whereabouts.conf"}},
			{kind: Kubeconfig, key: "kubernetes.kubeconfig"}}, agent: "the whereabouts pod of this node"},
		{typ: "dhcp", needs: []where{{kind: Socket, key: "daemonSocketPath", def: "/run/cni/dhcp.sock"}},
			agent: "the cni dhcp daemon of this node"},
	}
}

// Types are the plugin types of the table, in its order.
func Types() []string {
	var out []string
	for _, r := range table() {
		out = append(out, r.typ)
	}
	return out
}

func rowOf(typ string) row {
	for _, r := range table() {
		if r.typ == typ {
			return r
		}
	}
	return row{typ: typ}
}
