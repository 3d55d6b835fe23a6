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
	return others(func(dir string) bool {
		exe, err := os.Readlink(dir + "/exe")
		if err != nil {
			return false // a kernel thread, or gone
		}
		cmdline, _ := os.ReadFile(dir + "/cmdline")
		return match(exe, strings.Split(string(cmdline), "\x00"))
	})
}

// WithEnv lists the processes that were started with an entry NAME=VALUE in their environment, never this one. Children inherit
// it, also those that nobody waits for.
func WithEnv(entry string) []int {
	return others(func(dir string) bool {
		environ, err := os.ReadFile(dir + "/environ")
		return err == nil && slices.Contains(strings.Split(string(environ), "\x00"), entry)
	})
}

// others lists the processes whose directory below /proc matches, never this one.
func others(match func(dir string) bool) []int {
	var found []int
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		if pid, _ := strconv.Atoi(filepath.Base(dir)); pid != os.Getpid() && match(dir) {
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
