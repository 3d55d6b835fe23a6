package cni

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestNeedsOfChains(t *testing.T) {
	t.Parallel()
	const env = "subnet.env /run/flannel/subnet.env"
	for name, tc := range map[string]struct {
		plugins []string
		want    []string
	}{
		"none": {nil, []string{}},
		// Neither bridge nor host-local is named in the file: flannel runs them all the same.
		"flannel without a delegate": {[]string{`{"type":"flannel"}`}, []string{"binary flannel", env, "binary bridge", "binary host-local"}},
		"flannel, delegate null":     {[]string{`{"type":"flannel","delegate":null}`}, []string{"binary flannel", env, "binary bridge", "binary host-local"}},
		"flannel, file moved": {[]string{`{"type":"flannel","subnetFile":"/var/lib/flannel/subnet.env"}`},
			[]string{"binary flannel", "subnet.env /var/lib/flannel/subnet.env", "binary bridge", "binary host-local"}},
		"flannel, empty subnetFile": {[]string{`{"type":"flannel","subnetFile":""}`}, []string{"binary flannel", env, "binary bridge", "binary host-local"}},
		"flannel, ptp":              {[]string{`{"type":"flannel","delegate":{"type":"ptp"}}`}, []string{"binary flannel", env, "binary ptp", "binary host-local"}},
		"flannel, ipam":             {[]string{`{"type":"flannel","ipam":{"type":"whereabouts-x"}}`}, []string{"binary flannel", env, "binary whereabouts-x", "binary bridge"}},
		// calico is flannel's delegate in Canal's early days, with all that calico needs itself.
		"flannel, calico": {[]string{`{"type":"flannel","delegate":{"type":"calico","kubernetes":{"kubeconfig":"/etc/k"}}}`},
			[]string{"binary flannel", env, "binary calico", "file /var/lib/calico/nodename", "kubeconfig /etc/k", "binary host-local"}},
		"a chain, each once": {[]string{`{"type":"bridge","ipam":{"type":"host-local"}}`, `{"type":"portmap"}`, `{"type":"bridge","ipam":{"type":"host-local"}}`},
			[]string{"binary bridge", "binary host-local", "binary portmap"}},
		"terway before cilium": {[]string{`{"type":"terway"}`, `{"type":"cilium-cni"}`},
			[]string{"binary terway", "socket /var/run/eni/eni.socket", "binary cilium-cni", "socket /var/run/cilium/cilium.sock"}},
		"multus: plugins and lists": {[]string{`{"type":"multus","delegates":[{"type":"macvlan","ipam":{"type":"dhcp"}},
			{"name":"cbr0","plugins":[{"type":"flannel"},{"type":"portmap"}]}]}`},
			[]string{"binary multus", "binary macvlan", "binary dhcp", "socket /run/cni/dhcp.sock", "binary flannel", env, "binary bridge", "binary host-local", "binary portmap"}},
		"multus: nothing in it that is one": {[]string{`{"type":"multus","delegates":["x",null,5,{},{"plugins":"x"},{"plugins":[5,{}]},{"type":7}]}`}, []string{"binary multus"}},
		"multus: delegates of another form": {[]string{`{"type":"multus","delegates":{"type":"x"}}`}, []string{"binary multus"}},
		// A name is a NetworkAttachmentDefinition in the cluster, a path a file or a directory of the node.
		"multus: clusterNetwork's path": {[]string{`{"type":"multus","clusterNetwork":"/etc/cni/net.d/10-calico.conflist"}`}, []string{"binary multus", "network file /etc/cni/net.d/10-calico.conflist"}},
		"multus: clusterNetwork's name": {[]string{`{"type":"multus","clusterNetwork":"default-net"}`}, []string{"binary multus"}},
		"multus: readiness": {[]string{`{"type":"multus","readinessindicatorfile":"/var/run/cilium/cilium.sock","delegates":[{"type":"a"}]}`},
			[]string{"binary multus", "file /var/run/cilium/cilium.sock", "binary a"}},
		"multus-shim, a slash more": {[]string{`{"type":"multus-shim","daemonSocketDir":"/run/multus/socket/"}`}, []string{"binary multus-shim", "socket /run/multus/socket/multus.sock"}},
		"keys of odd types":         {[]string{`{"type":"calico","kubernetes":"x","nodename_file":["/x"],"etcd_key_file":{"a":1}}`}, []string{"binary calico", "file /var/lib/calico/nodename"}},
		// Validate refuses such a type; no directory can hold a program of that name.
		"a type that is a path": {[]string{`{"type":"../bin/sh"}`, `{"type":"portmap"}`}, []string{"binary portmap"}},
		"a relative path":       {[]string{`{"type":"calico","nodename_file":"nodename","kubernetes":{"kubeconfig":"__KUBECONFIG_FILEPATH__"}}`}, []string{"binary calico"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := Network{}
			if tc.plugins != nil {
				n = listOf(t, tc.plugins...)
			}
			if got := wants(n.Needs()); !slices.Equal(got, tc.want) {
				t.Errorf("\ngot  %q\nwant %q", got, tc.want)
			}
		})
	}
}

// calico's booleans may be strings, and both lift the need for the file of the node's name.
func TestUnless(t *testing.T) {
	t.Parallel()
	for value, lifted := range map[string]bool{
		"true": true, `"true"`: true, "false": false, `"false"`: false, `""`: false, "null": false, "0": false, "{}": false,
		`"True"`: true, `"1"`: true, // any text but "false": in doubt no alarm
	} {
		n := listOf(t, `{"type":"calico","nodename_file_optional":`+value+`,"nodename_file":"/run/nodename"}`)
		if got := slices.Contains(wants(n.Needs()), "file /run/nodename"); got == lifted {
			t.Errorf("%s: needs the file: %v", value, got)
		}
	}
}

