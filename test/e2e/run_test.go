package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sandbox-checker/test/e2e/internal/process"
	"sandbox-checker/test/e2e/internal/teardown"
)

// A suiteRun owns everything a run makes. All of it can be found again by the run's name alone: its directory, its
// cgroups, its bridge. So what a killed run left is found by the next one.
type suiteRun struct {
	name     string   // also the bridge (15 letters at most) and the top cgroup
	dir      string   // short: a socket's path has 107 bytes at most
	kubePods []string // uids, as patterns, of the pods that lie where the kubelet puts them
}

var suite = teardown.Suite{Name: "e2e", Prefix: "sce2e-"}

func runOf(pid int) suiteRun {
	dir := suite.Dir(pid)
	return suiteRun{name: filepath.Base(dir), dir: dir, kubePods: []string{uidPrefix(pid) + "*"}}
}

func newRun() (suiteRun, error) {
	r := runOf(os.Getpid())
	for _, dir := range []string{"bin", "tmp"} {
		if err := os.MkdirAll(filepath.Join(r.dir, dir), 0o755); err != nil {
			return r, err
		}
	}
	// What a test makes for itself goes with the run too, also when no test comes to its end.
	return r, os.Setenv("TMPDIR", r.tmp())
}

func (r suiteRun) tmp() string { return filepath.Join(r.dir, "tmp") }

// remove takes the run away and says what would not go.
func (r suiteRun) remove() error {
	process.KillAll(r.processes)
	removeShimSockets(r.dir)
	unmountBelow(r.dir)
	removeCNICache(r.dir)
	// A veth pair goes a moment after its network namespace.
	eventually(5*time.Second, func() bool { return len(portsOf(r.name)) == 0 })
	deleteLink(r.name)
	removeCgroups(r.cgroups)
	removePodLogs(r.kubePods)
	claimed := r.giveBack()
	if err := os.RemoveAll(r.dir); err != nil {
		return err
	}
	return r.leftovers(claimed)
}

// leftovers is the proof that nothing was left: it looks at the machine, not at what remove did.
func (r suiteRun) leftovers(claimed []string) error {
	left := claimed
	for _, pid := range r.processes() {
		left = append(left, fmt.Sprintf("process %d", pid))
	}
	for _, m := range mountsBelow(r.dir) {
		left = append(left, "mount "+m)
	}
	for _, c := range r.cgroups() {
		left = append(left, "cgroup "+c)
	}
	for _, l := range podLogsOf(r.kubePods) {
		left = append(left, "log directory "+l)
	}
	for _, l := range append(portsOf(r.name), linksNamed(r.name)...) {
		left = append(left, "interface "+l)
	}
	if len(left) > 0 {
		return fmt.Errorf("left behind:\n  %s", strings.Join(left, "\n  "))
	}
	return nil
}

// eventually asks until the answer is yes, and says whether it ever was.
func eventually(within time.Duration, is func() bool) bool {
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if is() {
			return true
		}
	}
	return is()
}
