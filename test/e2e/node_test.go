package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A node is a containerd of its own, with all its directories below one. Nothing of a system containerd is touched.
type node struct {
	dir        string
	socket     string
	confDir    string // CNI configurations
	binDir     string // CNI plugins, copies
	crictl     string
	containerd *exec.Cmd
	ended      chan struct{} // closed when containerd has ended
	probes     int           // sandboxes asked for by proveByPod
}

// newNode starts a runtime with a good pod network. The test's name ends up in no path: sockets want short ones.
func newNode(t *testing.T, name string) *node {
	t.Helper()
	dir := filepath.Join(run.dir, name)
	n := &node{
		dir:     dir,
		socket:  filepath.Join(dir, "cri.sock"),
		confDir: filepath.Join(dir, "net.d"),
		binDir:  filepath.Join(dir, "bin"),
		crictl:  built(t, buildCrictl),
	}
	for _, d := range []string{n.confDir, n.binDir} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	n.copyPlugins(t)
	n.writeConf(t, "10-pods.conflist", bridgeConf())
	writeFile(t, n.configFile(), n.config())
	t.Cleanup(func() { n.destroy(t) })
	n.start(t)
	n.importImage(t)
	return n
}

func (n *node) endpoint() string   { return "unix://" + n.socket }
func (n *node) stateDir() string   { return filepath.Join(n.dir, "state") }
func (n *node) runcRoot() string   { return filepath.Join(n.dir, "runc") }
func (n *node) configFile() string { return filepath.Join(n.dir, "config.toml") }
func (n *node) logFile() string    { return filepath.Join(n.dir, "containerd.log") }

// config is as a node has it, but for the directories and restrict_oom_score_adj: without that, runc fails in a
// container that may not lower oom_score_adj. Network namespaces go below our directory too, to be found again.
func (n *node) config() string {
	return fmt.Sprintf(`version = 2
root = "%[1]s/root"
state = "%[1]s/state"
[grpc]
  address = "%[1]s/cri.sock"
[ttrpc]
  address = "%[1]s/cri.sock.ttrpc"
[plugins."io.containerd.internal.v1.opt"]
  path = "%[1]s/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "%[2]s"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "%[1]s/bin"
    conf_dir = "%[1]s/net.d"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      BinaryName = "/usr/sbin/runc"
      Root = "%[1]s/runc"
`, n.dir, pauseImage)
}

// start starts containerd and waits until it answers CRI.
func (n *node) start(t testing.TB) {
	t.Helper()
	log, err := os.OpenFile(n.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }() // containerd has its own by then
	cmd := exec.Command("containerd", "-c", n.configFile())
	cmd.Stdout, cmd.Stderr = log, log
	// A group of its own: Ctrl-C goes to the suite, which then takes the node away in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	n.containerd, n.ended = cmd, make(chan struct{})
	go func(ended chan struct{}) {
		_ = cmd.Wait() // killed is how it ends here
		close(ended)
	}(n.ended)
	if !eventually(20*time.Second, func() bool { _, err := n.try("version"); return err == nil }) {
		t.Fatalf("containerd does not answer at %s", n.socket)
	}
}

// end sends containerd a signal and waits until it is gone; shims and containers go on.
func (n *node) end(t testing.TB, sig syscall.Signal) {
	t.Helper()
	if err := n.containerd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	select {
	case <-n.ended:
	case <-time.After(20 * time.Second):
		t.Fatal("containerd does not end")
	}
}

func (n *node) restart(t testing.TB) {
	t.Helper()
	n.end(t, syscall.SIGTERM)
	n.start(t)
}

// powerCut leaves what a disk keeps when the power fails: no process, no mount, no cgroup, nothing of what lay in
// memory. Only the boot time stays, for the machine itself goes on.
func (n *node) powerCut(t testing.TB) {
	t.Helper()
	n.end(t, syscall.SIGKILL)
	killAll(n.processes)
	removeShimSockets(n.dir)
	unmountBelow(n.dir)
	removeCgroups(n.cgroup())
	for _, dir := range []string{n.stateDir(), n.runcRoot()} {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
}

func (n *node) processes() []int {
	return suiteRun{name: n.cgroup(), dir: n.dir}.processes()
}

// cgroup is the parent of all pods of this node, without the leading slash.
func (n *node) cgroup() string { return filepath.Join(run.name, filepath.Base(n.dir)) }

func (n *node) importImage(t testing.TB) {
	t.Helper()
	archive := built(t, buildPauseArchive)
	out, err := exec.Command("ctr", "-a", n.socket, "-n", "k8s.io", "images", "import", archive).CombinedOutput()
	if err != nil {
		t.Fatalf("ctr images import: %v\n%s", err, out)
	}
}

// destroy is all in one: what is not to be had back needs no orderly end.
func (n *node) destroy(t testing.TB) {
	if t.Failed() {
		t.Logf("the end of containerd's log:\n%s", tail(n.logFile(), 4000))
	}
	killAll(n.processes)
	removeShimSockets(n.dir)
	unmountBelow(n.dir)
	removeCNICache(n.dir)
	removeCgroups(n.cgroup())
	_ = os.RemoveAll(n.dir)
}

func tail(file string, bytes int) string {
	content, _ := os.ReadFile(file)
	return string(content[max(0, len(content)-bytes):])
}

func writeFile(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
