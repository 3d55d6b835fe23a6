package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A suiteRun owns everything a run makes. All of it can be found again by the run's name alone: its directory, its
// cgroups, its bridge. So what a killed run left is found by the next one.
type suiteRun struct {
	name     string   // also the bridge (15 letters at most) and the top cgroup
	dir      string   // short: a socket's path has 107 bytes at most
	kubePods []string // uids, as patterns, of the pods that lie where the kubelet puts them
}

const runPrefix = "sce2e-"

func runOf(pid int) suiteRun {
	name := runPrefix + strconv.Itoa(pid)
	return suiteRun{name: name, dir: filepath.Join("/tmp", name), kubePods: []string{uidPrefix(pid) + "*"}}
}

func newRun() (suiteRun, error) {
	r := runOf(os.Getpid())
	return r, os.MkdirAll(filepath.Join(r.dir, "bin"), 0o755)
}

// sweepDeadRuns takes away what runs left that were killed: go test's own -timeout gives no chance to tidy up.
func sweepDeadRuns() {
	old, _ := filepath.Glob(filepath.Join("/tmp", runPrefix+"*"))
	for _, dir := range old {
		pid, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(dir), runPrefix))
		if err != nil || isRunning(pid) && pid != os.Getpid() {
			continue // not ours, or not over
		}
		fmt.Println("e2e: taking away what an earlier run left:", dir)
		if err := runOf(pid).remove(); err != nil {
			complain(err.Error())
		}
	}
}

// isRunning says whether a process is a run of this suite. One that is dead and not yet buried has no exe any more; one of
// another program got the number later.
func isRunning(pid int) bool {
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return err == nil && strings.Contains(filepath.Base(exe), "e2e.test")
}

// remove takes the run away and says what would not go.
func (r suiteRun) remove() error {
	killAll(r.processes)
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
