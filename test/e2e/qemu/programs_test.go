package qemu

import (
	"fmt"
	"path/filepath"
	"sync"
	"time"
)

// A program is built with Go; all are static.
type program struct {
	name   string
	module string // the directory whose go.mod fixes the version
	pkg    string
	tags   string
}

var (
	checkerProgram = program{name: "sandbox-checker", module: "../../..", pkg: "./cmd/sandbox-checker"}
	buildChecker   = builtOnce(checkerProgram)
	buildCrictl    = builtOnce(program{name: "crictl", module: "../programs/crictl", pkg: "sigs.k8s.io/cri-tools/cmd/crictl"})
	buildGuest     = builtOnce(program{name: "guest", module: ".", pkg: "./testdata/guest"})
	buildPause     = sync.OnceValues(compilePause)

	buildContainerd2 = []func() (string, error){
		builtOnce(containerd2Program("containerd")),
		builtOnce(containerd2Program("containerd-shim-runc-v2")),
		builtOnce(containerd2Program("ctr")),
	}
)

func containerd2Program(name string) program {
	return program{
		name:   filepath.Join("containerd2", name),
		module: "../programs/containerd",
		pkg:    "github.com/containerd/containerd/v2/cmd/" + name,
		tags:   "no_btrfs,no_devmapper,no_zfs",
	}
}

func builtOnce(p program) func() (string, error) { return sync.OnceValues(p.build) }

func (p program) build() (string, error) {
	out := filepath.Join(run.dir, "bin", p.name)
	return out, timed("built "+p.name, func() error {
		return command(p.module, "go", "build", "-ldflags=-s -w", "-o", out, "-tags", p.tags, p.pkg)
	})
}

// compilePause prefers C: its pause needs a tenth of the memory of a Go program, which is what small limits are about.
func compilePause() (string, error) {
	out := filepath.Join(run.dir, "bin", "pause")
	if command("", "gcc", "-static", "-Os", "-s", "-o", out, "../testdata/pause/pause.c") == nil {
		return out, nil
	}
	return program{name: "pause", module: "..", pkg: "./testdata/pausego"}.build()
}

func timed(what string, do func() error) error {
	started := time.Now()
	err := do()
	if err == nil {
		fmt.Printf("qemu: %s in %s\n", what, time.Since(started).Round(100*time.Millisecond))
	}
	return err
}

// builtAll gives the paths of programs, in order.
func builtAll(builds ...func() (string, error)) ([]string, error) {
	var out []string
	for _, build := range builds {
		path, err := build()
		if err != nil {
			return nil, err
		}
		out = append(out, path)
	}
	return out, nil
}
