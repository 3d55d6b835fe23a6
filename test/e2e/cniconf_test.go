package e2e

import (
	"os"
	"path/filepath"
	"testing"
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
	return string(asJSON(map[string]any{"cniVersion": "0.4.0", "name": run.name, "plugins": plugins})) + "\n"
}

// copyPlugins gives the node a bin directory that a test may break.
func (n *node) copyPlugins(t testing.TB) {
	t.Helper()
	for _, name := range []string{"bridge", "host-local", "loopback"} {
		binary, err := os.ReadFile(filepath.Join(cniPlugins, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(n.plugin(name), binary, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

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
