package checks

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/cni"
	"sandbox-checker/plugin/cri"
	"sandbox-checker/plugin/mount"
)

const (
	cureBinary = "reinstall the CNI plugins"
	cureConfig = "check the pod of the CNI plugin on this node, it writes this file"
)

// looker looks at what a configuration needs on the node.
type looker struct {
	host   *plugin.Host
	status cri.Status
	dir    string
	socket string
	bins   []string
	settle time.Duration
	mounts func() mount.Table // reads them when first asked; gives nil when they cannot be read
}

func newLooker(h *plugin.Host, st cri.Status, o plugin.Options) looker {
	l := looker{host: h, status: st, dir: confDir(st, o), bins: binDirs(st, o), settle: o.Settle}
	if h.Runtime != nil {
		l.socket = h.Runtime.Socket()
	}
	l.mounts = sync.OnceValue(func() mount.Table { return readMounts(h) })
	return l
}

// confFile reads one file and looks at everything it needs.
func (l looker) confFile(p string) confFile {
	f := confFile{path: p}
	if st, err := l.host.Stat(p); err == nil {
		f.mod = st.ModTime()
	}
	raw, err := l.host.ReadFile(p)
	if err != nil {
		f.load, f.blind = l.unreadable(p, err), !l.dangling(p, err)
		return f
	}
	if f.net, f.load = cni.Parse(p, raw); f.load != nil {
		return f
	}
	l.chain(&f)
	if len(f.net.Plugins) == 0 {
		f.load = errors.New("names no plugins")
		return f
	}
	f.add = l.faults(f)
	return f
}

// faults are what would fail at each pod although the file loads.
func (l looker) faults(f confFile) []fault {
	var out []fault
	if err := f.net.Validate(); err != nil {
		out = append(out, fault{object: f.path, cause: err.Error(), cure: cureConfig, disproved: errors.Is(err, cni.ErrVersion)})
	}
	if err := f.net.NoAddress(); err != nil && l.status.Flavor == cri.Containerd && !f.net.OnlyLoopback() {
		out = append(out, fault{object: f.path, cause: err.Error(), cure: cureConfig})
	}
	for _, r := range f.net.Refused() {
		x := fault{object: f.path, cause: r.Err.Error(), cure: cureConfig, absent: r.Later}
		if r.Agent != "" {
			x.cure = "check " + r.Agent
		}
		out = append(out, x)
	}
	if l.status.Flavor != cri.CRIO && !l.status.InternalLoopback {
		// containerd and cri-dockerd set up lo with a plugin of their own accord.
		if x := l.need(cni.Need{Kind: cni.Binary, Name: "loopback", By: "the runtime"}, f.path); x != nil {
			out = append(out, *x)
		}
	}
	needs := f.net.Needs()
	for i := 0; i < len(needs) && i < maxNeeds; i++ {
		if x := l.need(needs[i], f.path); x != nil {
			out = append(out, *x)
			continue
		}
		needs = append(needs, l.further(needs[i])...)
	}
	return out
}

// maxNeeds bounds files that name files.
const maxNeeds = 200

// further lists what a needed file needs in turn.
func (l looker) further(n cni.Need) []cni.Need {
	if n.Kind != cni.NetworkFile && n.Kind != cni.WhereaboutsConf {
		return nil
	}
	for _, p := range append([]string{n.Name}, n.Or...) {
		if entries, err := l.host.ReadDir(p); err == nil && len(entries) > 0 {
			p = path.Join(p, entries[0].Name())
		}
		if raw, err := l.host.ReadFile(p); err == nil {
			n.Name = p
			return n.Further(raw)
		}
	}
	return nil
}

