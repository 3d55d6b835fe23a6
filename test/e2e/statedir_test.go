package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// TestStateDirectory: whatever is wrong with the state directory costs history, never the verdict, and says nothing.
func TestStateDirectory(t *testing.T) {
	useKubepods(t)
	n := newNode(t, containerd1, "state")
	p := n.kubePod("dies")
	n.likeKubelet(t, p, 0)
	for range 5 {
		n.killPause(t, n.run(t, p))
		p.attempt++
	}
	n.run(t, p)
	dir := filepath.Join(n.dir, "state-dir")
	faults := []struct {
		name string
		make func(t *testing.T)
		more string // done in the mounts of the run alone
	}{
		{"missing", func(*testing.T) {}, ""},
		{"a file in its place", func(t *testing.T) { writeFile(t, dir, "no directory") }, ""},
		{"read-only", func(t *testing.T) { mkdirAll(t, dir) }, "mount --bind " + dir + " " + dir + "\nmount -o remount,ro,bind " + dir + "\n"},
		{"full", func(t *testing.T) { mkdirAll(t, dir) }, "mount -t tmpfs -o size=4k none " + dir + "\ndd if=/dev/zero of=" + dir + "/fill bs=4k count=4 2>/dev/null || true\n"},
		{"truncated", func(t *testing.T) {
			mkdirAll(t, dir)
			writeFile(t, filepath.Join(dir, "state.json"), `{"version": 1, "boot_id": "`)
		}, ""},
		{"of another boot", func(t *testing.T) {
			mkdirAll(t, dir)
			writeFile(t, filepath.Join(dir, "state.json"), `{"version": 1, "boot_id": "00000000-0000-0000-0000-000000000000", "seen": {}}`)
		}, ""},
	}
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			f.make(t)
			args := append([]string{"check", "sandbox-crashloop", "--min-pods", "1"}, n.loopFlags(dir)...)
			judge(t, want{1, []string{"default/" + p.name}}, "sandbox-crashloop", askInView(t, f.more, args...))
		})
	}
}
