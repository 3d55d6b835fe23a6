package e2e

import (
	"fmt"
	"os/exec"
	"testing"
)

// A flavour is a runtime of one generation: where its programs are, how it is configured and started.
type flavour struct {
	name     string // ends up in paths, so it is short
	title    string
	version  string                         // begins so: what a suite says of a runtime it says of this one
	programs func() (dir string, err error) // holds the runtime and what it starts
	config   func(n *node) string
	prepare  func(t testing.TB, n *node) // what else must be there; nil for nothing
	command  func(n *node) *exec.Cmd     // serves CRI
	load     func(n *node, image, archive string) *exec.Cmd
	memory   []string // directories of the node that lie in memory on a real one
}

var (
	containerd1 = containerd("1", "1.6.", func() (string, error) { return "/usr/bin", nil }, config1)
	containerd2 = containerd("2", "2.4.", buildContainerd, config2)
)

func containerd(name, version string, programs func() (string, error), config func(*node) string) flavour {
	return flavour{
		name: name, title: "containerd " + name, version: version, programs: programs, config: config,
		command: func(n *node) *exec.Cmd { return n.program("containerd", "-c", n.configFile()) },
		load: func(n *node, _, archive string) *exec.Cmd { // the archive names the image
			return n.program("ctr", "-a", n.socket, "-n", "k8s.io", "images", "import", archive)
		},
		memory: []string{"state", "runc"},
	}
}

var (
	everyContainerd = []flavour{containerd1, containerd2}
	everyFlavour    = []flavour{containerd1, containerd2, crio}
)

// onEachFlavour runs a test on all at once: they share no directory, and most of a test is waiting.
func onEachFlavour(t *testing.T, test func(t *testing.T, f flavour)) { atOnceOn(t, everyFlavour, test) }

// onEachContainerd is for what cannot be shown on CRI-O.
func onEachContainerd(t *testing.T, test func(t *testing.T, f flavour)) {
	atOnceOn(t, everyContainerd, test)
}

func atOnceOn(t *testing.T, flavours []flavour, test func(t *testing.T, f flavour)) {
	for _, f := range flavours {
		t.Run(f.title, func(t *testing.T) {
			t.Parallel()
			test(t, f)
		})
	}
}

// inTurn is for tests that look at what all would share.
func inTurn(t *testing.T, flavours []flavour, test func(t *testing.T, f flavour)) {
	for _, f := range flavours {
		t.Run(f.title, func(t *testing.T) { test(t, f) })
	}
}

// Both configurations are as a node has them, but for the directories and restrict_oom_score_adj: without that, runc
// fails in a container that may not lower oom_score_adj. Network namespaces go below our directory too, to be found again.

func config1(n *node) string {
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

// config2 has a second bin directory, which containerd 1 cannot have. NRI is off: its socket is the machine's.
func config2(n *node) string {
	return fmt.Sprintf(`version = 3
root = "%[1]s/root"
state = "%[1]s/state"
imports = []
[grpc]
  address = "%[1]s/cri.sock"
[ttrpc]
  address = "%[1]s/cri.sock.ttrpc"
[plugins."io.containerd.internal.v1.opt"]
  path = "%[1]s/opt"
[plugins."io.containerd.nri.v1.nri"]
  disable = true
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "%[2]s"
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["%[1]s/bin", "%[1]s/bin2"]
    conf_dir = "%[1]s/net.d"
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
      BinaryName = "/usr/sbin/runc"
      Root = "%[1]s/runc"
`, n.dir, pauseImage)
}
