package e2e

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// cgroupsOf lists every cgroup of the run, children first: one tree on cgroup v2, one a controller on v1.
func cgroupsOf(name string) []string {
	tops, _ := filepath.Glob("/sys/fs/cgroup/*/" + name)
	tops = append(tops, "/sys/fs/cgroup/"+name)
	var all []string
	for _, top := range tops {
		_ = filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				all = append(all, path)
			}
			return nil // what vanishes while we look is no leftover
		})
	}
	slices.SortFunc(all, func(a, b string) int { return strings.Compare(b, a) })
	return all
}

func processesInCgroups(name string) []int {
	var pids []int
	for _, dir := range cgroupsOf(name) {
		procs, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		for _, word := range strings.Fields(string(procs)) {
			if pid, err := strconv.Atoi(word); err == nil && !slices.Contains(pids, pid) {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// removeCgroups tries for a while: a cgroup is busy until the kernel has buried its last process.
func removeCgroups(name string) {
	eventually(5*time.Second, func() bool {
		for _, dir := range cgroupsOf(name) {
			_ = os.Remove(dir)
		}
		return len(cgroupsOf(name)) == 0
	})
}
