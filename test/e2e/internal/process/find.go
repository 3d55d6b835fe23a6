// Package process runs programs, and finds and ends the processes that a run of a suite has started.
package process

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// With lists the processes whose program and arguments match, never this one. A process that ends meanwhile may be missing.
func With(match func(exe string, args []string) bool) []int {
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

// WithEnv lists the processes that were started with an entry NAME=VALUE in their environment, never this one. Children inherit
// it, also those that nobody waits for.
func WithEnv(entry string) []int {
	var found []int
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		environ, err := os.ReadFile(dir + "/environ")
		if err == nil && pid != os.Getpid() && slices.Contains(strings.Split(string(environ), "\x00"), entry) {
			found = append(found, pid)
		}
	}
	return found
}

// Runs says whether a process runs a program of that name. One that is dead and not yet buried has no program any more; one
// of another program may have got the number later.
func Runs(pid int, program string) bool {
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return err == nil && strings.Contains(filepath.Base(exe), program)
}

// KillAll kills until list finds none, for a while: a runtime may start one more while it is being killed.
func KillAll(list func() []int) {
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		pids := list()
		if len(pids) == 0 {
			return
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL) // gone already is as good
		}
	}
}
