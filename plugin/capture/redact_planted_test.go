package capture

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"sandbox-checker/plugin/kmsg"
)

// planted is a node of a company, with all that tells so. Each word of plantedWords stands in it.
func planted() string {
	enc := base64.RawURLEncoding.EncodeToString
	token := enc([]byte(`{"alg":"RS256","kid":"hunter2"}`)) + "." + enc([]byte(`{"exp":1796062056,"sub":"hunter2"}`)) + "." + enc([]byte("hunter2-signature"))
	return minimal + `-- files --
drwxr-xr-x 2026-11-30T17:44:07Z /var/log/pods/finance_ledger-7c9f8d6b5-q4zrt_0000b000-0000-4000-8000-000000524288/main
drwxr-xr-x 2026-11-30T17:44:07Z /data/logs/payables_vendor-0_0000b000-0000-4000-8000-000000000002
lrwxrwxrwx - /var/log/pods/payables_vendor-0_0000b000-0000-4000-8000-000000000002 -> /data/logs/payables_vendor-0_0000b000-0000-4000-8000-000000000002
drwxr-xr-x - /var/log/pods/hunter2_leftover
drwxr-xr-x - /sys/fs/cgroup/umbrella-agent.service
drwxr-xr-x - /sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0000b000_0000_4000_8000_000000524288.slice
srw-rw---- 2026-11-30T17:44:07Z /run/containerd/containerd.sock
-rw-r--r-- - /var/lib/cni/networks/podnet/172.30.41.9
-rw-r--r-- - /var/lib/cni/networks/podnet/2001:db8:77:1::9
-rw-r--r-- - /etc/cni/net.d/x.conf ! lookup api.umbrella.example at 172.30.0.10: refused
-- /proc/sys/kernel/hostname --
worker-7.raccoon.umbrella.example
-- /proc/sys/kernel/osrelease --
5.15.0-1.2.3.4-amd64
-- /etc/cni/net.d/10-x.conflist --
{
  "name": "podnet", "cniVersion": "1.0.0", "plugins": [
    {"type": "calico", "nodename": "kalkutta", "k8s_auth_token": "hunter2", "k8s_api_root": "https://api.umbrella.example:6443",
     "etcd_endpoints": "https://etcd-0.umbrella.example:2379,https://etcdbox:2379", "etcd_password": "hunter2",
     "kubernetes": {"kubeconfig": "/etc/cni/net.d/calico-kubeconfig"}, "globalNamespaces": "default,finance,raccoon",
     "exclude_namespaces": ["payables", "kube-system"], "mac": "52:54:00:AB:cd:Ef",
     "dns": {"nameservers": ["172.30.0.10", "2001:db8:77::53"], "domain": "umbrella.example", "search": ["eu.umbrella.example"]},
     "ipam": {"type": "host-local", "ranges": [[{"subnet": "172.30.41.0/29", "gateway": "172.30.41.1"}], [{"subnet": "2001:db8:77:1::/120"}]],
       "routes": [{"dst": "0.0.0.0/0"}, {"dst": "192.0.2.128/25", "gw": "2001:db8:77:1:5054:00ff:feab:cdef"}]}}
  ]
}
-- /etc/cni/net.d/calico-kubeconfig --
apiVersion: v1
kind: Config
clusters:
- {name: umbrella-prod, cluster: {server: "https://api.umbrella.example:6443", certificate-authority-data: hunter2}}
users:
- {name: raccoon-admin, user: {token: ` + token + `, username: hunter2}}
- {name: other, user: {password: hunter2}}
contexts:
- {name: umbrella-eu, context: {cluster: umbrella-prod, user: raccoon-admin, namespace: finance}}
current-context: umbrella-eu
-- /etc/cni/net.d/multus.kubeconfig --
clusters: [{name: umbrella-prod, cluster: {server: "https://kalkutta:6443"}}]
users: [{name: raccoon-admin, user: {tokenFile: multus-token}}]
-- /var/lib/token/multus-token --
hunter2-0paque
-- /var/lib/calico/nodename --
kalkutta
-- /run/flannel/subnet.env --
FLANNEL_NETWORK=172.30.0.0/16
FLANNEL_SUBNET=172.30.41.1/24
FLANNEL_MTU=1450
FLANNEL_IPMASQ=true
-- /run/sandbox-checker/state.json --
{"told": {"cni-config|||/var/lib/cni/networks/podnet/172.30.41.9": 1}}
-- /proc/self/mountinfo --
1437 1029 0:129 / / rw,relatime - overlay overlay rw,lowerdir=/var/lib/raccoon
1446 1437 254:1 /volumes/umbrella-db /var/lib/kubelet/pods/1/volumes/umbrella-db rw - ext4 /dev/vdb rw
-- /dev/kmsg --
6,1,0,-;Command line: BOOT_IMAGE=/vmlinuz umbrella=hunter2
6,2,1000,-;eth0: renamed from 52:54:00:ab:cd:ef, umbrella-agent says 172.30.41.9
12,3,2000,-;umbrella-agent: hunter2
4,564,134174266,-;raccoond invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=-998
4,565,134174267,-;Hardware name: umbrella rack 7
6,592,134204137,-;memory: usage 512kB, limit 512kB, failcnt 122
6,594,134204223,-;Memory cgroup stats for /kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0000b000_0000_4000_8000_000000524288.slice:
6,597,134204420,-;[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name
6,598,134204472,-;[   1077]     0  1077     2837       83    53248        0          -998 runc:[0:PARENT]
6,599,134204473,-;[   1078]     0  1078     2837       83    53248        0          -998 raccoond worker
6,601,134208539,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=umbrella-set,mems_allowed=0,oom_memcg=/umbrella.slice/raccoon.service,task_memcg=/umbrella.slice/raccoon.service/x,task=raccoond,pid=1078,uid=0
3,602,134209184,-;Memory cgroup out of memory: Killed process 1078 (raccoond) total-vm:11348kB, anon-rss:132kB, UID:0 oom_score_adj:-998
5,603,135000000,-;audit: type=1400 audit(1.2:3): apparmor="DENIED" operation="signal" profile="umbrella-profile" pid=1 comm="runc:[2:INIT]" name="/srv/hunter2" peer="raccoon"
12,604,136000000,-;[talos] Sending SIGKILL to cgroup {"component": "raccoon", "cgroup": "/sys/fs/cgroup/kubepods/besteffort/pod0000b000-0000-4000-8000-000000000002"}
-- cri/endpoint --
unix:///run/containerd/containerd.sock
-- cri/version.json --
{"version": "0.1.0", "runtimeName": "containerd", "runtimeVersion": "v1.7.2.3", "runtimeApiVersion": "v1", "build": "umbrella"}
-- cri/info.json --
{"status": {"conditions": [{"type": "RuntimeReady", "status": true}, {"type": "NetworkReady", "status": false, "reason": "R",
   "message": "Network plugin returns error: Get \"https://api.umbrella.example:6443/x\": dial tcp\n172.30.0.10: finance/ledger-7c9f8d6b5-q4zrt on worker-7"},
   {"type": "RaccoonReady", "status": true}]},
 "cniconfig": {"PluginConfDir": "/etc/cni/net.d", "PluginDirs": ["/opt/cni/bin"], "PluginMaxConfNum": 1, "Prefix": "raccoon",
   "Networks": [{"Config": {"Name": "lo", "Plugins": [{"Network": {"type": "loopback"}}]}}, {"Config": {"Name": "umbrella", "Source": "hunter2", "Plugins": [{"Network": {"type": "calico", "name": "raccoon"}}]}}]},
 "config": {"cni": {"binDir": "/opt/cni/bin"}, "sandboxImage": "registry.umbrella.example/pause:3.9", "registry": {"mirrors": {"raccoon.example": {"endpoint": ["https://hunter2"]}}},
   "containerd": {"defaultRuntimeName": "umbrella-runc", "runtimes": {"umbrella-runc": {"runtimeType": "io.containerd.runc.v2", "options": {"SystemdCgroup": true, "BinaryName": "/opt/raccoon"}}, "raccoon": {"runtimeType": "x"}}}},
 "lastCNILoadStatus": "cni config load failed: umbrella.example on worker-7", "golang": "raccoon"}
-- cri/config.toml --
[crio]
storage = "/srv/raccoon"
[crio.image]
pause_image = "registry.umbrella.example/pause:3.9"
[crio.network]
network_dir = "/etc/cni/net.d"
-- cri/sandbox-image --
registry.umbrella.example/pause:3.9 gone
-- cri/pods.json --
{"items": [
  {"id": "a1", "metadata": {"name": "ledger-7c9f8d6b5-q4zrt", "uid": "0000b000-0000-4000-8000-000000524288", "namespace": "finance", "attempt": 1}, "state": "SANDBOX_READY", "createdAt": "1796060668301786270",
   "labels": {"io.kubernetes.pod.namespace": "finance", "team": "raccoon"}, "annotations": {"vault": "hunter2"}, "runtimeHandler": "umbrella"}
]}
-- cri/ps.json --
{"containers": [
  {"id": "k1", "podSandboxId": "a1", "metadata": {"name": "main", "attempt": 0}, "image": {"image": "registry.umbrella.example/ledger:1"}, "imageRef": "raccoon", "state": "CONTAINER_CREATED", "createdAt": "1796060668301786270",
   "labels": {"io.kubernetes.pod.name": "ledger-7c9f8d6b5-q4zrt", "io.kubernetes.pod.namespace": "finance", "io.kubernetes.container.name": "main", "io.kubernetes.x": "umbrella"}, "annotations": {"x": "hunter2"}}
]}
-- cri/inspectp/a1.json --
{"status": {"id": "a1", "metadata": {"name": "ledger-7c9f8d6b5-q4zrt", "uid": "u-1", "namespace": "finance"}, "linux": {"namespaces": {"options": {"network": "NODE"}}, "umbrella": 1},
 "network": {"ip": "172.30.41.9"}, "labels": {"team": "raccoon"}}, "info": {"config": {"envs": ["hunter2"]}}}
-- cri/error --
Version of worker-7.raccoon.umbrella.example, token: hunter2, for finance/ledger-7c9f8d6b5-q4zrt: refused by 172.30.0.10
`
}

