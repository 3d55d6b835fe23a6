package cni

import (
	"slices"
	"strings"
	"testing"
)

func TestRefused(t *testing.T) {
	t.Parallel()
	const noRange = "no range of addresses"
	for name, tc := range map[string]struct {
		plugin string
		want   string // "" for no rule
		later  bool
	}{
		"flannel":                         {`{"type":"flannel","delegate":{"isDefaultGateway":true,"hairpinMode":true}}`, "", false},
		"flannel without a delegate":      {`{"type":"flannel"}`, "", false},
		"flannel, delegate null":          {`{"type":"flannel","delegate":null}`, "", false},
		"flannel, delegate's ipam":        {`{"type":"flannel","delegate":{"ipam":{"type":"host-local"}}}`, "delegate with ipam", false},
		"flannel, delegate's ipam null":   {`{"type":"flannel","delegate":{"ipam":null}}`, "delegate with ipam", false}, // the key alone counts
		"flannel, delegate's name":        {`{"type":"flannel","delegate":{"name":"cbr0"}}`, "delegate with name", false},
		"flannel, delegate's type 5":      {`{"type":"flannel","delegate":{"type":5}}`, "no text", false},
		"flannel, delegate's type null":   {`{"type":"flannel","delegate":{"type":null}}`, "no text", false},
		"flannel's own ipam":              {`{"type":"flannel","ipam":{"type":"host-local"},"name":"x"}`, "", false},
		"a delegate of another plugin":    {`{"type":"bridge","delegate":{"name":"x","ipam":{}}}`, "", false},
		"multus":                          {`{"type":"multus","delegates":[{"type":"calico"}]}`, "", false},
		"multus in multus":                {`{"type":"multus","delegates":[{"type":"calico"},{"type":"multus"}]}`, "itself", false},
		"multus in a list in multus":      {`{"type":"multus","delegates":[{"plugins":[{"type":"calico"},{"type":"multus"}]}]}`, "itself", false},
		"multus-shim in multus":           {`{"type":"multus","delegates":[{"type":"multus-shim"}]}`, "", false},
		"multus, odd delegates":           {`{"type":"multus","delegates":[null,"multus",{"plugins":[null,"multus"]}]}`, "", false},
		"host-local, subnet":              {`{"type":"bridge","ipam":{"type":"host-local","subnet":"10.42.1.0/24"}}`, "", false},
		"host-local, ranges":              {`{"type":"bridge","ipam":{"type":"host-local","ranges":[[{"subnet":"10.42.1.0/24"}]]}}`, "", false},
		"host-local, none":                {`{"type":"bridge","ipam":{"type":"host-local"}}`, noRange, true}, // kube-router before it ran
		"host-local, ranges empty":        {`{"type":"ptp","ipam":{"type":"host-local","ranges":[]}}`, noRange, true},
		"host-local, subnet empty":        {`{"type":"macvlan","ipam":{"type":"host-local","subnet":""}}`, noRange, true},
		"host-local, ranges null":         {`{"type":"ipvlan","ipam":{"type":"host-local","ranges":null}}`, noRange, true},
		"host-local, ranges at run time":  {`{"type":"bridge","capabilities":{"ipRanges":true},"ipam":{"type":"host-local"}}`, "", false},
		"host-local, capability off":      {`{"type":"bridge","capabilities":{"ipRanges":false},"ipam":{"type":"host-local"}}`, noRange, true},
		"host-local, another capability":  {`{"type":"bridge","capabilities":{"ips":true},"ipam":{"type":"host-local"}}`, noRange, true},
		"calico writes its ranges itself": {`{"type":"calico","ipam":{"type":"host-local"}}`, "", false},
		"antrea's agent has the range":    {`{"type":"antrea","ipam":{"type":"host-local"}}`, "", false},
		"another ipam":                    {`{"type":"bridge","ipam":{"type":"static"}}`, "", false},
		"no ipam":                         {`{"type":"bridge"}`, "", false},
		"bridge without addresses":        {`{"type":"bridge","ipam":{}}`, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := listOf(t, tc.plugin, `{"type":"portmap"}`).Refused()
			if tc.want == "" {
				if len(rules) != 0 {
					t.Errorf("%v", rules[0].Err)
				}
				return
			}
			if len(rules) != 1 || !strings.Contains(rules[0].Err.Error(), tc.want) || rules[0].Later != tc.later {
				t.Fatalf("%+v; want %q", rules, tc.want)
			}
			if tc.later && rules[0].Agent == "" {
				t.Error("may come later, and nobody is named who writes it")
			}
		})
	}
	both := listOf(t, `{"type":"flannel","delegate":{"name":"x"}}`, `{"type":"bridge","ipam":{"type":"host-local"}}`)
	if rules := both.Refused(); len(rules) != 2 {
		t.Errorf("%+v", rules)
	}
}

