// Package mount tells which paths of the node a process can see. Inside a pod only what is mounted is the node's; the rest
// is the container's own file system, where a file that is missing says nothing about the node.
//
// The file it reads, /proc/self/mountinfo (proc_pid_mountinfo(5)):
//
//	1437 1029 0:129 / / rw,relatime master:3 - overlay overlay rw,lowerdir=/var/lib/...
//	1445 1437 254:1 /etc/cni/net.d /etc/cni/net.d ro,relatime - ext4 /dev/vda1 rw
//
// Field 4 is what is mounted, with "//deleted" behind it when that is gone. Field 5 is the mount point; space, tab, newline and backslash in it are written as \040 and so on.
package mount

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// InfoPath is the file, named as [io/fs.FS] names it.
const InfoPath = "proc/self/mountinfo"

// Table says of each mount point, absolute and without a final slash, whether what is mounted there still exists: a
// directory that was removed and made again on the node stays the old one in a pod.
type Table map[string]bool

// Parse reads mountinfo. Lines that are too short are an error: half a table would make mounts look missing.
func Parse(r io.Reader) (Table, error) {
	t := Table{}
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 1<<20) // overlay options grow with the number of image layers
	for sc.Scan() {
		if sc.Text() == "" {
			continue
		}
		// The kernel escapes the four separators and leaves other white space, as a no-break space, in the names.
		fields := strings.Split(sc.Text(), " ")
		if len(fields) < 5 {
			return nil, fmt.Errorf("mountinfo: no mount point in %q", sc.Text())
		}
		t[unescape(fields[4])] = !strings.HasSuffix(fields[3], "//deleted")
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("mountinfo: %w", err)
	}
	return t, nil
}

// Over returns the mount point that path lies on, "/" when there is no closer one.
func (t Table) Over(path string) string {
	for p := strings.TrimRight(path, "/"); p != ""; p = p[:max(0, strings.LastIndexByte(p, '/'))] {
		if _, ok := t[p]; ok {
			return p
		}
	}
	return "/"
}

// Gone says whether what is mounted over path was removed on the node meanwhile.
func (t Table) Gone(path string) bool {
	exists, ok := t[t.Over(path)]
	return ok && !exists
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
