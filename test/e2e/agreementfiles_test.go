package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sandbox-checker/test/e2e/internal/document"
)

// fileCases are about which file counts and what is in it.
var fileCases = []agreementCase{
	{name: "good bridge", arrange: func(*testing.T, *node) {}},
	{
		name:    "nameless conf",
		arrange: onlyConf("10-pods.conf", `{"cniVersion": "0.4.0", "type": "bridge", "bridge": "BRIDGE", "ipam": IPAM}`),
		want:    want{1, []string{"10-pods.conf", "no name"}},
	},
	{ // CRI-O runs no CHECK for it, and does not find it again either
		name:    "nameless conf of an older version",
		arrange: onlyConf("10-pods.conf", `{"cniVersion": "0.3.1", "type": "bridge", "bridge": "BRIDGE", "ipam": IPAM}`),
		want:    want{1, []string{"10-pods.conf", "no name"}},
	},
	{
		name:    "nameless conflist",
		arrange: onlyConf("10-pods.conflist", `{"cniVersion": "0.4.0", "plugins": [PLUGIN]}`),
		want:    want{1, []string{"10-pods.conflist", "name"}},
	},
	{
		name:    "conf",
		arrange: onlyConf("10-pods.conf", `{"cniVersion": "0.4.0", "name": "pods", "type": "bridge", "bridge": "BRIDGE", "ipam": IPAM}`),
	},
	{
		name:    "extension json",
		arrange: onlyConf("10-pods.json", `{"cniVersion": "0.4.0", "name": "pods", "type": "bridge", "bridge": "BRIDGE", "ipam": IPAM}`),
	},
	{
		name:    "no cniVersion",
		arrange: onlyConf("10-pods.conflist", `{"name": "pods", "plugins": [PLUGIN]}`),
	},
	{
		name:    "keys that nobody knows",
		arrange: onlyConf("10-pods.conflist", `{"cniVersion": "0.4.0", "name": "pods", "foo": 1, "plugins": [{"type": "bridge", "bridge": "BRIDGE", "bar": {}, "ipam": IPAM}]}`),
	},
	{
		name:    "list in a conf",
		arrange: onlyConf("10-pods.conf", `{"cniVersion": "0.4.0", "name": "pods", "plugins": [PLUGIN]}`),
		want:    want{1, []string{"10-pods.conf", "conflist"}},
	},
	{
		name:    "bad network name",
		arrange: onlyConf("10-pods.conflist", `{"cniVersion": "0.4.0", "name": "my pods!", "plugins": [PLUGIN]}`),
		want:    want{1, []string{"10-pods.conflist", "network name"}},
	},
	{
		name:    "cniVersion that no specification has",
		arrange: onlyConf("10-pods.conflist", `{"cniVersion": "9.9.9", "name": "pods", "plugins": [PLUGIN]}`),
		want:    want{1, []string{"10-pods.conflist", "9.9.9"}},
	},
	{
		name:    "cniVersion that is no version",
		arrange: onlyConf("10-pods.conflist", `{"cniVersion": "latest", "name": "pods", "plugins": [PLUGIN]}`),
		want:    want{1, []string{"10-pods.conflist", "cniVersion"}},
	},
	{
		name:    "plugin without type",
		arrange: onlyConf("10-pods.conflist", `{"cniVersion": "0.4.0", "name": "pods", "plugins": [{"bridge": "BRIDGE"}]}`),
		want:    want{1, []string{"10-pods.conflist", "type"}},
	},
	{
		name:    "type that is a path",
		arrange: onlyConf("10-pods.conflist", `{"cniVersion": "0.4.0", "name": "pods", "plugins": [{"type": "bin/bridge", "ipam": IPAM}]}`),
		want:    want{1, []string{"10-pods.conflist", "bin/bridge"}},
	},
	{
		name:    "empty file",
		arrange: onlyConf("10-pods.conflist", ``),
		want:    want{1, []string{"10-pods.conflist", "JSON"}},
	},
	{
		name:     "dot file first",
		arrange:  oneMore(".00-early.conflist", `{"cniVersion": "0.4.0", "name": "early"`),
		want:     want{1, []string{".00-early.conflist", "JSON"}},
		wantCRIO: &want{exit: 0},
	},
	{name: "broken file second", arrange: oneMore("20-late.conflist", `{`)},
	{name: "broken file with another extension first", arrange: oneMore("00-old.conflist.bak", `{`)},
	{
		name: "directory named like a file",
		arrange: func(t *testing.T, n *node) {
			mkdirAll(t, n.conf("00-dir.conf"))
			n.reload(t)
		},
	},
	{
		name: "dangling link first",
		arrange: func(t *testing.T, n *node) {
			link(t, "/nowhere/early.conflist", n.conf("00-early.conflist"))
			n.reload(t)
		},
		want:     want{1, []string{"00-early.conflist", "dangling"}},
		wantCRIO: &want{exit: 0},
	},
	{
		name: "link to a good file",
		arrange: func(t *testing.T, n *node) {
			remove(t, n.conf("10-pods.conflist"))
			writeFile(t, filepath.Join(n.dir, "elsewhere"), bridgeConf())
			link(t, filepath.Join(n.dir, "elsewhere"), n.conf("10-pods.conflist"))
			n.writeConf(t, "touch", "")
		},
	},
	{ // libcni 1.3 takes a text for a boolean, 1.1 does not
		name:     "disableCheck as text",
		arrange:  onlyConf("10-pods.conflist", `{"cniVersion": "0.4.0", "name": "pods", "disableCheck": "true", "plugins": [PLUGIN]}`),
		want:     want{1, []string{"10-pods.conflist", "disableCheck"}},
		want2:    &want{exit: 0},
		wantCRIO: &want{exit: 0},
	},
	{ // libcni 1.3 lets it join the chain, 1.1 does not look
		name:    "sub-directory of the network's name, its plugin missing",
		arrange: subDirectory("absent-plugin"),
		want:    want{exit: 0},
		want2:   &want{1, []string{"absent-plugin"}},

		differsCRIO: "CRI-O joins it too and does not tell what it has loaded",
	},
	{name: "sub-directory of the network's name, its plugin there", arrange: subDirectory("tuning")},
	{ // containerd 2 runs STATUS for it, and tells
		name:    "cniVersion that Debian's plugins do not know",
		only:    []string{"2"},
		arrange: onlyConf("10-pods.conflist", `{"cniVersion": "1.1.0", "name": "pods", "plugins": [PLUGIN]}`),
		want:    want{1, []string{"10-pods.conflist", "1.1.0"}},
	},
	{
		name:    "cniVersion that Debian's plugins do not know",
		only:    []string{"1", "crio"},
		arrange: onlyConf("10-pods.conflist", `{"cniVersion": "1.1.0", "name": "pods", "plugins": [PLUGIN]}`),
		differs: "only running the plugin tells",
	},
}

