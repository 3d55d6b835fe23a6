package e2e

import (
	"os"
	"testing"
	"time"

	"sandbox-checker/test/e2e/internal/document"
)

// A networkChange is what happens to the pod network of a CRI-O that is up and ready.
type networkChange struct {
	name string
	make func(t *testing.T, n *node)
	want want
	// differs is why the check and CRI-O do not agree.
	differs string
}

// networkChanges are made one after the other on one node. CRI-O looks at its configuration when a file comes or changes,
// when the file that it has loaded goes, and when a program comes. A program that goes it does not see.
var networkChanges = []networkChange{
	{name: "file removed", make: func(t *testing.T, n *node) { n.emptyConfDir(t) }, want: noFile},
	{name: "file back", make: goodFile},
	{name: "file renamed", make: func(t *testing.T, n *node) { rename(t, n.conf(podsFile), n.conf(podsFile+".bak")) }, want: noFile},
	{name: "file renamed back", make: func(t *testing.T, n *node) { rename(t, n.conf(podsFile+".bak"), n.conf(podsFile)) }},
	{name: "file made invalid in place", make: func(t *testing.T, n *node) { writeFile(t, n.conf(podsFile), "{") },
		want: want{1, []string{podsFile, "JSON"}}},
	{name: "file mended in place", make: func(t *testing.T, n *node) { writeFile(t, n.conf(podsFile), bridgeConf()) }},
	{name: "program removed", make: func(t *testing.T, n *node) { remove(t, n.plugin("bridge")) }, want: noBridge},
	{name: "program back", make: bridgeProgram},
	{name: "file written without its program", make: withoutBridge, want: noBridge},
	{name: "its program comes", make: bridgeProgram},
	{name: "second file", make: secondFile},
	{name: "the first file's program removed", make: func(t *testing.T, n *node) { remove(t, n.plugin("bridge")) },
		differs: "CRI-O keeps the first file until it looks again, and does not tell which it has loaded"},
	{name: "another program comes", make: func(t *testing.T, n *node) { n.addPlugins(t, "tuning") }},
	{name: "one file again", make: func(t *testing.T, n *node) {
		bridgeProgram(t, n)
		remove(t, n.conf("20-late.conflist"))
	}},
	{name: "program directory made again", make: func(t *testing.T, n *node) { n.copyPlugins(t) }},
	{name: "file written without its program, directory made again", make: withoutBridge, want: noBridge},
	{name: "its program comes to a directory that nobody watches", make: bridgeProgram,
		differs: "CRI-O watches the directory that was removed, and does not tell what it has loaded"},
	{name: "file written", make: goodFile},
	{name: "directory removed", make: func(t *testing.T, n *node) { remove(t, n.confDir) }, want: want{2, []string{"net.d", "not there"}},
		differs: "it may only not be mounted"},
	{name: "directory made again", make: func(t *testing.T, n *node) { mkdirAll(t, n.confDir) }, want: noFile},
	{name: "file in the new directory", make: func(t *testing.T, n *node) {
		time.Sleep(settled) // so that CRI-O has looked before it comes
		goodFile(t, n)
	}, want: want{1, []string{podsFile, "watches the directory", "restart"}}},
	{name: "CRI-O restarted", make: func(t *testing.T, n *node) {
		n.restart(t)
		n.waitReady(t)
	}},
}

const podsFile = "10-pods.conflist"

var (
	noFile   = want{1, []string{"net.d", "no CNI configuration file"}}
	noBridge = want{1, []string{podsFile, "bridge", "not in"}}
)

// TestCRIOLosesItsNetwork: once CRI-O has said NetworkReady it says so for ever, whatever a new pod would meet.
func TestCRIOLosesItsNetwork(t *testing.T) {
	t.Parallel()
	n := newNode(t, crio, "lost")
	n.waitReady(t)
	var table []outcome
	for _, c := range networkChanges {
		t.Run(c.name, func(t *testing.T) {
			c.make(t, n)
			time.Sleep(seen)
			if !n.networkReady(t) {
				t.Error("NetworkReady is false: this case is about true")
			}
			table = append(table, n.askBoth(t, c.name, c.want, c.differs))
		})
	}
	logTable(t, table)
}

func goodFile(t *testing.T, n *node)      { n.writeConf(t, podsFile, bridgeConf()) }
func bridgeProgram(t *testing.T, n *node) { n.addPlugins(t, "bridge") }

// withoutBridge makes CRI-O look at the file while its program is not there.
func withoutBridge(t *testing.T, n *node) {
	remove(t, n.plugin("bridge"))
	goodFile(t, n)
}

func secondFile(t *testing.T, n *node) {
	n.addPlugins(t, "ptp")
	n.writeConf(t, "20-late.conflist", document.JSON(map[string]any{"cniVersion": "0.4.0", "name": "late",
		"plugins": []any{map[string]any{"type": "ptp", "ipam": hostLocal()}}}))
}

func rename(t testing.TB, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}
