package checks

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/cni"
	"sandbox-checker/plugin/cri"
	"sandbox-checker/plugin/mount"
)

const (
	cureBinary = "reinstall the CNI plugins"
	cureConfig = "look at the CNI plugin's pod of this node, it writes this file"
)

// looker looks at what a configuration needs on the node.
type looker struct {
	host   *plugin.Host
	bins   []string
	mounts mount.Table // nil when they cannot be read
}

func newLooker(h *plugin.Host, bins []string) looker {
	l := looker{host: h, bins: bins}
	if f, err := h.Files.Open(mount.InfoPath); err == nil {
		defer func() { _ = f.Close() }() // read only
		if t, err := mount.Parse(f); err == nil {
			l.mounts = t
		}
	}
	return l
}

// confFile reads one file and looks at everything it needs.
func (l looker) confFile(p string, flavor cri.Flavor) confFile {
	f := confFile{path: p}
	if st, err := l.host.Stat(p); err == nil {
		f.mod = st.ModTime()
	}
	raw, err := l.host.ReadFile(p)
	if err != nil {
		f.load = l.unreadable(p, err)
		return f
	}
	if f.net, f.load = cni.Parse(p, raw); f.load != nil {
		return f
	}
	if len(f.net.Plugins) == 0 {
		f.load = errors.New("names no plugins")
		return f
	}
	if err := f.net.Validate(flavor != cri.Containerd && path.Ext(p) != ".conflist"); err != nil {
		f.add = append(f.add, fault{object: p, cause: err.Error(), cure: cureConfig})
	}
	for _, n := range f.net.Needs() {
		if x := l.need(n, p); x != nil {
			f.add = append(f.add, *x)
		}
	}
	return f
}

func (l looker) unreadable(p string, err error) error {
	if target, lerr := l.host.Files.ReadLink(strings.TrimPrefix(p, "/")); lerr == nil && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("dangling link to %s", target)
	}
	return fmt.Errorf("unreadable: %w", causeOf(err))
}

// causeOf drops the path that a host error begins with; the line has it already.
func causeOf(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}

// need returns what is wrong with n, nil when it is met. conf is the file that asks for it.
func (l looker) need(n cni.Need, conf string) *fault {
	if n.Kind == cni.Binary {
		return l.binary(n, conf)
	}
	x := &fault{object: n.Name, cure: "check the CNI plugin of this node"}
	if n.Agent != "" {
		x.cure = "check " + n.Agent
	}
	wants := fmt.Sprintf("%s of %s needs it", n.By, path.Base(conf))
	st, err := l.host.Stat(n.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && l.hidden(n.Name):
		x.blind = fmt.Errorf("%s: not mounted, %s", n.Name, wants)
		return x
	case errors.Is(err, fs.ErrNotExist):
		x.cause, x.absent = "missing, "+wants, true
		return x
	case err != nil:
		x.blind = err
		return x
	}
	if problem := l.content(n, st); problem != nil {
		x.cause = problem.Error() + ", " + wants
		x.absent = n.Kind == cni.Socket
		return x
	}
	return nil
}

// content looks into what is there.
func (l looker) content(n cni.Need, st fs.FileInfo) error {
	switch n.Kind {
	case cni.Socket:
		if st.Mode().Type() != fs.ModeSocket {
			return errors.New("not a socket")
		}
		if err := l.host.Accepts(n.Name); err != nil {
			return fmt.Errorf("does not accept (%w)", err)
		}
	case cni.SubnetEnv:
		raw, err := l.host.ReadFile(n.Name)
		if err != nil {
			return causeOf(err)
		}
		return cni.CheckSubnetEnv(raw)
	case cni.File, cni.Kubeconfig:
		if st.IsDir() {
			return errors.New("a directory")
		}
	case cni.Binary:
	}
	return nil
}

// binary looks for a plugin in every bin dir, as libcni does (invoke.FindInPath), and that root may execute it.
func (l looker) binary(n cni.Need, conf string) *fault {
	dirs := append(l.bins[:len(l.bins):len(l.bins)], n.Dirs...)
	x := &fault{object: conf, cure: cureBinary, absent: true, binary: true}
	seen := false
	for _, d := range dirs {
		p := path.Join(d, n.Name)
		st, err := l.host.Stat(p)
		if err == nil && st.Mode().IsRegular() {
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
	if !seen {
		x.blind = fmt.Errorf("%s: not there or not mounted", strings.Join(dirs, ", "))
		return x
	}
	x.cause = missingBinary(n, dirs)
	return x
}

func missingBinary(n cni.Need, dirs []string) string {
	where := strings.Join(dirs, ", ")
	if strings.HasSuffix(n.By, " "+n.Name) {
		return fmt.Sprintf("%s is not in %s", n.By, where)
	}
	return fmt.Sprintf("%s needs %s, not in %s", strings.TrimSuffix(n.By, ","), n.Name, where)
}

// hidden says whether a missing path may be there on the node and only not be mounted: true inside a pod for paths on the
// container's own root.
func (l looker) hidden(p string) bool {
	if l.mounts == nil || l.mounts.Over(p) != "/" {
		return false
	}
	// Inside a pod the bin dir is a mount; on the node itself it is as a rule not.
	for _, d := range l.bins {
		if l.mounts.Over(d) != "/" {
			return true
		}
	}
	return false
}