func TestFurther(t *testing.T) {
	t.Parallel()
	const list = `{"name":"k8s-pod-network","cniVersion":"0.3.1","plugins":[{"type":"cilium-cni"},{"type":"portmap"}]}`
	for name, tc := range map[string]struct {
		need Need
		raw  string
		want []string
	}{
		"list": {Need{Kind: NetworkFile, Name: "/etc/cni/net.d/05-cilium.conflist"}, list,
			[]string{"binary cilium-cni", "socket /var/run/cilium/cilium.sock", "binary portmap"}},
		"single":           {Need{Kind: NetworkFile, Name: "/etc/cni/net.d/10-net.conf"}, `{"type":"bridge","ipam":{"type":"host-local"}}`, []string{"binary bridge", "binary host-local"}},
		"multus to itself": {Need{Kind: NetworkFile, Name: "/a/00-multus.conf"}, `{"type":"multus","clusterNetwork":"/a/00-multus.conf"}`, []string{"binary multus", "network file /a/00-multus.conf"}},
		"broken list":      {Need{Kind: NetworkFile, Name: "/a/b.conflist"}, `{"name":`, nil},
		"empty":            {Need{Kind: NetworkFile, Name: "/a/b.conflist"}, "", nil},
		"list as .conf":    {Need{Kind: NetworkFile, Name: "/a/b.conf"}, list, nil},
		"whereabouts": {Need{Kind: WhereaboutsConf, Name: "/etc/w.conf"}, `{"datastore":"kubernetes","kubernetes":{"kubeconfig":"/etc/cni/net.d/whereabouts.d/whereabouts.kubeconfig"}}`,
			[]string{"kubeconfig /etc/cni/net.d/whereabouts.d/whereabouts.kubeconfig"}},
		"whereabouts with etcd":   {Need{Kind: WhereaboutsConf, Name: "/etc/w.conf"}, `{"datastore":"etcd","etcd_host":"x"}`, nil},
		"whereabouts, relative":   {Need{Kind: WhereaboutsConf, Name: "/etc/w.conf"}, `{"kubernetes":{"kubeconfig":"w.kubeconfig"}}`, nil},
		"whereabouts, odd":        {Need{Kind: WhereaboutsConf, Name: "/etc/w.conf"}, `{"kubernetes":{"kubeconfig":["/x"]}}`, nil},
		"whereabouts, broken":     {Need{Kind: WhereaboutsConf, Name: "/etc/w.conf"}, `kubernetes: {}`, nil},
		"a binary needs nothing":  {Need{Kind: Binary, Name: "x.conflist"}, list, nil},
		"a file needs nothing":    {Need{Kind: File, Name: "/x.conflist"}, list, nil},
		"a kubeconfig, neither":   {Need{Kind: Kubeconfig, Name: "/x.conflist"}, list, nil},
		"nor flannel's file":      {Need{Kind: SubnetEnv, Name: "/x.conflist"}, list, nil},
		"nor a socket, of course": {Need{Kind: Socket, Name: "/x.conflist"}, list, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := wants(tc.need.Further([]byte(tc.raw))); !slices.Equal(got, tc.want) {
				t.Errorf("\ngot  %q\nwant %q", got, tc.want)
			}
		})
	}
	w := Need{Kind: WhereaboutsConf, Name: "/etc/w.conf", By: "ipam plugin whereabouts", Agent: "the whereabouts pod of this node"}
	if got := w.Further([]byte(`{"kubernetes":{"kubeconfig":"/k"}}`)); len(got) != 1 || got[0].By != w.By || got[0].Agent != w.Agent {
		t.Errorf("%+v is no longer whereabouts' need", got)
	}
}

// Seen with containerd 1.6 and 2.4: a bridge without ipam gives the pod no address, and RunPodSandbox fails.
func TestNoAddress(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		plugins []string
		refused bool
	}{
		"bridge":                       {[]string{`{"type":"bridge"}`}, true},
		"bridge with an empty ipam":    {[]string{`{"type":"bridge","ipam":{}}`, `{"type":"portmap"}`}, true},
		"bridge with host-local":       {[]string{`{"type":"bridge","ipam":{"type":"host-local"}}`}, false},
		"only loopback is another":     {[]string{`{"type":"loopback"}`}, false},
		"calico has its own addresses": {[]string{`{"type":"calico"}`, `{"type":"portmap"}`}, false},
		"an unknown plugin":            {[]string{`{"type":"ours"}`}, false},
		"bridge beside an unknown":     {[]string{`{"type":"bridge"}`, `{"type":"ours"}`}, false},
	} {
		if err := listOf(t, tc.plugins...).NoAddress(); (err != nil) != tc.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}
