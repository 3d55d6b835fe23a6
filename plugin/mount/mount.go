// Package mount tells which paths of the node a process can see. Inside a pod only what is mounted is the node's; the rest
// is the container's own file system, where a file that is missing says nothing about the node.
//
// The file it reads, /proc/self/mountinfo (proc_pid_mountinfo(5)):
//
//	1437 1029 0:129 / / rw,relatime master:3 - overlay overlay rw,lowerdir=/var/lib/...
//	1445 1437 254:1 /etc/cni/net.d /etc/cni/net.d ro,relatime - ext4 /dev/vda1 rw
//
// Field 4 is what is mounted of its file system, with "//deleted" behind it when that is gone. Field 5 is the mount point; space,
// tab, newline and backslash in them are written as \040 and so on. Behind the hyphen stands the type of the file system.
package mount

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
)

// InfoPath is the file, named as [io/fs.FS] names it.
const InfoPath = "proc/self/mountinfo"

// Table holds what is mounted at each mount point, absolute and without a final slash.
type Table map[string]Mount

// deleted stands behind what is mounted and gone.
const deleted = "//deleted"

// The kubelet mounts a file of this name over the hosts of every pod.
const (
	hostsFile  = "/etc/hosts"
	hostsOfPod = "/etc-hosts"
)

// Mount is what is mounted somewhere.
type Mount struct {
	// Root is the directory of its file system that is mounted, Type the file system's type, "" where it is not told.
	Root, Type string
	// Deleted: a directory that was removed and made again on the node stays the old one in a pod.
	Deleted bool
}

// Parse reads mountinfo. Lines that are too short are an error: half a table would make mounts look missing.
func Parse(r io.Reader) (Table, error) {
	t := Table{}
	err := eachRow(r, func(fields []string) {
		root, gone := strings.CutSuffix(fields[3], deleted)
		m := Mount{Root: unescape(root), Deleted: gone}
		if i := slices.Index(fields, "-"); i > 0 && i+1 < len(fields) {
			m.Type = fields[i+1]
		}
		t[unescape(fields[4])] = m
	})
	if err != nil {
		return nil, fmt.Errorf("mountinfo: %w", err)
	}
	return t, nil
}

// eachRow hands over the fields of each line, five at least.
func eachRow(r io.Reader, row func(fields []string)) error {
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 1<<20) // overlay options grow with the number of image layers
	for sc.Scan() {
		if sc.Text() == "" {
			continue
		}
		// The kernel escapes the four separators and leaves other white space, as a no-break space, in the names.
		fields := strings.Split(sc.Text(), " ")
		if len(fields) < 5 {
			return fmt.Errorf("no mount point in %q", sc.Text())
		}
		row(fields)
	}
	return sc.Err()
}

// Over returns the mount point that a path lies on, "/" when there is no closer one.
func (t Table) Over(of string) string {
	for p := strings.TrimRight(of, "/"); p != ""; p = p[:max(0, strings.LastIndexByte(p, '/'))] {
		if _, ok := t[p]; ok {
			return p
		}
	}
	return "/"
}

// Gone says whether what is mounted over a path was removed on the node meanwhile.
func (t Table) Gone(at string) bool {
	return t[t.Over(at)].Deleted
}

// InPod says whether this is a container of the kubelet's: it mounts two files of its own into each.
func (t Table) InPod() bool {
	_, message := t["/dev/termination-log"]
	return message || strings.HasSuffix(t[hostsFile].Root, hostsOfPod)
}

// volumes is in the path of every volume of a pod that is not a path of the node.
const volumes = "/volumes/kubernetes.io~"

// Strange says whether a path is a mount point at which, inside a pod, something else seems to be mounted than the node has
// there: a volume of the pod's own, or a directory of another name. What a path of the node is mounted from ends as the path
// does, or is a whole file system of the node.
func (t Table) Strange(at string) bool {
	m, ok := t[strings.TrimRight(at, "/")]
	switch {
	case !ok || !t.InPod():
		return false
	case m.Root == "/":
		return m.Type == "tmpfs"
	}
	return strings.Contains(m.Root, volumes) || path.Base(m.Root) != path.Base(at)
}

func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
