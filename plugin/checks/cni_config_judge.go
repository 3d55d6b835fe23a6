package checks

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/cni"
	"sandbox-checker/plugin/cri"
)

// What containerd and CRI-O put before the cause in the NetworkReady condition, and containerd's cause when no file is
// loaded. Any other cause is a plugin's own answer to STATUS.
const (
	networkPrefix  = "Network plugin returns error: "
	notInitialized = "cni plugin not initialized"
	crioNoConfig   = "no CNI configuration file in "
	noConfigFound  = "no network config found in "
	// CRI-O says these before it first asks its plugins and when it goes (internal/config/cnimgr).
	crioNotAsked  = "plugin status uninitialized"
	crioShutsDown = "CNI manager shut down"
)

// judgeCNI is the rule of cni-config. An error means that it cannot be told.
func judgeCNI(v cniView, o plugin.Options) (plugin.Result, error) {
	if v.dirErr != nil {
		return v.judgeNoDir(o)
	}
	if len(v.files) == 0 && len(v.passed) > 0 {
		return v.judgeUnloadable(v.passed[0], o)
	}
	if len(v.files) == 0 {
		return v.judgeNoFile(o)
	}
	counts := v.files[len(v.files)-1] // the one that is loaded, or the last that failed
	if bad := v.unloadable(); bad != nil {
		return v.judgeUnloadable(*bad, o)
	}
	if counts.net.OnlyLoopback() {
		return v.absent(o, fault{object: counts.path, cause: "only loopback is configured, pods get no network",
			cure: "check the DaemonSet of the CNI plugin, it writes the real one"})
	}
	if r, err := v.judgeFaults(o); err != nil || len(r.Findings) > 0 {
		return r, err
	}
	if v.networkDown() {
		return v.judgeDown(counts, o)
	}
	if v.watchesAnother(counts) && !v.proven && !v.isStarting(o) {
		x := fault{object: counts.path, cause: "valid, but CRI-O watches the directory that was here before", cure: cureRestart}
		return plugin.Result{Findings: []plugin.Finding{v.finding(x)}}, nil
	}
	return plugin.Result{Looked: fmt.Sprintf("%s and all it needs are in place", counts.path)}, nil
}

func (v cniView) networkDown() bool { return v.status.Network.Present && !v.status.Network.OK }

func (v cniView) networkUp() bool { return v.status.Network.Present && v.status.Network.OK }

// judgeNoDir: the directory cannot be seen. Only when the runtime itself misses its files is it the node's fault.
func (v cniView) judgeNoDir(o plugin.Options) (plugin.Result, error) {
	gone := errors.Is(v.dirErr, fs.ErrNotExist)
	if gone && v.networkDown() && (strings.Contains(v.status.LastCNILoad, noConfigFound) ||
		strings.Contains(v.status.Network.Message, crioNoConfig)) {
		return v.absent(o, fault{object: v.dir, cause: "directory missing, the runtime finds no CNI configuration", cure: cureDir})
	}
	if gone {
		return plugin.Result{}, fmt.Errorf("%s: not there or not mounted", v.dir)
	}
	return plugin.Result{}, v.dirErr
}

const cureDir = "check the DaemonSet of the CNI plugin, it writes one"

// judgeNoFile: an empty directory is a fault only if the runtime is not ready. CRI-O says ready for ever once it was.
func (v cniView) judgeNoFile(o plugin.Options) (plugin.Result, error) {
	if v.networkUp() && len(v.status.Loaded) > 0 {
		return plugin.Result{}, fmt.Errorf("%s: empty, and the runtime has loaded a network from it: another directory is mounted here", v.dir)
	}
	if v.networkUp() && v.status.Flavor != cri.CRIO {
		return plugin.Result{Looked: fmt.Sprintf("the runtime needs no file in %s", v.dir)}, nil
	}
	return v.absent(o, fault{object: v.dir, cause: "no CNI configuration file, new pods get no network", cure: cureDir})
}

// unloadable is the file because of which the runtime loads no network. containerd fails at the first bad one; the others
// only when there is no good one.
func (v cniView) unloadable() *confFile {
	first := func(bad func(confFile) bool) *confFile {
		for i := range v.files {
			if bad(v.files[i]) {
				return &v.files[i]
			}
		}
		return nil
	}
	broken := func(f confFile) bool { return f.load != nil }
	if v.status.Flavor == cri.Containerd {
		return first(broken)
	}
	if last := v.files[len(v.files)-1]; last.load == nil {
		return nil
	}
	return first(broken)
}

