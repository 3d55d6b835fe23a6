package capture

import (
	"os"
	"syscall"
	"testing"

	"sandbox-checker/plugin"
)

// newHardNode has what is rare on a node: links above the root and through other directories, and a disk with a bad block.
func newHardNode(t *testing.T) rooted {
	t.Helper()
	n := newNode(t)
	for link, target := range map[string]string{
		"/etc/cni/net.d/59-above.conf":  "../../../../../../srv/real.conf",
		"/etc/cni/net.d/60-detour.conf": "../../../opt/cni/../../srv/real.conf",
	} {
		if err := os.Symlink(target, n.dir+link); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(n.dir+"/srv/torn.conf", []byte("{\"type\": \"x\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	n.torn["/srv/torn.conf"] = syscall.EIO
	return n
}

var hardPaths = append([]string{"/etc/cni/net.d/59-above.conf", "/etc/cni/net.d/60-detour.conf", "/srv/torn.conf",
	"/opt/cni/bin/bridge/below-a-file", "/var/run/a/live.sock/below-a-socket"}, recordedPaths...)

func TestRecorderHardPaths(t *testing.T) {
	t.Parallel()
	n := newHardNode(t)
	for _, l := range looks(hardPaths) {
		t.Run(l.String(), func(t *testing.T) {
			var want string
			h, text := replayOf(t, n, func(h *plugin.Host) { want = l.do(h, l.path) })
			if got := l.do(h, l.path); got != want {
				t.Errorf("replayed as %s\nwas %s\n%s", got, want, text)
			}
		})
	}
}

// Whatever is done to a path, none of it may spoil another look at it: listing a file, connecting to a directory.
func TestRecorderSenselessLooks(t *testing.T) {
	t.Parallel()
	replaysAll(t, newHardNode(t), looks(hardPaths))
}
