package mount

import (
	"strings"
	"testing"
)

// Paths come from CNI files, and one there may be relative.
func TestOverRelative(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"calico-kubeconfig", "etc/cni/net.d", "./x", "../x"} {
		if got := (Table{"/etc": {Root: "/etc"}}).Over(path); got != "/" {
			t.Errorf("Over(%q) = %q", path, got)
		}
	}
}

// The kernel escapes space, tab, line feed and backslash, and no other white space.
func TestParseOddSpace(t *testing.T) {
	t.Parallel()
	table, err := Parse(strings.NewReader("1 0 0:1 /a\u00a0b /etc/cni/net.d rw - ext4 x rw\n1 0 0:1 / /mnt/a\u00a0b rw - ext4 x rw\n"))
	if err != nil || table["/etc/cni/net.d"].Root != "/a\u00a0b" || table["/mnt/a\u00a0b"].Root != "/" {
		t.Errorf("%v, %v", table, err)
	}
}
