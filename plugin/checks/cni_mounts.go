package checks

import (
	"io/fs"
	"path"
	"strings"
	"syscall"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/mount"
)

func readMounts(h *plugin.Host) mount.Table {
	f, err := h.Files.Open(mount.InfoPath)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // read only
	t, err := mount.Parse(f)
	if err != nil {
		return nil
	}
	return t
}

// gone says whether a directory was removed on the node and is still mounted here. One that has a name has not been, and
// then the mounts are not read: on a node with many containers that is the dearest file of all.
func (l looker) gone(dir string, fi fs.FileInfo) bool {
	if fi != nil {
		if st, ok := fi.Sys().(*syscall.Stat_t); ok && st.Nlink > 0 {
			return false
		}
	}
	return l.mounts().Gone(l.real(dir))
}

// hidden says whether a missing path may be there on the node and only not be mounted: true inside a pod for paths on the
// container's own root.
func (l looker) hidden(p string) bool {
	return l.inPod() && l.mounts().Over(p) == "/" && l.mounts().Over(l.real(p)) == "/"
}

// inPod: what a pod mounts of the node are directories of their own, deeper than the mounts that a node itself has (/run,
// /var).
func (l looker) inPod() bool {
	for _, d := range append([]string{l.dir, path.Dir(l.socket)}, l.bins...) {
		if strings.Count(l.mounts().Over(l.real(d)), "/") >= 2 {
			return true
		}
	}
	return false
}

// real follows links as far as they go: mountinfo has /run where a path may say /var/run.
func (l looker) real(p string) string {
	at, todo := "/", strings.Split(strings.Trim(path.Clean(p), "/"), "/")
	for links := 0; len(todo) > 0; {
		at, todo = path.Join(at, todo[0]), todo[1:]
		target, err := l.host.Files.ReadLink(strings.TrimPrefix(at, "/"))
		if err != nil {
			continue
		}
		if links++; links > maxLinks {
			return p
		}
		if path.IsAbs(target) {
			at = "/"
		} else {
			at = path.Dir(at)
		}
		todo = append(strings.Split(strings.Trim(target, "/"), "/"), todo...)
	}
	return at
}

// maxLinks is the kernel's own bound on links in one path.
const maxLinks = 40
