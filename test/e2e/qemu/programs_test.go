package qemu

import (
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"sandbox-checker/test/e2e/internal/build"
)

// repository is the product's directory.
const repository = "../../.."

// A program is built with Go; all are static.
type program struct {
	name   string
	module string // the directory whose go.mod fixes the version
	pkg    string
	tags   string
}

var (
	buildChecker = builtOnce(program{name: "sandbox-checker", module: repository, pkg: "./cmd/sandbox-checker"})
	buildCrictl  = builtOnce(program{name: "crictl", module: "../programs/crictl", pkg: "sigs.k8s.io/cri-tools/cmd/crictl"})
	buildGuest   = builtOnce(program{name: "guest", module: ".", pkg: "./testdata/guest"})
	buildPause   = sync.OnceValues(compilePause)

	buildContainerd2 = containerd2Programs()
)

func containerd2Programs() []func() (string, error) {
	var builds []func() (string, error)
	for _, name := range build.Containerd {
		c := build.ContainerdProgram("..", name)
		builds = append(builds, builtOnce(program{name: filepath.Join("containerd2", name), module: c.Module, pkg: c.Package, tags: c.Tags}))
	}
	return builds
}

func builtOnce(p program) func() (string, error) { return sync.OnceValues(p.build) }

func (p program) build() (string, error) {
	out := filepath.Join(run.dir, "bin", p.name)
	return out, build.Go{Module: p.module, Package: p.pkg, Tags: p.tags, Flags: []string{"-ldflags=-s -w"}}.Build(out)
}

func compilePause() (string, error) {
	out := filepath.Join(run.dir, "bin", "pause")
	return out, build.Pause("..", out)
}

func timed(what string, do func() error) error {
	started := time.Now()
	err := do()
	if err == nil {
		fmt.Printf("%s in %s\n", what, time.Since(started).Round(100*time.Millisecond))
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