// chain adds the plugins of the sub-directory that has the network's name (libcni 1.3, CNI spec 1.1). Whether the runtime
// does so depends on its libcni: only those count that it says it has loaded. CRI-O does not say; there they count when its
// network is down.
func (l looker) chain(f *confFile) {
	if path.Ext(f.path) != ".conflist" || f.net.InlinedOnly || f.net.Name == "" || strings.Contains(f.net.Name, "/") {
		return
	}
	sub := path.Join(path.Dir(f.path), f.net.Name)
	entries, err := l.host.ReadDir(sub)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.IsDir() || path.Ext(e.Name()) != ".conf" {
			continue
		}
		raw, err := l.host.ReadFile(path.Join(sub, e.Name()))
		if err != nil {
			continue // the runtime's own word on it is in lastCNILoadStatus
		}
		one, err := cni.Parse(e.Name(), raw)
		if err != nil {
			continue
		}
		loaded := slices.Contains(l.status.Loaded, one.Plugins[0].Type) ||
			(l.status.Flavor == cri.CRIO && l.status.Network.Present && !l.status.Network.OK)
		if loaded {
			f.net.Plugins = append(f.net.Plugins, one.Plugins...)
		}
	}
}

func (l looker) unreadable(p string, err error) error {
	if l.dangling(p, err) {
		target, _ := l.host.Files.ReadLink(strings.TrimPrefix(p, "/")) // it is a link: dangling says so
		return fmt.Errorf("dangling link to %s", target)
	}
	return fmt.Errorf("unreadable: %w", causeOf(err))
}

func (l looker) dangling(p string, err error) bool {
	_, lerr := l.host.Files.ReadLink(strings.TrimPrefix(p, "/"))
	return lerr == nil && errors.Is(err, fs.ErrNotExist)
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
	for _, other := range n.Or {
		if _, err := l.host.Stat(other); err == nil {
			return nil
		}
	}
	wants := fmt.Sprintf("%s of %s needs it", n.By, path.Base(conf))
	st, err := l.host.Stat(n.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && l.hidden(n.Name):
		x.blind = fmt.Errorf("%s: not mounted, %s", n.Name, wants)
		return x
	case errors.Is(err, fs.ErrNotExist):
		x.cause, x.absent, x.fresh = "missing, "+wants, true, l.parentChanged(n.Name)
		return x
	case errors.Is(err, syscall.ELOOP) || (err != nil && strings.Contains(err.Error(), syscall.ELOOP.Error())):
		x.cause = "links to itself, " + wants
		return x
	case err != nil:
		x.blind = err
		return x
	}
	if problem := l.content(n, st); problem != nil {
		x.cause = problem.Error() + ", " + wants
		if n.Kind == cni.Socket {
			x.absent, x.fresh = true, l.parentChanged(n.Name)
		}
		return x
	}
	return nil
}

// parentChanged says whether the directory of a path has just changed: an agent that restarts removes its socket and makes
// it again. An agent that crashes and restarts for good waits longer than that in between.
func (l looker) parentChanged(p string) bool {
	st, err := l.host.Stat(path.Dir(p))
	return err == nil && ago(l.host.Now, st.ModTime()) < l.settle
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
	case cni.Kubeconfig:
		return l.kubeconfig(n.Name)
	case cni.File:
		if st.IsDir() {
			return errors.New("a directory")
		}
	case cni.Binary, cni.NetworkFile, cni.WhereaboutsConf:
	}
	return nil
}

// kubeconfig reads one and what it names for its credential. A credential file that is not there for us proves nothing:
// it may not be mounted.
func (l looker) kubeconfig(p string) error {
	raw, err := l.host.ReadFile(p)
	if err != nil {
		return causeOf(err)
	}
	cred, err := cni.CheckKubeconfig(raw, l.host.Now)
	if err != nil {
		return err
	}
	if raw, err := l.host.ReadFile(beside(p, cred.TokenFile)); err == nil && cred.TokenFile != "" {
		return cni.CheckToken(string(raw), l.host.Now)
	}
	if raw, err := l.host.ReadFile(beside(p, cred.CertFile)); err == nil && cred.CertFile != "" {
		return cni.CheckCert(raw, l.host.Now)
	}
	return nil
}

// beside resolves a path in a kubeconfig: relative ones are below the kubeconfig's own directory.
func beside(kubeconfig, p string) string {
	if path.IsAbs(p) {
		return p
	}
	return path.Join(path.Dir(kubeconfig), p)
}
