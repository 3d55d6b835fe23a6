package e2e

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sandbox-checker/test/e2e/internal/process"
)

// sharedPlaces are where programs of the suite could leave something on the real machine, whatever their directories are.
var sharedPlaces = []string{
	"/tmp/sce2e-*", "/run/netns/*", "/var/run/netns/*", "/var/log/pods/*", "/var/log/containers/*", "/var/log/crio*",
	"/run/containerd", "/run/containerd/*", "/run/crio*", "/run/flannel*", "/run/sandbox-checker*", "/run/runc/*", "/run/nri*", "/var/run/nri*",
	"/var/lib/cni", "/var/lib/cni/*", "/var/lib/containerd/*", "/var/lib/containers*", "/var/lib/kubelet*", "/var/lib/etcd*", "/var/lib/calico*",
	"/etc/cni*", "/etc/cni/net.d/*", "/etc/containers*", "/etc/crio*", "/opt/cni*", "/opt/containerd*", "/dev/shm/sem.*",
}

// machineState is what a run could leave behind: mounts, interfaces, cgroups, and entries of shared places.
func machineState() map[string]bool {
	state := map[string]bool{}
	for _, m := range mountsBelow("") {
		state["mount "+m] = true
	}
	links, _ := net.Interfaces()
	for _, l := range links {
		state["interface "+l.Name] = true
	}
	// Two levels: on v1 the first is the controller. Deeper ones belong to whoever made the upper one.
	for _, pattern := range []string{"/sys/fs/cgroup/*", "/sys/fs/cgroup/*/*"} {
		dirs, _ := filepath.Glob(pattern)
		for _, dir := range dirs {
			if info, err := os.Lstat(dir); err == nil && info.IsDir() && !strings.Contains(dir, ".slice") && !strings.Contains(dir, ".scope") {
				state["cgroup "+dir] = true
			}
		}
	}
	for _, pattern := range sharedPlaces {
		found, _ := filepath.Glob(pattern)
		for _, path := range found {
			state["file "+path] = true
		}
	}
	return state
}

// leftByRun says what is there after a run that was not there before. It looks at the machine alone, not at what the suite
// believes that it made. Traces of another run that goes on beside are that run's matter.
func leftByRun(before, after map[string]bool) error {
	var left []string
	for what := range after {
		if !before[what] && !ofAnotherRun(what) {
			left = append(left, what)
		}
	}
	if len(left) == 0 {
		return nil
	}
	slices.Sort(left)
	return fmt.Errorf("the machine has more than before:\n  %s", strings.Join(left, "\n  "))
}

var runName = regexp.MustCompile(suite.Prefix + `(\d+)`)

// ofAnotherRun says whether a trace has the name of a run that is going on. This run's own names are traces like any other.
func ofAnotherRun(what string) bool {
	for _, m := range runName.FindAllStringSubmatch(what, -1) {
		if pid, err := strconv.Atoi(m[1]); err == nil && pid != os.Getpid() && process.Runs(pid, suite.Name) {
			return true
		}
	}
	return false
}
