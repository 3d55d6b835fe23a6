package qemu

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A suiteRun owns everything a run makes: one directory, and machines whose disks lie in it. So what a killed run left is
// found by the next one. A port goes with its machine.
type suiteRun struct{ dir string }

const runPrefix = "scqemu-"

func runOf(pid int) suiteRun {
	return suiteRun{dir: filepath.Join("/tmp", runPrefix+strconv.Itoa(pid))}
}

func newRun() (suiteRun, error) {
	r := runOf(os.Getpid())
	return r, os.MkdirAll(r.dir, 0o755)
}

// sweepDeadRuns takes away what runs left that were killed: go test's own -timeout gives no chance to tidy up.
func sweepDeadRuns() {
	old, _ := filepath.Glob(filepath.Join("/tmp", runPrefix+"*"))
	for _, dir := range old {
		pid, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(dir), runPrefix))
		if err != nil || isRunning(pid) && pid != os.Getpid() {
			continue // not ours, or not over
		}
		fmt.Println("qemu: taking away what an earlier run left:", dir)
		if err := runOf(pid).remove(); err != nil {
			complain(err)
		}
	}
}

// isRunning says whether a process is a run of this suite. One of another program may have got the number later.
func isRunning(pid int) bool {
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return err == nil && strings.Contains(filepath.Base(exe), "qemu.test")
}

// remove takes the run away and says what would not go: it looks at the machine, not at what it did.
func (r suiteRun) remove() error {
	r.kill()
	if err := os.RemoveAll(r.dir); err != nil {
		return err
	}
	r.kill() // a test may have started one more; without disks there is no next one
	if left := r.processes(); len(left) > 0 {
		return fmt.Errorf("left behind: processes %v", left)
	}
	if _, err := os.Lstat(r.dir); err == nil {
		return fmt.Errorf("left behind: %s", r.dir)
	}
	return nil
}

func (r suiteRun) kill() {
	for end := time.Now().Add(20 * time.Second); len(r.processes()) > 0 && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		for _, pid := range r.processes() {
			_ = syscall.Kill(pid, syscall.SIGKILL) // gone already is as good
		}
	}
}

// processes are the machines of this run: QEMU with a disk in its directory.
func (r suiteRun) processes() []int {
	var found []int
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		exe, err := os.Readlink(dir + "/exe")
		if err != nil || !strings.HasPrefix(filepath.Base(exe), "qemu-system") {
			continue // a kernel thread, gone, or not a machine
		}
		cmdline, _ := os.ReadFile(dir + "/cmdline")
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil && strings.Contains(string(cmdline), r.dir+"/") {
			found = append(found, pid)
		}
	}
	return found
}
