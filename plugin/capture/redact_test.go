package capture

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"sandbox-checker/plugin/cri"
)

const private = minimal + `-- files --
srw-rw---- 2026-11-30T17:44:07Z /run/containerd/containerd.sock
-- /etc/cni/net.d/10-x.conflist --
{
  "name": "podnet", "plugins": [
    {"type": "calico", "nodename": "node-7", "k8s_auth_token": "hunter2",
     "kubernetes": {"kubeconfig": "/etc/cni/net.d/calico-kubeconfig"}}
  ]
}
-- /var/lib/calico/nodename --
node-7
-- /proc/self/mountinfo --
1437 1029 0:129 / / rw,relatime - overlay overlay rw,lowerdir=/var/lib/x
1445 1437 254:1 /etc/cni/net.d /etc/cni/net.d ro - ext4 /dev/vda1 rw
1446 1437 254:1 /volumes/payroll-db /var/lib/kubelet/pods/1/volumes/payroll-db rw - ext4 /dev/vdb rw
-- cri/endpoint --
unix:///run/containerd/containerd.sock
-- cri/info.json --
{"status": {"conditions": [{"type": "NetworkReady", "status": true}]}, "config": {"cni": {"confDir": "/etc/cni/net.d", "binDir": "/opt/cni/bin"}}, "host": "node-7"}
-- cri/pods.json --
{"items": [
  {"id": "a1", "metadata": {"name": "payroll-0", "uid": "u-1", "namespace": "finance", "attempt": 1}, "state": "SANDBOX_READY", "createdAt": "1796060668301786270",
   "labels": {"io.kubernetes.pod.name": "payroll-0", "io.kubernetes.pod.namespace": "finance", "io.kubernetes.pod.uid": "u-1", "team": "ledger"},
   "annotations": {"vault": "hunter2"}},
  {"id": "a0", "metadata": {"name": "payroll-0", "uid": "u-1", "namespace": "finance", "attempt": 0}, "state": "SANDBOX_NOTREADY", "createdAt": "1796060668301786270"},
  {"id": "b1", "metadata": {"name": "payroll-0", "uid": "u-2", "namespace": "finance-test", "attempt": 0}, "state": "SANDBOX_READY", "createdAt": "1796060668301786270"},
  {"id": "c1", "metadata": {"name": "kube-proxy-node-7", "uid": "u-3", "namespace": "kube-system", "attempt": 0}, "state": "SANDBOX_READY", "createdAt": "1796060668301786270"}
]}
-- cri/ps.json --
{"containers": [
  {"id": "k1", "podSandboxId": "a1", "metadata": {"name": "main", "attempt": 0}, "image": {"image": "registry.example/payroll:1"}, "imageRef": "sha256:1", "state": "CONTAINER_CREATED", "createdAt": "1796060668301786270",
   "labels": {"io.kubernetes.pod.name": "payroll-0", "io.kubernetes.pod.namespace": "finance", "io.kubernetes.pod.uid": "u-1", "io.kubernetes.container.name": "main", "team": "ledger"}, "annotations": {"x": "hunter2"}}
]}
-- cri/inspectp/a1.json --
{"status": {"id": "a1", "metadata": {"name": "payroll-0", "uid": "u-1", "namespace": "finance"}, "linux": {"namespaces": {"options": {"network": "NODE"}}},
 "labels": {"team": "ledger"}, "annotations": {"vault": "hunter2"}}, "info": {"config": {"envs": ["hunter2"]}}}
-- cri/error --
Version at /run/containerd/containerd.sock of node-7: refused
`

func TestRedact(t *testing.T) {
	t.Parallel()
	f := parse(t, private)
	f.About = "Written by sandbox-checker on node-7, node-7."
	if err := f.Redact("node-7", "", "vm", "localhost"); err != nil {
		t.Fatal(err)
	}
	text := string(f.Format())
	for _, word := range []string{"hunter2", "finance", "ledger", "registry.example", "sha256:1", "payroll", "/dev/vda1", "lowerdir"} {
		if strings.Contains(text, word) {
			t.Errorf("%q is still there\n%s", word, text)
		}
	}
	if m := regexp.MustCompile(`.*\bnode-7\b.*`).FindString(text); m != "" {
		t.Errorf("the host's name is still there: %s", m)
	}
	for _, word := range []string{
		"on host-1, host-1.", `"nodename": "host-1"`, "of host-1: refused", "-- /var/lib/calico/nodename --\nhost-1\n",
		// Common namespaces tell nothing and what is wrong there matters.
		`"namespace": "kube-system"`,
		// The verdicts hang on these.
		"/etc/cni/net.d/calico-kubeconfig", `"confDir": "/etc/cni/net.d"`, "unix:///run/containerd/containerd.sock", "0 0 0:0 / /etc/cni/net.d -\n",
		"CONTAINER_CREATED", `"io.kubernetes.container.name": "main"`, `"createdAt": "1796060668301786270"`, `"network": "NODE"`,
	} {
		if !strings.Contains(text, word) {
			t.Errorf("%q is gone\n%s", word, text)
		}
	}
}