// onlyConf makes one file the whole configuration. BRIDGE, IPAM and PLUGIN stand for what works.
func onlyConf(name, content string) func(*testing.T, *node) {
	return func(t *testing.T, n *node) {
		remove(t, n.conf("10-pods.conflist"))
		n.writeConf(t, name, fill(content))
	}
}

// oneMore puts a file beside the good one.
func oneMore(name, content string) func(*testing.T, *node) {
	return func(t *testing.T, n *node) {
		n.writeConf(t, name, fill(content))
		n.reload(t)
	}
}

func fill(content string) string {
	ipam := document.JSON(hostLocal())
	return strings.NewReplacer(
		"PLUGIN", `{"type": "bridge", "bridge": "`+run.name+`", "ipam": `+ipam+`}`,
		"BRIDGE", run.name, "IPAM", ipam,
	).Replace(content)
}

// reload writes the good file again: not every change of the directory makes containerd 1 look.
func (n *node) reload(t *testing.T) {
	t.Helper()
	n.writeConf(t, "10-pods.conflist", bridgeConf())
}

// subDirectory puts a plugin where libcni 1.3 looks for more of them.
func subDirectory(plugin string) func(*testing.T, *node) {
	return func(t *testing.T, n *node) {
		n.addPlugins(t, "tuning")
		dir := n.conf(run.name)
		mkdirAll(t, dir)
		writeFile(t, filepath.Join(dir, "50-more.conf"), `{"type": "`+plugin+`"}`)
		n.reload(t)
	}
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}
