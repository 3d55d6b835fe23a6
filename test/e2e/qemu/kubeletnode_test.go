package qemu

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// The kubelet's version is that of the cluster suite.
var buildKubelet = builtOnce(program{name: "kubelet", module: "../programs/kubernetes", pkg: "k8s.io/kubernetes/cmd/kubelet"})

// withKubelet has a disk of its own: the kubelet is half as large as all else together.
var withKubelet = flavour{"2.4 with kubelet", sync.OnceValues(func() (disks, error) {
	programs, err := builtAll(append(buildContainerd2, buildKubelet)...)
	if err != nil {
		return disks{}, err
	}
	return buildDisks("2.4-kubelet", programs)
})}

// A kubeletNode is a machine whose pods the kubelet makes. There is no API server: it takes them from files.
type kubeletNode struct{ *machine }

const (
	nodeName    = "node1"
	kubeletPods = "http://127.0.0.1:10255/pods"
)

// bootKubelet boots the node, with a kubelet that makes its cgroups itself.
func (n kubeletNode) bootKubelet(t *testing.T) {
	t.Helper()
	n.boot(t)
	n.sh(t, "rmdir /sys/fs/cgroup/kubepods/burstable /sys/fs/cgroup/kubepods; mkdir -p /state/manifests")
	n.startKubelet(t)
}

func (n kubeletNode) startKubelet(t *testing.T) {
	t.Helper()
	n.sh(t, "kubelet --config /etc/kubernetes/kubelet.yaml --hostname-override "+nodeName+" --node-ip 10.0.2.15 --v=2 >>/state/kubelet.log 2>&1 </dev/null &")
	n.wait(t, "the kubelet answers", func() bool { return n.run(t, "", "wget", "-q", "-O", "/dev/null", kubeletPods).Exit == 0 })
}

func (n kubeletNode) restartKubelet(t *testing.T) {
	t.Helper()
	n.stop(t, "kubelet")
	n.startKubelet(t)
}

func (n kubeletNode) restartContainerd(t *testing.T) {
	t.Helper()
	n.stop(t, "containerd")
	n.sh(t, "containerd >>/state/containerd.log 2>&1 </dev/null &")
	n.wait(t, "containerd answers", func() bool { return n.run(t, "", "crictl", "version").Exit == 0 })
}

func (n kubeletNode) stop(t *testing.T, program string) {
	t.Helper()
	n.sh(t, fmt.Sprintf("kill $(pidof %[1]s); while pidof %[1]s >/dev/null; do usleep 100000; done", program))
}

// wait says how long something took, and ends the test where it does not come.
func (n kubeletNode) wait(t *testing.T, what string, is func() bool) {
	t.Helper()
	started := time.Now()
	for end := started.Add(patience); !is(); time.Sleep(500 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %s: %s\nthe end of the kubelet's log:\n%s", patience, what, n.do(t, "tail", "-n", "30", "/state/kubelet.log"))
		}
	}
	t.Logf("%s after %s", what, time.Since(started).Round(100*time.Millisecond))
}

// put gives the kubelet the file of a static pod, whole at once. spec is a line of the pod's spec, resources its
// container's, both YAML.
func (n kubeletNode) put(t *testing.T, name, spec, resources string) {
	t.Helper()
	n.writeFile(t, "/state/pod.yaml", `apiVersion: v1
kind: Pod
metadata: {name: `+name+`, namespace: default}
spec:
  terminationGracePeriodSeconds: 1
  `+spec+`
  containers:
  - {name: main, image: "`+pauseImage+`", imagePullPolicy: Never, resources: `+resources+`}
`)
	n.do(t, "mv", "/state/pod.yaml", "/state/manifests/"+name+".yaml")
}

// A kubeletPod is what the kubelet itself says of a pod.
type kubeletPod struct {
	Metadata struct{ Name, UID string }
	Status   struct {
		Phase             string
		ContainerStatuses []struct {
			State struct{ Running *struct{} }
		}
	}
}

// isRunning looks at the container too: after a boot the phase alone is Running before anything runs.
func (p kubeletPod) isRunning() bool {
	c := p.Status.ContainerStatuses
	return p.Status.Phase == "Running" && len(c) == 1 && c[0].State.Running != nil
}

// pods are those of the kubelet, by the names in their files.
func (n kubeletNode) pods(t *testing.T) map[string]kubeletPod {
	t.Helper()
	var list struct{ Items []kubeletPod }
	if err := json.Unmarshal([]byte(n.do(t, "wget", "-q", "-O", "-", kubeletPods)), &list); err != nil {
		t.Fatal(err)
	}
	out := map[string]kubeletPod{}
	for _, p := range list.Items {
		out[strings.TrimSuffix(p.Metadata.Name, "-"+nodeName)] = p
	}
	return out
}

func (n kubeletNode) waitRunning(t *testing.T, names ...string) {
	t.Helper()
	n.wait(t, strings.Join(names, ", ")+" running", func() bool {
		pods := n.pods(t)
		for _, name := range names {
			if !pods[name].isRunning() {
				return false
			}
		}
		return true
	})
}

// mustHaveLimit reads the limit that the kubelet has written. parent is the cgroup of the pod's class.
func (n kubeletNode) mustHaveLimit(t *testing.T, parent, name, bytes string) {
	t.Helper()
	file := "/sys/fs/cgroup" + parent + "/pod" + n.pods(t)[name].Metadata.UID + "/memory.max"
	if got := n.do(t, "cat", file); got != bytes {
		t.Errorf("%s is %s, want %s", file, got, bytes)
	}
}

// holdStarts lets no container start any more, until the power goes.
func (n kubeletNode) holdStarts(t *testing.T) {
	t.Helper()
	n.sh(t, "cp -a /usr/sbin/runc /run/runc; mount --bind /opt/hold-runc /usr/sbin/runc")
}

func (n kubeletNode) exit(t *testing.T, name string) int {
	t.Helper()
	return n.run(t, "", append([]string{"sandbox-checker", "check", name}, slowly...)...).Exit
}

// mustBeWell: no check finds anything, and none gives the pods time.
func (n kubeletNode) mustBeWell(t *testing.T) {
	t.Helper()
	for _, name := range checkNames {
		n.check(t, want{exit: 0}, append([]string{name}, insideFlags...)...)
	}
}
