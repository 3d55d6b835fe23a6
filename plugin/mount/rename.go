package mount

import (
	"bytes"
	"fmt"
	"strings"
)

const (
	// hidden is a path that is none of the node's at any mount point.
	hidden = "/elsewhere"
	// unreadable is what Parse refuses.
	unreadable = "unreadable\n"
)

// Renamed is mountinfo for a stranger's eyes: the mount points without those below the kubelet's directory, and of what is
// mounted there only what [Table] tells. Names of volumes, claims and secrets stand in the rest.
func Renamed(data []byte) []byte {
	t, err := Parse(bytes.NewReader(data))
	if err != nil {
		return []byte(unreadable)
	}
	var b bytes.Buffer
	_ = eachRow(bytes.NewReader(data), func(fields []string) { // it could be read just now
		if point := fields[4]; !strings.Contains(point, "/kubelet/") {
			fmt.Fprintf(&b, "0 0 0:0 %s %s -\n", t.rootFor(unescape(point)), point)
		}
	})
	return b.Bytes()
}

// rootFor is field 4 of a mount point, without a name.
func (t Table) rootFor(point string) string {
	root := "/"
	switch {
	case point == hostsFile && strings.HasSuffix(t[point].Root, hostsOfPod):
		root = hostsOfPod
	case t.Strange(point):
		root = hidden
	}
	if t[point].Deleted {
		root = strings.TrimSuffix(root, "/") + deleted
	}
	return root
}
