package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	"sandbox-checker/test/e2e/internal/process"
)

// A node is a runtime of its own, with all its directories below one. Nothing of a system's runtime is touched.
type node struct {
	flavour    flavour
	programs   string // the directory of the runtime and what it starts
	dir        string
	socket     string
	confDir    string // CNI configurations
	binDir     string // CNI plugins, copies
	crictl     string
	runtime    *exec.Cmd
	ended      chan struct{} // closed when the runtime has ended
	probes     int           // sandboxes asked for by proveByPod
	ownNetwork bool          // the runtime has a network namespace of its own: the pods' host ends lie there
	pausing    bool          // CRI-O only: a pause process in each sandbox
	kubePods   []string      // uids of the pods that lie where the kubelet puts them
}

// newNode starts a runtime with a good pod network. The test's name ends up in no path: sockets want short ones.
func newNode(t *testing.T, f flavour, name string, options ...func(*node)) *node {
	t.Helper()
	dir := filepath.Join(run.dir, name+f.name)
	n := &node{
		flavour:  f,
		programs: built(t, f.programs),
		dir:      dir,
		socket:   filepath.Join(dir, "cri.sock"),
		confDir:  filepath.Join(dir, "net.d"),
		binDir:   filepath.Join(dir, "bin"),
		crictl:   built(t, buildCrictl),
	}
	for _, set := range options {
		set(n)
	}
	mkdirAll(t, n.confDir)
	n.copyPlugins(t)
	n.writeConf(t, "10-pods.conflist", bridgeConf())
	writeFile(t, n.configFile(), f.config(n))
	if f.prepare != nil {
		f.prepare(t, n)
	}
	t.Cleanup(func() { n.destroy(t) })
	n.start(t)
	n.mustBeVersion(t)
	n.importImage(t)
	return n
}

// mustBeVersion: /usr/bin/containerd is another one on another Debian.
func (n *node) mustBeVersion(t *testing.T) {
	t.Helper()
	said := n.do(t, "version")
	if !regexp.MustCompile(`RuntimeVersion: +v?` + regexp.QuoteMeta(n.flavour.version)).MatchString(said) {
		t.Fatalf("%s is not %s:\n%s", n.flavour.title, n.flavour.version, said)
	}
}

// ownNetwork is for plugins that change the host's network: what they do goes with the namespace.
func ownNetwork(n *node) { n.ownNetwork = true }

func (n *node) endpoint() string   { return "unix://" + n.socket }
func (n *node) configFile() string { return filepath.Join(n.dir, "config.toml") }
func (n *node) history() string    { return filepath.Join(n.dir, "history") } // the checker's state, in memory on a real node
func (n *node) logFile() string    { return filepath.Join(n.dir, "runtime.log") }

// start starts the runtime and waits until it answers CRI.
func (n *node) start(t testing.TB) {
	t.Helper()
	n.launch(t)
	if !n.answers(30 * time.Second) {
		t.Fatalf("%s does not answer at %s", n.flavour.title, n.socket)
	}
}

func (n *node) answers(within time.Duration) bool {
	return eventually(within, func() bool { _, err := n.tryFor("1s", "version"); return err == nil })
}

func (n *node) launch(t testing.TB) {
	t.Helper()
	log, err := os.OpenFile(n.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }() // the runtime has its own by then
	cmd := n.flavour.command(n)
	cmd.Stdout, cmd.Stderr = log, log
	// A group of its own: Ctrl-C goes to the suite, which then takes the node away in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if n.ownNetwork {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWNET
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	n.runtime, n.ended = cmd, make(chan struct{})
	go func(ended chan struct{}) {
		_ = cmd.Wait() // killed is how it ends here
		close(ended)
	}(n.ended)
}

// program is one of the runtime's own.
func (n *node) program(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(n.programs, name), args...)
	cmd.Env = append(os.Environ(), "PATH="+n.programs+":"+os.Getenv("PATH")) // its own shim comes first
	return cmd
}

// end sends the runtime a signal and waits until it is gone; shims and containers go on.
func (n *node) end(t testing.TB, sig syscall.Signal) {
	t.Helper()
	if err := n.runtime.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	select {
	case <-n.ended:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s does not end", n.flavour.title)
	}
}

func (n *node) restart(t testing.TB) {
	t.Helper()
	n.end(t, syscall.SIGTERM)
	n.start(t)
}

// powerCut leaves what a disk keeps when the power fails: no process, no mount, no cgroup, nothing of what lay in
// memory. Only the boot time stays, for the machine itself goes on.
func (n *node) powerCut(t testing.TB) {
	t.Helper()
	n.end(t, syscall.SIGKILL)
	process.KillAll(n.traces().processes)
	removeShimSockets(n.dir)
	unmountBelow(n.dir)
	removeCgroups(n.traces().cgroups)
	for _, dir := range append([]string{"history"}, n.flavour.memory...) {
		remove(t, filepath.Join(n.dir, dir))
	}
}

// traces are this node's part of the run.
func (n *node) traces() suiteRun {
	return suiteRun{name: n.cgroup(), dir: n.dir, kubePods: n.kubePods}
}

// cgroup is the parent of all pods of this node, without the leading slash.
func (n *node) cgroup() string { return filepath.Join(run.name, filepath.Base(n.dir)) }

func (n *node) importImage(t testing.TB) { n.importArchive(t, pauseImage, built(t, buildPauseArchive)) }

func (n *node) importArchive(t testing.TB, image, archive string) {
	t.Helper()
	cmd := n.flavour.load(n, image, archive)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}

// destroy is all in one: what is not to be had back needs no orderly end.
func (n *node) destroy(t testing.TB) {
	if t.Failed() {
		t.Logf("the end of the runtime's log:\n%s", tail(n.logFile(), 4000))
	}
	process.KillAll(n.traces().processes)
	removeShimSockets(n.dir)
	unmountBelow(n.dir)
	removeCNICache(n.dir)
	removeCgroups(n.traces().cgroups)
	removePodLogs(n.kubePods)
	_ = os.RemoveAll(n.dir)
}

func tail(file string, bytes int) string {
	content, _ := os.ReadFile(file)
	return string(content[max(0, len(content)-bytes):])
}

func writeFile(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
