package checks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/boot"
	"sandbox-checker/plugin/cni"
	"sandbox-checker/plugin/cri"
)

// CNIConfig asks whether a new pod would get its network.
var CNIConfig = plugin.Check{
	Name:          CNIConfigName,
	Condition:     "CNIConfigProblem",
	Reason:        "PodNetworkSetupWouldFail",
	HealthyReason: "NoCNIConfigProblem",
	Title:         "CNI files, plugins and agents without which every new pod's network fails",
	Help: plugin.Doc{
		Short: plugin.Short{
			Reads: "CRI status, CNI files, plugin binaries, agent sockets",
			Says:  "a new pod would not get its network, and why",
			Cure:  "look at the CNI plugin's own pod on the node; if it stays, taint the node, then replace it",
		},
		Without: plugin.Without{
			KernelLog: "works",
			Pods:      "works",
			CNI:       "exit 2",
			History:   "works",
			Runtime:   "exit 2",
		},
		Reads: []string{
			"CRI: Status (verbose), for NetworkReady and the CNI directories; CRI-O: GET /config on its socket",
			"the CNI configuration directory and the file in it that the runtime loads",
			"the bin directories: whether each plugin is there and executable (nothing is executed)",
			"files and sockets that the plugins need, such as /run/flannel/subnet.env; sockets are connected to and closed",
			"/var/lib/cni: the addresses that host-local has reserved",
			"/proc/uptime, /proc/stat, /proc/self/mountinfo (what of the node is mounted)",
		},
		Says: []string{
			"no configuration file, only a loopback, or the file that counts is unreadable or invalid",
			"a plugin's binary is missing or not executable, also one that the file does not name",
			"a file or socket that a plugin needs is missing or broken",
			"an address pool of host-local is used up, most of it by sandboxes that are gone",
			"the files are well but the runtime has missed them: it lost its directory watch (CRI-O: the directory was made anew)",
			"the plugin itself says no (CNI STATUS)",
		},
		Silent: []string{
			"files that do not count: later ones, other extensions, sub-directories",
			"keys it does not know, also misspelt ones; plugins it does not know need their binary and nothing else",
			"network interfaces, routes and firewalls: they are not looked at",
			"within --boot-grace of the boot or of the directory's last change, what is not there yet is starting (exit 2)",
			"a file that cannot be loaded and was written less than 10 seconds ago may be half written: starting (exit 2)",
			"a directory that is not mounted into the pod, or an empty volume in its place, is exit 2, never a fault",
			"whether a plugin knows the configuration's cniVersion cannot be told without running it",
		},
		Cure: []string{
			"look at the CNI plugin's own pod on this node: it writes the file, the binary or the socket that is named",
			"restart the runtime when it lost its directory watch",
			"if the node stays without its network, taint it, then replace it",
		},
		Knows: cni.Known,
		Needs: []string{
			"the runtime's socket (mount its directory), uid 0",
			"at the same paths as on the node, read-only: the configuration directory, the bin directory, and where they exist /run/flannel, /var/lib/calico, /var/lib/cni and the directory of the agent's socket",
		},
		Acts: []string{
			"node-readiness-controller, when a rule names CNIConfigProblem: taints the node, so that new pods go elsewhere",
			"NodeHealthCheck or MachineHealthCheck, when they name it: replace the node after their own waiting time",
			"scheduler, cluster-autoscaler and Karpenter do not read it: they act on the taint",
		},
	},
	Run: runCNIConfig,
}

// cniView is what cni-config judges.
type cniView struct {
	clock  boot.Clock
	status cri.Status
	dir    string
	bins   []string
	dirErr error
	dirMod time.Time
	// dirBorn is when the directory was made, runtimeStarted when the runtime was; zero when not known.
	dirBorn, runtimeStarted time.Time
	// proven: a pod got its network since the directory was made, so the runtime sees what is in it.
	proven bool
	// files are the configuration files in the runtime's order, up to the last one that it would load.
	files []confFile
	// passed are files that we cannot load while the runtime says that it has loaded its network.
	passed []confFile
}

// confFile is one configuration file and all that is wrong with it.
type confFile struct {
	path string
	mod  time.Time
	net  cni.Network
	// load is why the runtime cannot load it; add is what would fail at each pod although it loads.
	load error
	add  []fault
	// blind: load says why we cannot read the file; the runtime may.
	blind bool
}

// fault is one thing that would make every ADD fail.
type fault struct {
	object, cause, cure string
	// absent: it may still come, so it is no fault on a node that is starting.
	absent bool
	// binary: a plugin's program is missing, which CRI-O already notices at load.
	binary bool
	// disproved: a pod that got its network since the file was written shows that it is no fault.
	disproved bool
	// fresh: its surroundings have just changed, so it may come in a moment.
	fresh bool
	// evidence beside what every finding has.
	evidence []plugin.Evidence
	// blind: it cannot be seen from here and so is no fault at all.
	blind error
}

// lacksBinary says whether CRI-O and cri-dockerd pass this file over because a program is missing.
func (f confFile) lacksBinary() bool {
	return slices.ContainsFunc(f.add, func(x fault) bool { return x.binary })
}

