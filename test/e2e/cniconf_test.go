package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"sandbox-checker/test/e2e/internal/document"
)

// bridgeConf is a pod network that works: a bridge named as the run, addresses from a range for documentation. The
// bridge gets no address and no gateway, so that nothing of the machine's routing or forwarding changes.
func bridgeConf() string {
	return conflist(map[string]any{"type": "bridge", "bridge": run.name, "ipam": hostLocal()})
}

func hostLocal() map[string]any {
	return map[string]any{
		"type":    "host-local",
		"dataDir": filepath.Join(run.dir, "addresses"),
		"ranges":  []any{[]any{map[string]any{"subnet": "198.51.100.0/24"}}},
	}
}

func conflist(plugins ...map[string]any) string {
	return document.JSON(map[string]any{"cniVersion": "0.4.0", "name": run.name, "plugins": plugins}) + "\n"
}

// copyPlugins gives the node bin directories that a test may break, with what the good network needs.
func (n *node) copyPlugins(t testing.TB) {
	t.Helper()
	remove(t, n.secondBinDir())
	remove(t, n.binDir)
	mkdirAll(t, n.binDir)
	n.addPlugins(t, "bridge", "host-local", "loopback")
}

// addPlugins adds plugins of Debian's.
func (n *node) addPlugins(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		copyProgram(t, filepath.Join(cniPlugins, name), n.plugin(name))
	}
}

// addStandIn adds a plugin that Debian does not have: see testdata/standin.
func (n *node) addStandIn(t testing.TB, name string) {
	t.Helper()
	copyProgram(t, built(t, buildStandIn), n.plugin(name))
}

// copyProgram puts a program in place in one step: CRI-O runs it when it comes, and does not look again when that fails
// because it is still being written.
func copyProgram(t testing.TB, from, to string) {
	t.Helper()
	binary, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	draft := filepath.Join(filepath.Dir(filepath.Dir(to)), "draft")
	if err := os.WriteFile(draft, binary, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(draft, to); err != nil {
		t.Fatal(err)
	}
}

// secondBinDir is one that containerd 1 cannot have.
func (n *node) secondBinDir() string { return filepath.Join(n.dir, "bin2") }

// agentFile is what a plugin's agent would leave on the node. The directory holds nothing else: one that has just changed
// makes the check wait.
func (n *node) agentFile(name string) string { return filepath.Join(n.agentDir(), name) }
func (n *node) agentDir() string             { return filepath.Join(n.dir, "agent") }

func (n *node) plugin(name string) string { return filepath.Join(n.binDir, name) }
func (n *node) conf(name string) string   { return filepath.Join(n.confDir, name) }

// writeConf puts a configuration in place in one step, as installers do: the runtime must not read half of it. The draft
// lies in the same directory: containerd 1.6 takes no notice of a file that is moved in from another one.
func (n *node) writeConf(t testing.TB, name, content string) {
	t.Helper()
	draft := n.conf("draft")
	writeFile(t, draft, content)
	if err := os.Rename(draft, n.conf(name)); err != nil {
		t.Fatal(err)
	}
}

// emptyConfDir removes the files and keeps the directory: the runtime watches it.
func (n *node) emptyConfDir(t testing.TB) {
	t.Helper()
	entries, err := os.ReadDir(n.confDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		remove(t, n.conf(entry.Name()))
	}
}

func remove(t testing.TB, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}