// Secrets, company, cluster, hosts, addresses, pods, images, processes.
var plantedWords = []string{"hunter2", "umbrella", "raccoon", "finance", "payables", "ledger", "vendor", "q4zrt", "kalkutta", "etcdbox",
	"worker-7", "172.30", "192.0.2", "2001:db8", "52:54:00", "5054:ff", "ab:cd:ef", "feab", "pause:3.9", "registry", "aHVudGVy"}

func TestRedactPlanted(t *testing.T) {
	t.Parallel()
	f := parse(t, planted())
	f.About = "From worker-7 at 172.30.41.9,\nhttps://wiki.umbrella.example/hunter, password: hunter2"
	if err := f.Redact("worker-7.raccoon.umbrella.example", "worker-7"); err != nil {
		t.Fatal(err)
	}
	text := string(f.Format())
	for _, data := range f.Content {
		text += string(data) // what Format writes in base64
	}
	for _, w := range plantedWords {
		if i := strings.Index(strings.ToLower(text), w); i >= 0 {
			t.Errorf("%s is left: %.120q", w, text[max(0, i-60):])
		}
	}
	for _, w := range []string{
		`"nodename": "host-2"`, "-- /var/lib/calico/nodename --\nhost-2\n", "-- /proc/sys/kernel/hostname --\nhost-1\n", "5.15.0-1.2.3.4-amd64", `"v1.7.2.3"`,
		"/var/log/pods/namespace-1_pod-1_0000b000-0000-4000-8000-000000524288/main", "/data/logs/namespace-2_pod-2_", " -> /data/logs/namespace-2_pod-2_", "/var/log/pods/other-",
		`"subnet": "10.1.41.0/29", "gateway": "10.1.41.1"`, "/var/lib/cni/networks/podnet/10.1.41.9", "FLANNEL_SUBNET=10.1.41.1/24", `"10.2.2.128/25"`, "0.0.0.0/0",
		`"subnet": "fd00:0:1:1::/120"`, "/var/lib/cni/networks/podnet/fd00:0:1:1::9", `"mac": "02:00:00:00:00:01"`, "fd00:0:1:1:0:ff:fe00:1",
		`"globalNamespaces": "default,namespace-1,namespace-3"`, `"exclude_namespaces": ["namespace-2", "kube-system"]`,
		"app invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=-998", "-998 runc:[0:PARENT]\n", "-998 app\n",
		"Killed process 1078 (app) total-vm:11348kB, anon-rss:132kB, UID:0 oom_score_adj:-998", `profile="app" comm="runc:[2:INIT]" peer="app"`,
		"sandbox-image gone", `"sandboxImage": "sandbox-image"`, `"runtime": {`, `"SystemdCgroup": true`, `"type": "calico"`,
		"namespace-1/pod-1: refused by 10.1.0.10",
	} {
		if !strings.Contains(text, w) {
			t.Errorf("%s is not there", w)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

func TestRedactKeepsTheKernelsStory(t *testing.T) {
	t.Parallel()
	f := parse(t, planted())
	was := kmsg.Stories(kmsg.Parse(f.Content[kmsg.DevicePath]))
	if err := f.Redact(); err != nil {
		t.Fatal(err)
	}
	now := kmsg.Stories(kmsg.Parse(f.Content[kmsg.DevicePath]))
	if len(was) != 1 || len(now) != 1 || now[0].Time != was[0].Time || now[0].UsageKB != 512 || len(now[0].Tasks) != 2 || now[0].Victims[0].PID != 1078 {
		t.Errorf("%+v\nwas %+v", now, was)
	}
}

// A log that has nothing to tell is still the node's, and one without a record is still none.
func TestRedactOtherKernelLogs(t *testing.T) {
	t.Parallel()
	for log, want := range map[string]int{"": 0, "6,1,0,-;x\n6,2,5000000,-;y\n": 1, "Nov 23 19:57:05 worker-7 dockerd: text\n": 0, "plain text\n": 1} {
		f := &File{Now: time.Unix(1, 0), Content: map[string][]byte{kmsg.DevicePath: []byte(log)}}
		if err := f.Redact(); err != nil {
			t.Fatal(err)
		}
		if got := kmsg.Parse(f.Content[kmsg.DevicePath]); len(got) != want {
			t.Errorf("%q has %d records, want %d", log, len(got), want)
		}
	}
}

func TestReplaceAddresses(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"192.168.1.5 10.0.0.1 192.168.2.9":               "10.2.1.5 10.1.0.1 10.2.2.9",
		"127.0.0.1 0.0.0.0 255.255.255.0 169.254.1.1":    "127.0.0.1 0.0.0.0 255.255.255.0 169.254.1.1",
		"192.168.1.0/24,192.168.1.1-192.168.1.9.":        "10.1.1.0/24,10.1.1.1-10.1.1.9.",
		"1.2.3.4.5 1.0.0 300.1.1.1 5.4.0-42":             "1.2.3.4.5 1.0.0 300.1.1.1 5.4.0-42",
		`{"a":"\n192.168.1.1:80\u003e192.168.1.2"}`:      `{"a":"\n10.1.1.1:80\u003e10.1.1.2"}`,
		"[2001:db8::1]:443 2001:DB8:0:5::7/64":           "[fd00:0:1::1]:443 fd00:0:1:5::7/64",
		"addr:2001:db8::1, src=2001:db8:1::":             "addr:fd00:0:1::1, src=fd00:0:2::",
		":: ::1 fe80::1%eth0 ff02::1":                    ":: ::1 fe80::1%eth0 ff02::1",
		"fe80::5054:ff:feab:cdef 52-54-00-ab-cd-ef":      "fe80::ff:fe00:1 02:00:00:00:00:01",
		"::ffff:192.168.1.5":                             "::ffff:10.1.1.5",
		"eth0: 52:54:00:ab:cd:ef: up at 19:57:05, a::b?": "eth0: 02:00:00:00:00:01: up at 19:57:05, fd00:0:1::b?",
		"ff:ff:ff:ff:ff:ff 00:00:00:00:00:00":            "ff:ff:ff:ff:ff:ff 00:00:00:00:00:00",
		"slice:cri-containerd:6b810adc std::fs":          "slice:cri-containerd:6b810adc std::fs",
	} {
		f := &File{Content: map[string][]byte{"/x": []byte(in)}}
		f.replaceAddresses()
		got := string(f.Content["/x"])
		if got != want {
			t.Errorf("%q\nbecomes %q\nwant    %q", in, got, want)
		}
		f.replaceAddresses()
		if again := string(f.Content["/x"]); again != got {
			t.Errorf("%q becomes %q when replaced again", got, again)
		}
	}
}

func FuzzRedact(f *testing.F) {
	f.Add(planted())
	f.Add(private)
	f.Add(minimal + "-- files --\n-rw-r--r-- - /var/log/pods/a_b_c\n-rw-r--r-- - /var/log/pods/__\n-- /x (base64) --\n//8=\n")
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Parse([]byte(text))
		if err != nil {
			return
		}
		_, refused := file.Host()
		if file.Redact("node-7") != nil {
			return
		}
		once, err := Parse(file.Format())
		if err != nil {
			t.Fatalf("%v\n%s", err, file.Format())
		}
		if _, err := once.Host(); err != nil && refused == nil {
			t.Errorf("no longer a host: %v\n%s", err, file.Format())
		}
		if err := once.Redact(); err != nil {
			t.Error(fmt.Errorf("redacted again: %w", err))
		}
	})
}
