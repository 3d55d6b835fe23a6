package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// quick lets a directory that has just changed count at once.
var quick = []string{"--boot-grace", "1s", "--settle", "1s"}

// settled is longer than those flags, and leaves the runtime time to see a change of its directory.
const settled = 1500 * time.Millisecond

type networkCase struct {
	name  string
	fault func(t *testing.T, n *node)
	ready bool // what containerd says of the network: often true where every pod would fail
	want  want
	// onCRIO is what differs there: it passes over files that it cannot load, and sets up lo itself.
	onCRIO *want
	// onlyLoOnCRIO: the sandbox starts there, and its pod has no address but 127.0.0.1.
	onlyLoOnCRIO bool
}

var networkCases = []networkCase{
	{
		name:  "good bridge",
		fault: func(*testing.T, *node) {},
		ready: true,
		want:  want{exit: 0},
	},
	{
		name:  "empty directory",
		fault: func(t *testing.T, n *node) { n.emptyConfDir(t) },
		want:  want{1, []string{"net.d", "no "}},
	},
	{
		name: "broken JSON",
		fault: func(t *testing.T, n *node) {
			n.writeConf(t, "10-pods.conflist", `{"cniVersion": "0.4.0", "plugins": [`)
		},
		want: want{1, []string{"10-pods.conflist", "JSON"}},
	},
	{
		name:  "plugin binary missing",
		fault: func(t *testing.T, n *node) { remove(t, n.plugin("bridge")) },
		ready: true,
		want:  want{1, []string{"10-pods.conflist", "bridge"}},
	},
	{
		name:  "ipam binary missing",
		fault: func(t *testing.T, n *node) { remove(t, n.plugin("host-local")) },
		ready: true,
		want:  want{1, []string{"10-pods.conflist", "host-local"}},
	},
	{
		name:   "loopback binary missing", // the runtime's own network in every pod needs it, no file names it
		fault:  func(t *testing.T, n *node) { remove(t, n.plugin("loopback")) },
		ready:  true,
		want:   want{1, []string{"10-pods.conflist", "loopback", "not in"}},
		onCRIO: &want{exit: 0},
	},
	{
		name: "only loopback",
		fault: func(t *testing.T, n *node) {
			n.writeConf(t, "10-pods.conflist", conflist(map[string]any{"type": "loopback"}))
		},
		ready: true,
		want:  want{1, []string{"10-pods.conflist", "loopback"}},

		onlyLoOnCRIO: true,
	},
	{
		name: "the first of two files is broken",
		fault: func(t *testing.T, n *node) {
			n.writeConf(t, "05-early.conflist", `{"cniVersion": "0.4.0", "name": "early"}`)
		},
		want:   want{1, []string{"05-early.conflist", "plugins"}},
		onCRIO: &want{exit: 0},
	},
}

// TestNetworkConfiguration makes each fault on a healthy node, asks the check, and asks the runtime for a sandbox: the
// check must say beforehand what happens then.
func TestNetworkConfiguration(t *testing.T) { onEachFlavour(t, testNetworkConfiguration) }

func testNetworkConfiguration(t *testing.T, f flavour) {
	n := newNode(t, f, "cni")
	for _, c := range networkCases {
		t.Run(c.name, func(t *testing.T) {
			n.healNetwork(t)
			c.fault(t, n)
			time.Sleep(settled)
			ready, expected := c.ready, c.want
			if f.name == crio.name {
				ready = true // for ever, once it was
				if c.onCRIO != nil {
					expected = *c.onCRIO
				}
			}
			if says := n.networkReady(t); says != ready {
				t.Errorf("the runtime says NetworkReady %v, this case is about %v", says, ready)
			}
			n.checkNetwork(t, expected)
			n.proveByPod(t, expected.exit == 0 || f.name == crio.name && c.onlyLoOnCRIO)
		})
	}
	t.Run("flannel without its subnet file", func(t *testing.T) { n.testFlannel(t) })
	// The last one: it takes the runtime's eyes away.
	switch f.name {
	case containerd1.name:
		t.Run("directory removed and made again", func(t *testing.T) { n.testLostWatch(t) })
	case containerd2.name:
		t.Run("directory removed", func(t *testing.T) { n.testGivenUp(t) })
	}
}

func (n *node) checkNetwork(t *testing.T, w want, flags ...string) answer {
	t.Helper()
	if len(flags) == 0 {
		flags = quick
	}
	live := check(t, w, append([]string{"cni-config", "--runtime-endpoint", n.endpoint()}, flags...)...)
	n.checkCapture(t, live, "cni-config", flags...)
	return live
}

// proveByPod is the oracle: a pod that asks for a network gets its sandbox or does not.
func (n *node) proveByPod(t *testing.T, starts bool) {
	t.Helper()
	n.probes++ // a name is taken as long as a failed sandbox of containerd 1.6 is listed
	sandbox, err := n.tryRun(t, pod{name: fmt.Sprintf("probe-%d", n.probes)})
	switch {
	case err == nil && !starts:
		t.Errorf("a sandbox starts, so there was no fault: %s", n.do(t, "inspectp", sandbox))
	case err != nil && starts:
		t.Errorf("no sandbox starts, though all is said to be well: %v", err)
	case err != nil:
		t.Logf("the runtime says: %v", err)
	}
}