// halfWritten is how long a file may be only half there: an agent writes it in one go, and whoever fails at that leaves it. It is
// short, so that an agent which writes the same wrong file every minute is told.
const halfWritten = 10 * time.Second

func (v cniView) judgeUnloadable(f confFile, o plugin.Options) (plugin.Result, error) {
	if f.blind && !v.networkDown() {
		return plugin.Result{}, fmt.Errorf("%s: %w", f.path, f.load)
	}
	// The runtime's libcni may accept what ours does not: it is the judge.
	if v.status.LastCNILoad == "OK" && v.networkUp() {
		return plugin.Result{Looked: f.path + " is loaded by the runtime",
			Held: []string{fmt.Sprintf("%s: %v", f.path, f.load)}}, nil
	}
	x := fault{object: f.path, cause: f.load.Error(), cure: cureConfig}
	if !f.blind && ago(v.clock.Now, f.mod) < min(o.Settle, halfWritten) {
		return plugin.Result{}, plugin.Starting(x.object + ": " + x.cause)
	}
	return plugin.Result{Findings: []plugin.Finding{v.finding(x)}}, nil
}

// judgeFaults: the file loads, and every pod's ADD would fail.
func (v cniView) judgeFaults(o plugin.Options) (plugin.Result, error) {
	var r plugin.Result
	var blind error
	starting := false
	for _, f := range v.loaded() {
		for _, x := range f.add {
			switch {
			case x.blind != nil && blind == nil:
				blind = x.blind // the first says it; the others are mostly the same
			case x.blind != nil:
			case x.absent && (x.fresh || v.isStarting(o)):
				starting = true
				r.Held = append(r.Held, x.object+": "+x.cause)
			default:
				r.Findings = append(r.Findings, v.finding(x))
			}
		}
	}
	switch {
	case len(r.Findings) > 0:
		return r, nil
	case starting:
		return r, plugin.Starting(r.Held[0])
	default:
		return r, blind
	}
}

// loaded are the files that make up the network: with containerd all that were read, else the last one, or all when even
// that one is refused for its binaries.
func (v cniView) loaded() []confFile {
	last := v.files[len(v.files)-1]
	if v.status.Flavor == cri.Containerd || last.lacksBinary() {
		return v.files
	}
	return []confFile{last}
}

// judgeDown: all files are well and the runtime says NetworkReady=false.
func (v cniView) judgeDown(f confFile, o plugin.Options) (plugin.Result, error) {
	why := strings.TrimPrefix(v.status.Network.Message, networkPrefix)
	if why == crioShutsDown || why == crioNotAsked && ago(v.clock.Now, v.runtimeStarted) < o.BootGrace {
		return plugin.Result{}, plugin.Starting("CRI-O restarts, it says: " + why)
	}
	if !strings.Contains(why, notInitialized) && !strings.HasPrefix(why, crioNoConfig) {
		x := fault{object: f.path, cause: "the plugin says: " + why, cure: "check the pod of the CNI plugin on this node"}
		if why == "" {
			x.cause = "the network is not ready, the runtime gives no cause"
		}
		if knowsNoStatus(why) {
			x.cause = fmt.Sprintf("a plugin does not know cniVersion %s and its STATUS (%s)", f.net.Version, why)
			x.cure = "update the CNI plugins or lower cniVersion to 1.0.0"
		}
		if v.isStarting(o) {
			return plugin.Result{}, plugin.Starting(x.object + ": " + x.cause)
		}
		return plugin.Result{Findings: []plugin.Finding{v.finding(x)}}, nil
	}
	if v.sinceChange() < o.Settle {
		return plugin.Result{}, plugin.Starting(f.path + " has just changed, the runtime has not loaded it yet")
	}
	if load := v.status.LastCNILoad; load != "" && load != "OK" && !strings.Contains(load, noConfigFound) {
		x := fault{object: f.path, cause: "the runtime refuses it: " + loadCause(load), cure: cureConfig}
		return plugin.Result{Findings: []plugin.Finding{v.finding(x)}}, nil
	}
	x := fault{object: f.path, cause: "valid, but the runtime missed it and has loaded nothing", cure: cureRestart}
	return plugin.Result{Findings: []plugin.Finding{v.finding(x)}}, nil
}

