package e2e

import (
	"fmt"
	"testing"
)

// A flavour is one generation of containerd: where its programs are, and how its configuration is written.
type flavour struct {
	name     string                         // ends up in paths, so it is short
	programs func() (dir string, err error) // holds containerd, its shim and ctr
	config   func(n *node) string
}

var (
	containerd1 = flavour{"1", func() (string, error) { return "/usr/bin", nil }, config1}
	containerd2 = flavour{"2", buildContainerd, config2}
)

// onEachFlavour runs a test on both at once: they share no directory, and most of a test is waiting.
func onEachFlavour(t *testing.T, test func(t *testing.T, f flavour)) {
	for _, f := range []flavour{containerd1, containerd2} {
		t.Run("containerd "+f.name, func(t *testing.T) {
			t.Parallel()
			test(t, f)
		})
	}
}

// inTurn is for tests that look at what both would share.
func inTurn(t *testing.T, test func(t *testing.T, f flavour)) {
	for _, f := range []flavour{containerd1, containerd2} {
		t.Run("containerd "+f.name, func(t *testing.T) { test(t, f) })
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
