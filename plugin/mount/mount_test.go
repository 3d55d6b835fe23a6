package mount

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// pod is the table of a pod on containerd 2.4 that mounts the node's paths, options shortened.
const pod = `1437 1029 0:129 / / rw,relatime master:3 - overlay overlay rw,lowerdir=/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/12/fs:/x,upperdir=/y
1438 1437 0:131 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw
1445 1437 254:1 /etc/cni/net.d /etc/cni/net.d ro,relatime - ext4 /dev/vda1 rw
1446 1437 254:1 /opt/cni/bin /opt/cni/bin ro,relatime master:1 propagate_from:2 - ext4 /dev/vda1 rw
1447 1437 0:25 /containerd /run/containerd rw,nosuid,nodev shared:12 - tmpfs tmpfs rw,size=403728k,mode=755
1448 1437 254:1 /a\040b /mnt/with\040space\134and\011tab rw - ext4 /dev/vda1 rw
1449 1437 254:1 /srv/run /srv/run//deleted rw - ext4 /dev/vda1 rw

`

func TestOver(t *testing.T) {
	t.Parallel()
	table, err := Parse(strings.NewReader(pod))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/etc/cni/net.d":                   "/etc/cni/net.d",
		"/etc/cni/net.d/":                  "/etc/cni/net.d",
		"/etc/cni/net.d/10-x.conflist":     "/etc/cni/net.d",
		"/etc/cni/net.d.bak/x":             "/",
		"/etc/cni":                         "/",
		"/run/containerd/containerd.sock":  "/run/containerd",
		"/run/flannel/subnet.env":          "/",
		"/proc/self/mountinfo":             "/proc",
		"/mnt/with space\\and\ttab/file":   "/mnt/with space\\and\ttab",
		"/":                                "/",
		"":                                 "/",
		"/opt/cni/bin/deep/er/still/below": "/opt/cni/bin",
	} {
		if got := table.Over(path); got != want {
			t.Errorf("Over(%q) = %q, want %q", path, got, want)
		}
	}
	if got := (Table)(nil).Over("/etc"); got != "/" {
		t.Errorf("without a table: %q", got)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	// Overlay options of an image with many layers are longer than what bufio.Scanner takes by itself.
	long := "1 0 0:1 / / rw - overlay overlay lowerdir=" + strings.Repeat("/layer:", 20_000) + "\n1 0 0:1 / /etc/cni/net.d rw - ext4 x rw\n"
	table, err := Parse(strings.NewReader(long))
	if err != nil || table["/etc/cni/net.d"] != (Mount{Root: "/", Type: "ext4"}) {
		t.Errorf("a line of 140 KiB: %v", err)
	}
	if table, err := Parse(strings.NewReader("")); err != nil || len(table) != 0 {
		t.Errorf("empty: %v, %v", table, err)
	}
	for name, r := range map[string]io.Reader{
		"cut line":  strings.NewReader("1 0 0:1 / / rw - ext4 x rw\n1445 1437 254:1"),
		"garbage":   strings.NewReader("no mounts here\n"),
		"read":      io.MultiReader(strings.NewReader("1 0 0:1 / / rw\n"), iotest.ErrReader(errors.New("input/output error"))),
		"huge line": strings.NewReader(strings.Repeat("x ", 1<<20)),
	} {
		// Half a table would make mounts look missing.
		if table, err := Parse(r); err == nil || table != nil || !strings.HasPrefix(err.Error(), "mountinfo: ") {
			t.Errorf("%s: %d mounts, %v", name, len(table), err)
		}
	}
}

func TestUnescape(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"/plain":          "/plain",
		`/a\040b`:         "/a b",
		`/a\011\012\134b`: "/a\t\n\\b",
		`/hash\043`:       "/hash#",
		`/cut\04`:         `/cut\04`,
		`/no\9zz`:         `/no\9zz`,
		`/big\777`:        `/big\777`,
		`\`:               `\`,
		`/end\134`:        `/end\`,
	} {
		if got := unescape(in); got != want {
			t.Errorf("unescape(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(pod, "/etc/cni/net.d/x")
	f.Add("22 27 0:21 / /proc rw,relatime - proc proc rw\n", "/proc")
	f.Add(`1 2 3 4 \`, "/")
	f.Fuzz(func(t *testing.T, text, path string) {
		table, err := Parse(strings.NewReader(text))
		if err != nil {
			return
		}
		// Paths are absolute: what a CNI file names otherwise is no path of the node.
		got := table.Over("/" + path)
		if _, ok := table[got]; got != "/" && !ok {
			t.Errorf("Over(%q) = %q, which is no mount point", "/"+path, got)
		}
		if table.Strange("/"+path) && got == "/" {
			t.Errorf("Strange(%q), which is no mount point", "/"+path)
		}
		sameTold(t, text)
	})
}
