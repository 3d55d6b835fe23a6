package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// A program is built when a test first needs it, so that one suite alone is quick.
type program struct {
	name   string
	module string // the directory whose go.mod fixes the version
	pkg    string
	tags   string
	cgo    bool
	flags  []string
}

var (
	buildChecker = builtOnce(program{name: "sandbox-checker", module: "../..", pkg: "./cmd/sandbox-checker"})
	buildCrictl  = builtOnce(program{name: "crictl", module: "programs/crictl", pkg: "sigs.k8s.io/cri-tools/cmd/crictl"})
	buildNPD     = builtOnce(program{
		name:   "npd",
		module: "programs/npd",
		pkg:    "k8s.io/node-problem-detector/cmd/nodeproblemdetector",
		tags:   "disable_stackdriver_exporter,disable_system_stats_monitor,disable_system_log_monitor",
	})
	buildNPD134 = builtOnce(program{
		name:   "npd-1.34",
		module: "programs/npd134",
		pkg:    "k8s.io/node-problem-detector/cmd/nodeproblemdetector",
		tags:   "disable_stackdriver_exporter,disable_system_stats_monitor,disable_system_log_monitor",
	})
	buildPause      = sync.OnceValues(compilePause)
	buildEat        = sync.OnceValues(func() (string, error) { return buildOwn("eat") })
	buildStandIn    = sync.OnceValues(func() (string, error) { return buildOwn("standin") })
	buildContainerd = sync.OnceValues(compileContainerd)
	buildCRIO       = sync.OnceValues(compileCRIO)
)

func builtOnce(p program) func() (string, error) {
	return sync.OnceValues(p.build)
}

// built gives the path of a built program, or ends the test.
func built(t testing.TB, build func() (string, error)) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// keep spares who works on the suite a minute of linking at each run.
var keep = flag.String("keep", "", "a directory where the programs of fixed versions are kept, and taken from when they are there")

func (p program) build() (string, error) {
	out := filepath.Join(run.dir, "bin", p.name)
	if *keep == "" || p.module == "../.." {
		return out, p.compile(out)
	}
	kept := filepath.Join(*keep, p.name)
	if _, err := os.Stat(kept); err != nil {
		if err := p.compile(kept); err != nil {
			return "", err
		}
	}
	return out, exec.Command("cp", kept, out).Run()
}

func (p program) compile(out string) error {
	args := append([]string{"build", "-o", out, "-tags", p.tags}, p.flags...)
	cmd := exec.Command("go", append(args, p.pkg)...)
	cmd.Dir = p.module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // only CRI-O is in part C
	if p.cgo {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	}
	return timedBuild(p.name, cmd)
}

// compileContainerd gives the directory of containerd 2, its shim and its ctr.
func compileContainerd() (string, error) {
	const dir = "containerd2"
	if err := os.MkdirAll(filepath.Join(run.dir, "bin", dir), 0o755); err != nil {
		return "", err
	}
	for _, name := range []string{"containerd", "containerd-shim-runc-v2", "ctr"} {
		p := program{
			name:   filepath.Join(dir, name),
			module: "programs/containerd",
			pkg:    "github.com/containerd/containerd/v2/cmd/" + name,
			tags:   "no_btrfs,no_devmapper,no_zfs",
		}
		if _, err := p.build(); err != nil {
			return "", err
		}
	}
	return filepath.Join(run.dir, "bin", dir), nil
}

// buildOwn builds a static program of testdata.
func buildOwn(name string) (string, error) {
	out := filepath.Join(run.dir, "bin", name)
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", out, "./testdata/"+name)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	return out, timedBuild(name, cmd)
}

// compilePause prefers C: its pause needs a tenth of the memory of a Go program.
func compilePause() (string, error) {
	out := filepath.Join(run.dir, "bin", "pause")
	if _, err := exec.LookPath("gcc"); err == nil {
		if timedBuild("pause (C)", exec.Command("gcc", "-static", "-Os", "-s", "-o", out, "testdata/pause/pause.c")) == nil {
			return out, nil
		}
	}
	return buildOwn("pausego")
}

func timedBuild(name string, cmd *exec.Cmd) error {
	started := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s in %q: %w\n%s", name, cmd.Dir, err, out)
	}
	fmt.Printf("e2e: built %s in %s\n", name, time.Since(started).Round(100*time.Millisecond))
	return nil
}
