package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// podLogs is where the kubelet makes a directory for each pod, named NAMESPACE_NAME_UID.
const podLogs = "/var/log/pods"

// kubeCgroup is the cgroup of a burstable pod, as the kubelet names it with the cgroupfs driver.
func kubeCgroup(uid string) string { return "kubepods/burstable/pod" + uid }

// likeKubelet does for a pod what the kubelet does before it asks for the sandbox: the log directory, and a memory cgroup
// with the pod's limit, 0 for none.
func (n *node) likeKubelet(t testing.TB, p pod, limit int64) {
	t.Helper()
	n.kubePods = append(n.kubePods, p.uid())
	mkdirAll(t, p.logs(n))
	mkdirAll(t, memoryCgroup(p))
	if limit > 0 {
		setMemoryLimit(t, p, limit)
	}
}

func memoryCgroup(p pod) string { return filepath.Join("/sys/fs/cgroup/memory", kubeCgroup(p.uid())) }

func setMemoryLimit(t testing.TB, p pod, limit int64) {
	t.Helper()
	writeFile(t, filepath.Join(memoryCgroup(p), "memory.limit_in_bytes"), fmt.Sprint(limit))
}

func memoryUsage(t testing.TB, p pod) int64 {
	t.Helper()
	usage, err := strconv.ParseInt(strings.TrimSpace(readFile(t, filepath.Join(memoryCgroup(p), "memory.usage_in_bytes"))), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return usage
}

// useKubepods lets one run of this suite at a time have pods where the kubelet puts them, and claims what is made for it.
func useKubepods(t *testing.T) {
	t.Helper()
	memory, err := os.Open("/sys/fs/cgroup/memory")
	if err != nil {
		t.Fatalf("this suite makes its faults with the memory controller of cgroup v1: %v", err)
	}
	t.Cleanup(func() { _ = memory.Close() }) // which gives the lock back
	asked := time.Now()
	if err := syscall.Flock(int(memory.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if waited := time.Since(asked); waited > time.Second {
		t.Logf("waited %s for another run", waited.Round(time.Second))
	}
	// runc makes the parents of a cgroup in every controller, so all of them are claimed.
	controllers, _ := filepath.Glob("/sys/fs/cgroup/*")
	for _, c := range controllers {
		run.claim(t, filepath.Join(c, "kubepods"), filepath.Join(c, "kubepods/burstable"))
	}
	run.claim(t, podLogs)
	mkdirAll(t, filepath.Join("/sys/fs/cgroup/memory", filepath.Dir(kubeCgroup(""))))
	mkdirAll(t, podLogs)
}

// claim writes down which of these directories are not there yet, or are only there for another run: they will be the run's,
// and the last run takes them away. The list is a file, so that the next run finds it when this one is killed.
func (r suiteRun) claim(t testing.TB, dirs ...string) {
	t.Helper()
	list, err := os.OpenFile(r.claims(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = list.Close() }()
	for _, dir := range dirs {
		if _, err := os.Lstat(dir); err == nil && !claimedByARun(dir) {
			continue
		}
		if _, err := fmt.Fprintln(list, dir); err != nil {
			t.Fatal(err)
		}
	}
}

func claimedByARun(dir string) bool {
	lists, _ := filepath.Glob(filepath.Join("/tmp", suite.Prefix+"*", "claims"))
	for _, list := range lists {
		dirs, _ := os.ReadFile(list)
		if slices.Contains(strings.Fields(string(dirs)), dir) {
			return true
		}
	}
	return false
}

func (r suiteRun) claims() string { return filepath.Join(r.dir, "claims") }

// giveBack removes what was claimed and says what would not go. A directory that somebody else has filled meanwhile is
// theirs now; a cgroup in which nothing runs is what a kubelet of ours has left.
func (r suiteRun) giveBack() []string {
	list, _ := os.ReadFile(r.claims())
	dirs := strings.Fields(string(list))
	slices.Reverse(dirs) // children were claimed after their parents
	var left []string
	for _, dir := range dirs {
		if below(dir, "/sys/fs/cgroup") {
			for _, cgroup := range cgroupsBelow(dir) {
				_ = os.Remove(cgroup) // refused where something runs
			}
		}
		_ = os.Remove(dir)
		if isEmptyDir(dir) {
			left = append(left, "directory "+dir)
		}
	}
	return left
}

// isEmptyDir: a cgroup's own files do not count.
func isEmptyDir(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && !slices.ContainsFunc(entries, os.DirEntry.IsDir)
}

func podLogsOf(uids []string) []string {
	var dirs []string
	for _, uid := range uids {
		found, _ := filepath.Glob(filepath.Join(podLogs, "*_"+uid))
		dirs = append(dirs, found...)
	}
	return dirs
}

func removePodLogs(uids []string) {
	for _, dir := range podLogsOf(uids) {
		_ = os.RemoveAll(dir)
	}
}

func mkdirAll(t testing.TB, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}
