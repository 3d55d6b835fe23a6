package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// binaryCases are about the plugins' programs.
var binaryCases = []agreementCase{
	{
		name: "chain of portmap, bandwidth and tuning",
		arrange: func(t *testing.T, n *node) {
			n.addPlugins(t, "portmap", "bandwidth", "tuning")
			n.writeConf(t, "10-pods.conflist", chain("portmap", "bandwidth", "tuning"))
		},
		differsCRIO: "CRI-O asks each plugin to CHECK, and Debian's bandwidth panics",
	},
	{
		name: "chain of portmap and tuning",
		arrange: func(t *testing.T, n *node) {
			n.addPlugins(t, "portmap", "tuning")
			n.writeConf(t, "10-pods.conflist", chain("portmap", "tuning"))
		},
	},
	{
		name: "chained portmap missing",
		arrange: func(t *testing.T, n *node) {
			n.writeConf(t, "10-pods.conflist", chain("portmap"))
		},
		want: want{1, []string{"10-pods.conflist", "portmap"}},
	},
	{
		name: "chained bandwidth missing",
		arrange: func(t *testing.T, n *node) {
			n.addPlugins(t, "portmap")
			n.writeConf(t, "10-pods.conflist", chain("portmap", "bandwidth"))
		},
		want: want{1, []string{"10-pods.conflist", "bandwidth"}},
	},
	{
		name: "binary not executable",
		arrange: func(t *testing.T, n *node) {
			if err := os.Chmod(n.plugin("bridge"), 0o644); err != nil {
				t.Fatal(err)
			}
		},
		want: want{1, []string{"bridge", "not executable"}},
	},
	{
		name: "binary executable for its owner alone",
		arrange: func(t *testing.T, n *node) {
			if err := os.Chmod(n.plugin("bridge"), 0o100); err != nil {
				t.Fatal(err)
			}
		},
	},
	{
		name: "binary a dangling link",
		arrange: func(t *testing.T, n *node) {
			remove(t, n.plugin("bridge"))
			link(t, "/nowhere/bridge", n.plugin("bridge"))
		},
		want: want{1, []string{"bridge", "not in"}},
	},
	{
		name: "binary a link to a good one",
		arrange: func(t *testing.T, n *node) {
			remove(t, n.plugin("bridge"))
			link(t, filepath.Join(cniPlugins, "bridge"), n.plugin("bridge"))
		},
	},
	{
		name: "binary a directory",
		arrange: func(t *testing.T, n *node) {
			remove(t, n.plugin("bridge"))
			mkdirAll(t, n.plugin("bridge"))
		},
		want: want{1, []string{"bridge"}},
	},
	{
		name: "plugin a script",
		arrange: func(t *testing.T, n *node) {
			script := "#!/bin/sh\nexec " + filepath.Join(cniPlugins, "bridge") + "\n"
			if err := os.WriteFile(n.plugin("scripted"), []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			n.writeConf(t, "10-pods.conflist", conflist(map[string]any{"type": "scripted", "bridge": run.name, "ipam": hostLocal()}))
		},
	},
	{
		name: "plugin in the second bin directory",
		only: withTwoBinDirs,
		arrange: func(t *testing.T, n *node) {
			mkdirAll(t, n.secondBinDir())
			if err := os.Rename(n.plugin("bridge"), filepath.Join(n.secondBinDir(), "bridge")); err != nil {
				t.Fatal(err)
			}
		},
	},
	{
		name: "good plugin hidden by one in the first bin directory that is not executable",
		only: withTwoBinDirs,
		arrange: func(t *testing.T, n *node) {
			mkdirAll(t, n.secondBinDir())
			link(t, filepath.Join(cniPlugins, "bridge"), filepath.Join(n.secondBinDir(), "bridge"))
			if err := os.Chmod(n.plugin("bridge"), 0o644); err != nil {
				t.Fatal(err)
			}
		},
		want: want{1, []string{"bridge", "not executable"}},
	},
	{
		name:    "bin directory gone",
		arrange: func(t *testing.T, n *node) { remove(t, n.binDir) },
		want:    want{2, []string{"/bin"}},
		differs: "it may only not be mounted",
	},
}

// withTwoBinDirs are the flavours that can have more than one.
var withTwoBinDirs = []string{containerd2.name, crio.name}

// chain is the good network with more plugins behind it, none of which has anything to do for our pods.
func chain(more ...string) string {
	plugins := []map[string]any{{"type": "bridge", "bridge": run.name, "ipam": hostLocal()}}
	for _, typ := range more {
		plugins = append(plugins, map[string]any{"type": typ, "capabilities": map[string]any{"portMappings": typ == "portmap"}})
	}
	return conflist(plugins...)
}
