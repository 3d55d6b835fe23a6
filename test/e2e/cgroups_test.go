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

// cgroups lists every cgroup of the run, children first: one tree on cgroup v2, one a controller on v1.
func (r suiteRun) cgroups() []string {
	names := []string{r.name}
	for _, uid := range r.kubePods {
		names = append(names, kubeCgroup(uid))
	}
	return cgroupsBelow(cgroupsNamed(names)...)
}

// cgroupsBelow lists cgroups and all that is below them, children first.
func cgroupsBelow(tops ...string) []string {
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

// cgroupsNamed finds the directories of cgroups whose names are given as patterns.
func cgroupsNamed(names []string) []string {
	var dirs []string
	for _, name := range names {
		for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/*"} {
			found, _ := filepath.Glob(filepath.Join(root, name))
			dirs = append(dirs, found...)
		}
	}
	return dirs
}

func (r suiteRun) processesInCgroups() []int {
	var pids []int
	for _, dir := range r.cgroups() {
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
func removeCgroups(list func() []string) (gone bool) {
	return eventually(5*time.Second, func() bool {
		for _, dir := range list() {
			_ = os.Remove(dir)
		}
		return len(list()) == 0
	})
}
