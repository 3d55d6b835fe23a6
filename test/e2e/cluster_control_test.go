package e2e

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A cluster is one machine with all of Kubernetes on it: etcd, API server, controller manager, scheduler, containerd and
// kubelet, each the real one.
type cluster struct {
	*machine
	kubectl     string
	agentIsGone bool // nobody writes flannel's file at the next boot
}

var kubernetes = func() map[string]func() (string, error) {
	programs := map[string]func() (string, error){}
	for _, name := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kubectl"} {
		programs[name] = builtOnce(program{name: name, module: "programs/kubernetes", pkg: "k8s.io/kubernetes/cmd/" + name})
	}
	programs["etcd"] = builtOnce(program{name: "etcd", module: "programs/etcd", pkg: "go.etcd.io/etcd/server/v3"})
	return programs
}()

// clusterContainerd: the suites of one node run on both, the cluster takes long enough on one.
var clusterContainerd = flag.String("containerd", "1", "the containerd of a cluster: 1 is Debian's, 2 the built one")

func (c *cluster) containerdPrograms(t *testing.T) string {
	t.Helper()
	for _, f := range everyContainerd {
		if f.name == *clusterContainerd {
			return built(t, f.programs)
		}
	}
	t.Fatalf("-containerd %s: want 1 or 2", *clusterContainerd)
	return ""
}

const containerdConfig = `version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "` + pauseImage + `"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/opt/cni/bin"
    conf_dir = "/etc/cni/net.d"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    runtime_path = "%s/containerd-shim-runc-v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      BinaryName = "/opt/runc-wrapper"
`

// runcWrapper is runc, but that the start of a container (not of a sandbox) waits while a file is there: the moment between
// create and start, made long enough for a power cut.
const runcWrapper = `#!/bin/sh
for word; do
	if [ "$word" = start ] && [ -e /etc/hold-starts ]; then hold=yes; fi
done
bundle=/run/containerd/io.containerd.runtime.v2.task/k8s.io/$word
if [ "$hold" ] && ! grep -q '"io.kubernetes.cri.container-type":"sandbox"' "$bundle/config.json"; then
	sleep 1000
fi
exec /usr/sbin/runc "$@"
`