// healNetwork makes the node as newNode made it.
func (n *node) healNetwork(t *testing.T) {
	t.Helper()
	n.emptyConfDir(t)
	n.copyPlugins(t)
	remove(t, n.agentDir())
	mkdirAll(t, n.agentDir())
	n.writeConf(t, "10-pods.conflist", bridgeConf())
	n.waitReady(t)
}

func (n *node) waitReady(t *testing.T) {
	t.Helper()
	if !eventually(5*time.Second, func() bool { return n.networkReady(t) }) {
		t.Fatal("the runtime does not see the good configuration")
	}
}

func (n *node) networkReady(t *testing.T) bool {
	t.Helper()
	var info struct {
		Status struct {
			Conditions []struct {
				Type   string
				Status bool
			}
		}
	}
	if err := json.Unmarshal([]byte(n.do(t, "info")), &info); err != nil {
		t.Fatal(err)
	}
	for _, c := range info.Status.Conditions {
		if c.Type == "NetworkReady" {
			return c.Status
		}
	}
	return false
}

// tellsVersions is a line of a plugin that is a script: CRI-O takes no file whose plugins do not answer.
const tellsVersions = `[ "$CNI_COMMAND" = VERSION ] && echo '{"cniVersion": "0.4.0", "supportedVersions": ["0.4.0"]}' && exit 0
`

// flannelScript stands in for flannel: it leaves a mark when it is run, then fails as flannel does.
const flannelScript = `#!/bin/sh
touch "$(dirname "$0")/flannel-was-run"
[ "$CNI_COMMAND" = DEL ] && exit 0
` + tellsVersions + `echo '{"code": 100, "msg": "no subnet file"}'
exit 1
`

// testFlannel also shows that the check runs no plugin: it reads what the plugin would read.
func (n *node) testFlannel(t *testing.T) {
	n.healNetwork(t)
	subnetFile := filepath.Join(n.dir, "subnet.env")
	n.writeConf(t, "10-pods.conflist", conflist(map[string]any{
		"type": "flannel", "subnetFile": subnetFile, "delegate": map[string]any{"isDefaultGateway": true},
	}))
	if err := os.WriteFile(n.plugin("flannel"), []byte(flannelScript), 0o755); err != nil {
		t.Fatal(err)
	}
	time.Sleep(settled)
	if !n.networkReady(t) {
		t.Error("the runtime says NetworkReady false: this case is about true")
	}
	mark := n.plugin("flannel-was-run")
	remove(t, mark) // CRI-O asks each plugin for its versions when it loads the file
	n.checkNetwork(t, want{1, []string{subnetFile}})
	if _, err := os.Stat(mark); err == nil {
		t.Error("the check ran the plugin")
	}
	n.proveByPod(t, false)
	if _, err := os.Stat(mark); err != nil {
		t.Error("the runtime did not run the plugin either: the mark proves nothing")
	}
	remove(t, n.plugin("flannel"))
	remove(t, mark)
}

// testLostWatch: containerd 1.6 watches the directory's inode. A directory of the same name is another one.
func (n *node) testLostWatch(t *testing.T) {
	n.healNetwork(t)
	remove(t, n.confDir)
	if !eventually(5*time.Second, func() bool { return !n.networkReady(t) }) {
		t.Fatal("the runtime does not notice that its directory is gone")
	}
	if err := os.Mkdir(n.confDir, 0o755); err != nil {
		t.Fatal(err)
	}
	n.writeConf(t, "10-pods.conflist", bridgeConf())
	time.Sleep(settled)
	n.checkNetwork(t, want{1, []string{n.confDir, "restart"}})
	n.proveByPod(t, false)

	n.restart(t) // the cure that the line names
	n.checkNetwork(t, want{exit: 0})
	n.proveByPod(t, true)
}

// testGivenUp: containerd 2 ends when its directory is removed. Its socket stays and refuses. Nobody can say then where
// the directory was, so the check is told.
func (n *node) testGivenUp(t *testing.T) {
	n.healNetwork(t)
	remove(t, n.confDir)
	select {
	case <-n.ended:
	case <-time.After(5 * time.Second):
		t.Fatal("containerd goes on without its directory")
	}
	check(t, want{2, []string{n.socket, "refused", n.confDir, "gone"}},
		"cni-config", "--runtime-endpoint", n.endpoint(), "--cni-conf-dir", n.confDir)

	mkdirAll(t, n.confDir)
	n.writeConf(t, "10-pods.conflist", bridgeConf())
	n.start(t)
	time.Sleep(settled)
	n.checkNetwork(t, want{exit: 0})
	n.proveByPod(t, true)
}
