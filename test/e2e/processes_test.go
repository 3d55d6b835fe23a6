package e2e

import (
	"path/filepath"
	"slices"
	"strings"

	"sandbox-checker/test/e2e/internal/process"
)

// processes are those that this run started, by any of five signs: they sit in its cgroups (pause, runc), they have inherited
// where its temporary files lie (shells, compilers, tools), their program lies in its directory (what the suite built), they are
// a runtime that serves its directory, or the init of its machine, with which all goes that runs there.
func (r suiteRun) processes() []int {
	named := process.With(func(exe string, args []string) bool {
		return below(exe, r.dir) || anyBelow(args, r.dir) && (isRuntime(exe) || slices.Contains(args, machineInit))
	})
	return slices.Concat(r.processesInCgroups(), process.WithEnv("TMPDIR="+r.tmp()), named)
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