const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
cgroupDriver: cgroupfs
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
failCgroupV1: false
failSwapOn: false
makeIPTablesUtilChains: false
evictionHard: {memory.available: 50Mi, nodefs.available: "1%", nodefs.inodesFree: "1%", imagefs.available: "1%"}
`

// clusterCNI is a network of flannel's kind. Its agent's file is written by start.
const clusterCNI = `{"cniVersion": "0.4.0", "name": "pods", "plugins": [{"type": "flannel", "delegate": {"isDefaultGateway": true}}]}
`

const clusterCNIFile = "/etc/cni/net.d/10-pods.conflist"

// newCluster starts one with a healthy node.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	useKubepods(t)
	c := &cluster{machine: newMachine(t)}
	for _, build := range kubernetes {
		built(t, build)
	}
	c.kubectl = built(t, kubernetes["kubectl"])
	c.writeIdentities(t)
	c.writeNode(t)
	t.Cleanup(func() { c.tellLogs(t) })
	c.start(t)
	return c
}

// writeNode puts on the disk what an installer of Kubernetes would.
func (c *cluster) writeNode(t *testing.T) {
	t.Helper()
	writeFile(t, c.disk("/etc/kubernetes/kubelet.yaml"), kubeletConfig)
	mkdirAll(t, c.disk("/etc/cni/net.d"))
	writeFile(t, c.disk(clusterCNIFile), clusterCNI)
	mkdirAll(t, c.disk("/opt/cni/bin"))
	for _, name := range []string{"bridge", "host-local", "loopback", "portmap"} {
		copyProgram(t, filepath.Join(cniPlugins, name), c.disk("/opt/cni/bin/"+name))
	}
	copyProgram(t, built(t, buildStandIn), c.disk("/opt/cni/bin/flannel"))
	mkdirAll(t, c.disk("/etc/containerd"))
	writeFile(t, c.disk("/etc/containerd/config.toml"), fmt.Sprintf(containerdConfig, c.containerdPrograms(t)))
	writeFile(t, c.disk("/opt/runc-wrapper"), runcWrapper)
	if err := os.Chmod(c.disk("/opt/runc-wrapper"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// start boots the machine and all that runs on it, and waits until the node is Ready.
func (c *cluster) start(t *testing.T) {
	t.Helper()
	began := time.Now()
	c.boot(t)
	if !c.agentIsGone {
		c.writeSubnet(t)
	}
	c.startControlPlane(t)
	c.startContainerd(t)
	c.importImage(t, built(t, buildPauseArchive))
	c.startKubelet(t)
	c.waitNodeUntil(t, 3*time.Minute, "Ready", "True", func(ready nodeCondition) bool { return ready.LastHeartbeatTime.After(c.booted) })
	t.Logf("the cluster is up after %s", time.Since(began).Round(time.Second))
}

func (c *cluster) startControlPlane(t *testing.T) {
	t.Helper()
	c.launch(t, c.program("etcd"), "--data-dir", "/var/lib/etcd", "--unsafe-no-fsync",
		"--listen-client-urls", "http://127.0.0.1:2379", "--advertise-client-urls", "http://127.0.0.1:2379",
		"--listen-peer-urls", "http://127.0.0.1:2380")
	c.launch(t, c.program("kube-apiserver"), "--etcd-servers=http://127.0.0.1:2379", "--secure-port=443",
		"--advertise-address="+nodeIP, "--service-cluster-ip-range=10.96.0.0/16", "--allow-privileged=true",
		"--authorization-mode=Node,RBAC", "--token-auth-file="+c.kube("tokens.csv"),
		"--tls-cert-file="+c.kube("server.crt"), "--tls-private-key-file="+c.kube("server.key"),
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+c.kube("accounts.key"),
		"--service-account-signing-key-file="+c.kube("accounts.key"), "--kubelet-preferred-address-types=InternalIP")
	if !eventually(time.Minute, func() bool { _, err := c.tryKubectl("", "get", "--raw", "/readyz"); return err == nil }) {
		t.Fatalf("the API server is not ready:\n%s", tail(c.log("kube-apiserver"), 3000))
	}
	c.launch(t, c.program("kube-controller-manager"), "--kubeconfig="+c.kubeconfig(managerToken), "--leader-elect=false", "--use-service-account-credentials=true",
		"--service-account-private-key-file="+c.kube("accounts.key"), "--root-ca-file="+c.kube("ca.crt"))
	c.launch(t, c.program("kube-scheduler"), "--kubeconfig="+c.kubeconfig(schedulerToken), "--leader-elect=false")
}

func (c *cluster) program(name string) string { return filepath.Join(run.dir, "bin", name) }

func (c *cluster) startContainerd(t *testing.T) {
	t.Helper()
	c.launch(t, filepath.Join(c.containerdPrograms(t), "containerd"), "-c", "/etc/containerd/config.toml")
	if !eventually(time.Minute, func() bool { _, err := c.try("", "ctr", "version"); return err == nil }) {
		t.Fatalf("containerd does not answer:\n%s", tail(c.log("containerd"), 3000))
	}
}

func (c *cluster) importImage(t *testing.T, archive string) {
	t.Helper()
	if _, err := c.try("", "ctr", "-n", "k8s.io", "images", "import", archive); err != nil {
		t.Fatal(err)
	}
}

func (c *cluster) startKubelet(t *testing.T) {
	t.Helper()
	c.launch(t, c.program("kubelet"), "--config="+c.kube("kubelet.yaml"), "--kubeconfig="+c.kubeconfig(kubeletToken),
		"--hostname-override="+nodeName, "--node-ip="+nodeIP)
}

// powerCut loses all that lies in memory, and starts the machine again.
func (c *cluster) powerCut(t *testing.T) {
	t.Helper()
	c.powerOff(t)
	time.Sleep(2 * time.Second) // a machine's firmware takes longer; the boot time has whole seconds
	c.start(t)
}

func (c *cluster) restart(t *testing.T, name string) {
	t.Helper()
	c.kill(t, name, syscall.SIGTERM)
	if name == "containerd" {
		c.startContainerd(t)
		return
	}
	c.startKubelet(t)
}

func (c *cluster) tellLogs(t *testing.T) {
	if !t.Failed() {
		return
	}
	logs, _ := filepath.Glob(c.log("*"))
	for _, log := range logs {
		t.Logf("the end of the log of %s:\n%s", filepath.Base(log), tail(log, 2500))
	}
	detector, err := c.tryKubectl("", "--namespace", "kube-system", "logs", "--tail", "40", "daemonset/node-problem-detector")
	t.Logf("the end of the log of the detector (%v):\n%s", err, detector)
}
