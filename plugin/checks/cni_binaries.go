package checks

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"sandbox-checker/plugin/cni"
)

// binary looks for a plugin in every bin dir, as libcni does (invoke.FindInPath), and that root may execute it.
func (l looker) binary(n cni.Need, conf string) *fault {
	dirs := append(l.bins[:len(l.bins):len(l.bins)], n.Dirs...)
	x := &fault{object: conf, cure: cureBinary, absent: true, binary: n.Listed}
	seen := false
	for _, d := range dirs {
		p := path.Join(d, n.Name)
		st, err := l.host.Stat(p)
		if err == nil && st.Mode().IsRegular() {
			if st.Size() == 0 {
				// A copy begins with an empty file.
				x.cause, x.fresh = fmt.Sprintf("%s: %s is empty", n.By, p), ago(l.host.Now, st.ModTime()) < l.settle
				return x
			}
			if st.Mode().Perm()&0o111 != 0 {
				return nil
			}
			x.cause = fmt.Sprintf("%s: %s is not executable", n.By, p)
			return x
		}
		if _, err := l.host.ReadDir(d); err == nil {
			seen = true
		}
	}
	for _, d := range dirs {
		if l.strange(d) {
			x.blind = fmt.Errorf("%s: what is here is not the directory of the node: mount that", d)
			return x
		}
	}
	if !seen {
		x.blind = fmt.Errorf("%s: not there or not mounted", strings.Join(dirs, ", "))
		return x
	}
	if d := l.unseen(dirs); d != "" {
		x.blind = fmt.Errorf("%s: %s is in no directory that is mounted here, and %s is not there or not mounted", n.By, n.Name, d)
		return x
	}
	x.cause = missingBinary(n, dirs)
	return x
}

// unseen is a directory that is not there and may only not be mounted, "" when there is none.
func (l looker) unseen(dirs []string) string {
	for _, d := range dirs {
		if _, err := l.host.Stat(d); errors.Is(err, fs.ErrNotExist) && l.hidden(d) {
			return d
		}
	}
	return ""
}

func missingBinary(n cni.Need, dirs []string) string {
	where := strings.Join(dirs, ", ")
	if strings.HasSuffix(n.By, " "+n.Name) {
		return fmt.Sprintf("%s is not in %s", n.By, where)
	}
	return fmt.Sprintf("%s needs %s, not in %s", n.By, n.Name, where)
}

// strange says whether a directory of plugins, of which one is missing, is not the node's: in a pod nothing is mounted there, or
// something else, and that is empty. On the node itself an empty directory has lost its plugins, wherever it is mounted from.
func (l looker) strange(dir string) bool {
	entries, err := l.host.ReadDir(dir)
	if err != nil || !l.mounts().InPod() {
		return false
	}
	at := l.real(dir)
	return l.mounts().Over(at) == "/" || len(entries) == 0 && l.mounts().Strange(at)
}
