package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// processes are those that this run started, by any of three signs: they sit in its cgroups (pause, runc), their
// program lies in its directory (what the suite built), or they are a runtime that serves its directory.
func (r suiteRun) processes() []int {
	return append(r.processesInCgroups(), processesWith(func(exe string, args []string) bool {
		return below(exe, r.dir) || isRuntime(exe) && anyBelow(args, r.dir)
	})...)
}

// isRuntime keeps an editor or a pager that has a file of ours open from being taken for ours.
func isRuntime(exe string) bool {
	switch filepath.Base(exe) {
	case "containerd", "containerd-shim-runc-v2", "runc", "ctr", "crio", "conmon", "copyimg":
		return true
	}
	return false
}

func anyBelow(args []string, dir string) bool {
	for _, arg := range args {
		if below(arg, dir) {
			return true
		}
	}
	return false
}

func below(path, dir string) bool { return strings.HasPrefix(path, dir+"/") }

// processesWith lists the processes that match, never this one.
func processesWith(match func(exe string, args []string) bool) []int {
	var found []int
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		exe, err := os.Readlink(dir + "/exe")
		if err != nil || pid == os.Getpid() {
			continue // a kernel thread, or gone
		}
		cmdline, _ := os.ReadFile(dir + "/cmdline")
		if match(exe, strings.Split(string(cmdline), "\x00")) {
			found = append(found, pid)
		}
	}
	return found
}

// killAll kills until none is left: a runtime may start one more while it is being killed.
func killAll(processes func() []int) {
	eventually(10*time.Second, func() bool {
		pids := processes()
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL) // gone already is as good
		}
		return len(pids) == 0
	})
}