// The same name is always the same word, and two pods of one name in two namespaces stay two.
func TestRedactKeepsPodsApart(t *testing.T) {
	t.Parallel()
	f := parse(t, private)
	f.CRI.Err = ""
	if err := f.Redact(); err != nil {
		t.Fatal(err)
	}
	h, err := f.Host()
	if err != nil {
		t.Fatal(err)
	}
	rt, err := h.CRI()
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	pods, err := rt.Sandboxes(ctx)
	if err != nil || len(pods) != 4 {
		t.Fatalf("%v, %v", pods, err)
	}
	ctrs, err := rt.Containers(ctx)
	if err != nil || len(ctrs) != 1 {
		t.Fatalf("%v, %v", ctrs, err)
	}
	if pods[0].Pod != pods[1].Pod || pods[0].Pod != ctrs[0].Pod {
		t.Errorf("one pod, several names: %v, %v, %v", pods[0].Pod, pods[1].Pod, ctrs[0].Pod)
	}
	if pods[0].Pod.Namespace == pods[2].Pod.Namespace || pods[0].Pod.Name == pods[2].Pod.Name {
		t.Errorf("two pods, one name: %v, %v", pods[0].Pod, pods[2].Pod)
	}
	if pods[0].Pod != (cri.Pod{Namespace: "namespace-1", Name: "pod-2", UID: "u-1"}) {
		t.Errorf("%+v", pods[0].Pod)
	}
	if host, err := rt.HostNetwork(ctx, "a1"); err != nil || !host {
		t.Errorf("host network %v, %v", host, err)
	}
	if !strings.Contains(string(f.CRI.Sandbox["a1"]), `"name": "pod-2"`) {
		t.Errorf("inspectp has another name: %s", f.CRI.Sandbox["a1"])
	}
}

// withoutHosts is a text without the given hosts and those that it names itself.
func withoutHosts(text string, hosts ...string) string {
	f := &File{Content: map[string][]byte{"/x": []byte(text)}}
	r := newRenamer()
	r.hosts.learn(f, hosts)
	f.replaceAll(r.hosts.replacer())
	return string(f.Content["/x"])
}

func TestReplaceHosts(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"node-7":                     "host-1",
		"node-7 node-7,node-7\n":     "host-1 host-1,host-1\n",
		"node-70 xnode-7 node-7-a":   "node-70 xnode-7 node-7-a",
		"NODE-7":                     "host-1",
		"node-7.example.com":         "host-1",
		"node-7.conflist":            "host-1.conflist",
		"https://node-7:6443/node-7": "https://host-1:6443/host-1",
		"$1 node-7 ${1}":             "$1 host-1 ${1}",
		`"a\nnode-7\tb\u003cnode-7"`: `"a\nhost-1\tb\u003chost-1"`,
		// Hosts that the capture names.
		`{"nodename": "worker", "x": "worker"}`:                               `{"nodename": "host-2", "x": "host-2"}`,
		`{"nodename": "bridge", "type": "bridge"}`:                            `{"nodename": "host-2", "type": "bridge"}`,
		`{"server": "https://api.eu.acme.example:6443"} us.acme.example.`:     `{"server": "https://host-2:6443"} host-3.`,
		`{"etcd_endpoints": "https://etcd:2379,http://10.0.0.1:1", "etcd":1}`: `{"etcd_endpoints": "https://host-2:2379,http://10.0.0.1:1", "etcd":1}`,
		`{"dns": {"domain": "acme.test", "search": ["a.acme.test", "acme"]}}`: `{"dns": {"domain": "host-2", "search": ["host-3", "host-4"]}}`,
		"server: api.acme.test:6443\nhost: /run/x.sock\n":                     "server: host-2:6443\nhost: /run/x.sock\n",
		`unix:///run/x.sock http://localhost/ https://[fd00::1]:1/`:           `unix:///run/x.sock http://localhost/ https://[fd00::1]:1/`,
		"proxy http://REDACTED@proxy.acme.test:3128/path":                     "proxy http://REDACTED@host-2:3128/path",
		"host-1 of https://host-5/":                                           "host-1 of https://host-5/",
	} {
		if got := withoutHosts(in, "node-7"); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
	if got := withoutHosts("a+b a.b aXb", "a.b", "a+b"); got != "host-2 host-1 aXb" {
		t.Errorf("names are no patterns: %q", got)
	}
}

// Redacting a capture that a check is tested with must not change what the check says, but for the names.
func TestRedactKeepsVerdictsReadable(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		"../checks/testdata/stale-created/containerd-1.6-stale-created-reboot.txtar",
		"../checks/testdata/cni-config/cri-o-1.34-network-ready-ok-baseline-live.txtar",
	} {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f := parse(t, string(raw))
		before, err := f.Host()
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Redact("vm"); err != nil {
			t.Fatal(err)
		}
		g := parse(t, string(f.Format()))
		after, err := g.Host()
		if err != nil {
			t.Fatal(err)
		}
		ctx := context.Background()
		// A capture may have no list; then it has none afterwards.
		was, werr := before.Runtime.CreatedContainers(ctx)
		now, err := after.Runtime.CreatedContainers(ctx)
		if fmt.Sprint(err) != fmt.Sprint(werr) || len(now) != len(was) {
			t.Fatalf("%s: %d created, %v, were %d, %v", path, len(now), err, len(was), werr)
		}
		for i := range now {
			if now[i].ID != was[i].ID || now[i].State != was[i].State || !now[i].Created.Equal(was[i].Created) || now[i].Pod.UID != was[i].Pod.UID {
				t.Errorf("%s: %+v, was %+v", path, now[i], was[i])
			}
		}
		wasSt, err := before.Runtime.Status(ctx)
		if err != nil {
			t.Fatal(err)
		}
		nowSt, err := after.Runtime.Status(ctx)
		if err != nil || nowSt.ConfDir != wasSt.ConfDir || nowSt.Network != wasSt.Network || nowSt.Flavor != wasSt.Flavor {
			t.Errorf("%s: %+v, was %+v, %v", path, nowSt, wasSt, err)
		}
	}
}