const cureRestart = "restart the container runtime"

// atOnce is longer than CRI-O takes to look again when its directory or the file that it has loaded goes.
const atOnce = time.Second

// watchesAnother: the directory was made after CRI-O started, so CRI-O watches the one that was there before. It looked once
// more when that went, and a file that came later it has not seen. It still says NetworkReady, as it does for ever.
func (v cniView) watchesAnother(f confFile) bool {
	if v.status.Flavor != cri.CRIO || !v.networkUp() || v.dirBorn.IsZero() || v.runtimeStarted.IsZero() {
		return false
	}
	if v.runtimeStarted.Before(v.clock.Booted) {
		return false // the clock was behind when it started
	}
	return v.dirBorn.After(v.runtimeStarted.Add(atOnce)) && f.mod.After(v.dirBorn.Add(atOnce)) && !f.mod.After(v.clock.Now)
}

// knowsNoStatus finds the words with which a plugin older than CNI 1.1 answers STATUS.
func knowsNoStatus(why string) bool {
	return strings.Contains(why, "CNI_COMMAND") || strings.Contains(why, "missing containerID") || strings.Contains(why, "CNI_CONTAINERID")
}

// loadCause is the middle of "cni config load failed: failed to load CNI config list file F: CAUSE: invalid cni config:
// failed to load cni config".
func loadCause(load string) string {
	s := strings.TrimPrefix(load, "cni config load failed: ")
	s = strings.TrimSuffix(cni.WithoutValues(s), ": failed to load cni config")
	return strings.TrimSuffix(s, ": invalid cni config")
}

// sinceChange is how long the files have been as they are, in this boot.
func (v cniView) sinceChange() time.Duration {
	since := v.clock.Uptime
	for _, f := range v.files {
		since = min(since, ago(v.clock.Now, f.mod))
	}
	return min(since, ago(v.clock.Now, v.dirMod))
}

// isStarting: the node has just booted, or its CNI directory has just changed (a machine can be days old when it joins).
func (v cniView) isStarting(o plugin.Options) bool {
	return v.clock.Uptime < o.BootGrace || ago(v.clock.Now, v.dirMod) < o.BootGrace
}

// whileLooking is longer than any look takes. What is dated after the look began, but not by more, was made meanwhile.
const whileLooking = time.Minute

// ago is how long before now a file was changed: a very long time when it has no date, or one that lies in the future for
// good (the clock was set back), lest such a file counts as new for ever.
func ago(now, t time.Time) time.Duration {
	switch {
	case t.IsZero() || t.Sub(now) >= whileLooking:
		return 1<<63 - 1
	case t.After(now):
		return 0
	}
	return now.Sub(t)
}

// absent is a finding, or "starting" on a node that is.
func (v cniView) absent(o plugin.Options, x fault) (plugin.Result, error) {
	if v.isStarting(o) {
		return plugin.Result{}, plugin.Starting(x.object + ": " + x.cause)
	}
	return plugin.Result{Findings: []plugin.Finding{v.finding(x)}}, nil
}

func (v cniView) finding(x fault) plugin.Finding {
	f := plugin.Finding{
		Check:  CNIConfigName,
		Blame:  plugin.BlameNode,
		Object: x.object,
		Cause:  x.cause,
		Cure:   x.cure,
		Steps:  []string{x.cure},
		Evidence: []plugin.Evidence{
			{Source: "CRI Status", Text: fmt.Sprintf("NetworkReady=%t %s", v.status.Network.OK, v.status.Network.Message)},
			{Source: v.dir, Text: v.listing()},
			{Source: "bin dirs", Text: strings.Join(v.bins, ", ")},
		},
	}
	f.Evidence = append(x.evidence, f.Evidence...)
	if v.status.LastCNILoad != "" {
		f.Evidence = append(f.Evidence, plugin.Evidence{Source: "CRI Status lastCNILoadStatus", Text: cni.WithoutValues(v.status.LastCNILoad)})
	}
	return f
}

// listing names the files that were read, in the runtime's order.
func (v cniView) listing() string {
	if v.dirErr != nil {
		return "cannot be read"
	}
	if len(v.files) == 0 {
		return "no .conf, .conflist or .json file"
	}
	var names []string
	for _, f := range v.files {
		names = append(names, path.Base(f.path))
	}
	return strings.Join(names, ", ")
}