// What evidence says of a need: whose it is and who would make it.
func TestNeedsSayWhose(t *testing.T) {
	t.Parallel()
	n := listOf(t, `{"type":"flannel"}`, `{"type":"macvlan","ipam":{"type":"whereabouts"}}`, `{"type":"multus","binDir":"/opt/multus/bin","delegates":[{"type":"ptp","ipam":{"type":"static"}}]}`)
	type say struct {
		by     string
		listed bool
		dirs   []string
	}
	want := map[string]say{
		"flannel": {"plugin flannel", true, nil}, "/run/flannel/subnet.env": {"plugin flannel", false, nil},
		// Not in the list itself, so CRI-O does not miss them when it loads the file.
		"bridge": {"plugin flannel", false, nil}, "host-local": {"plugin flannel", false, nil},
		"macvlan": {"plugin macvlan", true, nil}, "whereabouts": {"ipam plugin whereabouts", false, nil},
		"/etc/cni/net.d/whereabouts.d/whereabouts.conf": {"ipam plugin whereabouts", false, nil},
		// multus itself is not sought in its binDir.
		"multus": {"plugin multus", true, nil}, "ptp": {"multus delegate ptp", false, []string{"/opt/multus/bin"}},
		"static": {"ipam plugin static", false, []string{"/opt/multus/bin"}},
	}
	needs := n.Needs()
	if len(needs) != len(want) {
		t.Errorf("%q", wants(needs))
	}
	for _, need := range needs {
		if w, ok := want[need.Name]; !ok || need.By != w.by || need.Listed != w.listed || !slices.Equal(need.Dirs, w.dirs) {
			t.Errorf("%+v\nwant %+v", need, w)
		}
	}
	if need := needs[1]; !strings.Contains(need.Agent, "kube-flannel") || need.Kind != SubnetEnv || need.Name != "/run/flannel/subnet.env" || need.By != "plugin flannel" {
		t.Errorf("%+v", need)
	}
	if i := slices.IndexFunc(needs, func(n Need) bool { return n.Kind == WhereaboutsConf }); len(needs[i].Or) != 1 ||
		needs[i].Or[0] != "/etc/kubernetes/cni/net.d/whereabouts.d/whereabouts.conf" {
		t.Errorf("whereabouts.conf elsewhere: %q", needs[i].Or)
	}
}

// Two delegates with directories of their own do not see each other's.
func TestBinDirStaysWithItsMultus(t *testing.T) {
	t.Parallel()
	n := listOf(t, `{"type":"multus","binDir":"/a","delegates":[{"type":"multus","binDir":"/b","delegates":[{"type":"x"}]},{"type":"y"}]}`,
		`{"type":"multus","binDir":"relative","delegates":[{"type":"z"}]}`)
	want := map[string][]string{"multus": nil, "x": {"/a", "/b"}, "y": {"/a"}, "z": nil}
	for _, need := range n.Needs() {
		if !slices.Equal(need.Dirs, want[need.Name]) {
			t.Errorf("%s in %q", need.Name, need.Dirs)
		}
	}
}

// A thousand delegates within each other end, and quickly: real ones are two deep.
func TestNeedsOfDeepDelegates(t *testing.T) {
	t.Parallel()
	const depth = 1000
	for name, level := range map[string]struct{ open, shut string }{
		"multus":          {`{"type":"multus","delegates":[`, `]}`},
		"lists of multus": {`{"plugins":[{"type":"multus","delegates":[`, `]}]}`},
		"flannel":         {`{"type":"flannel","delegate":`, `}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw := strings.Repeat(level.open, depth) + `{"type":"x"}` + strings.Repeat(level.shut, depth)
			raw = `{"type":"multus","name":"n","delegates":[` + raw + `]}`
			start := time.Now()
			needs := parsed(t, "00-multus.conf", raw).Needs()
			if d := time.Since(start); d > 30*time.Second { // hundreds of times what it takes: the machine may be busy
				t.Errorf("took %v", d)
			}
			if slices.Contains(wants(needs), "binary x") || len(needs) > 5 {
				t.Errorf("%q", wants(needs))
			}
		})
	}
	// Many beside each other are as many needs and no more.
	var many []string
	for i := range depth {
		many = append(many, fmt.Sprintf(`{"type":"p%d","ipam":{"type":"i%d"}}`, i, i%10))
	}
	n := listOf(t, `{"type":"multus","delegates":[`+strings.Join(many, ",")+`]}`)
	if got := len(n.Needs()); got != 1+depth+10 {
		t.Errorf("%d needs", got)
	}
}

// Needs only reads: the same network gives the same needs again.
func TestNeedsTwice(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"00-multus.conf", "10-aws.conflist", "10-canal.conflist", "10-flannel.conflist", "10-ipvlan.conf", "10-kuberouter.conflist"} {
		n := parsed(t, file, string(recorded(t, file)))
		before, err := json.Marshal(n)
		if err != nil {
			t.Fatal(err)
		}
		first := wants(n.Needs())
		n.Refused()
		n.Pools(func(string) []byte { return []byte(subnetEnv) })
		after, _ := json.Marshal(n)
		if again := wants(n.Needs()); !slices.Equal(first, again) || string(before) != string(after) {
			t.Errorf("%s: %q, then %q", file, first, again)
		}
	}
}