func runCNIConfig(ctx context.Context, h *plugin.Host, o plugin.Options) (plugin.Result, error) {
	r := plugin.Result{}
	rt, err := h.CRI()
	if err != nil {
		return r, withGoneDir(err, h, o)
	}
	st, err := rt.Status(ctx)
	if err != nil {
		return r, withGoneDir(err, h, o)
	}
	if !st.Runtime.Present && !st.Network.Present {
		return r, fmt.Errorf("status at %s: neither RuntimeReady nor NetworkReady is in it", rt.Socket())
	}
	v, err := gatherCNI(h, st, o)
	if err != nil {
		return r, err
	}
	if err := addPools(ctx, h, rt, &v); err != nil {
		return r, err
	}
	dropDisproved(ctx, rt, &v)
	return judgeCNI(v, o)
}

// withGoneDir adds to a runtime that does not listen that its CNI directory is gone: containerd 2 exits when the directory
// is removed.
func withGoneDir(err error, h *plugin.Host, o plugin.Options) error {
	if !strings.Contains(err.Error(), syscall.ECONNREFUSED.Error()) && !errors.Is(err, cri.ErrNoSocket) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	dir := confDir(cri.Status{}, o)
	if _, statErr := h.Stat(dir); !errors.Is(statErr, fs.ErrNotExist) {
		return err
	}
	return fmt.Errorf("%w; %s is missing: if this is containerd 2, it is gone with its CNI directory and stopped", err, dir)
}

func confDir(st cri.Status, o plugin.Options) string {
	for _, d := range []string{st.ConfDir, o.CNIConfDir} {
		if d != "" {
			return path.Clean(d)
		}
	}
	return "/etc/cni/net.d"
}

func binDirs(st cri.Status, o plugin.Options) []string {
	for _, ds := range [][]string{st.BinDirs, o.CNIBinDirs} {
		if len(ds) > 0 {
			return ds
		}
	}
	return []string{"/opt/cni/bin"}
}

func gatherCNI(h *plugin.Host, st cri.Status, o plugin.Options) (cniView, error) {
	v := cniView{status: st, dir: confDir(st, o), bins: binDirs(st, o)}
	var err error
	if v.clock, err = h.Boot(); err != nil {
		return v, err
	}
	if st.DirsErr != nil && o.CNIConfDir == "" {
		return v, fmt.Errorf("%w: set --cni-conf-dir and --cni-bin-dir", st.DirsErr)
	}
	look := newLooker(h, st, o)
	fi, err := h.Stat(v.dir)
	if look.gone(v.dir, fi) {
		v.dirErr = fmt.Errorf("%s: was removed and made again on the node, and the old one is mounted here: restart this pod", v.dir)
		return v, nil
	}
	if err != nil {
		v.dirErr = err
		return v, nil
	}
	v.dirMod, v.dirBorn = fi.ModTime(), plugin.Born(fi)
	if st, err := h.Stat(look.socket); err == nil && look.socket != "" {
		v.runtimeStarted = st.ModTime()
	}
	entries, err := h.ReadDir(v.dir)
	if err != nil {
		v.dirErr = err
		return v, nil
	}
	for _, e := range entries {
		// A link to a directory is tried and fails, as in the runtime.
		if e.IsDir() || !cni.IsConfig(e.Name()) {
			continue
		}
		f := look.confFile(path.Join(v.dir, e.Name()))
		if f.load != nil && !f.blind && hasLoaded(st) {
			// containerd has not noticed it, or its libcni takes what ours refuses: another file may be the one it runs with.
			v.passed = append(v.passed, f)
			continue
		}
		v.files = append(v.files, f)
		if lastToLoad(st, f, len(v.files)) {
			break
		}
	}
	return v, nil
}

// hasLoaded says whether containerd runs with a network that it has read from a file.
func hasLoaded(st cri.Status) bool {
	return st.Flavor == cri.Containerd && st.Network.OK && st.LastCNILoad == "OK"
}

// lastToLoad says whether the runtime looks at no file after f, the n-th: containerd takes the first MaxConfNum files
// whatever they are, CRI-O and cri-dockerd the first that is valid, its binaries included.
func lastToLoad(st cri.Status, f confFile, n int) bool {
	if st.Flavor == cri.Containerd {
		return n >= max(st.MaxConfNum, 1)
	}
	return f.load == nil && !f.lacksBinary()
}

// NetworkFiles tells a report where the runtime looks for CNI files, which file counts, and who names cgroups.
func NetworkFiles(ctx context.Context, h *plugin.Host, o plugin.Options) (dir, file string, bins []string, driver string) {
	rt, err := h.CRI()
	if err != nil {
		return "", "", nil, ""
	}
	st, err := rt.Status(ctx)
	if err != nil {
		return "", "", nil, ""
	}
	dir, bins, driver = confDir(st, o), binDirs(st, o), st.CgroupDriver
	if v, err := gatherCNI(h, st, o); err == nil && len(v.files) > 0 {
		file = v.files[len(v.files)-1].path
	}
	return dir, file, bins, driver
}
