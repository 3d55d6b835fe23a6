package e2e

import (
	"flag"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"sandbox-checker/test/e2e/internal/build"
)

// repository is the product's directory.
const repository = "../.."

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
	buildChecker = builtOnce(program{name: "sandbox-checker", module: repository, pkg: "./cmd/sandbox-checker"})
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
	if *keep == "" || p.module == repository {
		return out, p.compile(out)
	}
	mod, err := os.ReadFile(filepath.Join(p.module, "go.mod"))
	if err != nil {
		return "", err
	}
	kept := filepath.Join(*keep, fmt.Sprintf("%s-%08x", p.name, crc32.ChecksumIEEE(mod))) // another version is another program
	if _, err := os.Stat(kept); err != nil {
		if err := os.MkdirAll(filepath.Dir(kept), 0o755); err != nil {
			return "", err
		}
		if err := p.compile(kept); err != nil {
			return "", err
		}
	}
	return out, exec.Command("cp", kept, out).Run()
}

func (p program) compile(out string) error {
	return build.Go{Module: p.module, Package: p.pkg, Tags: p.tags, Cgo: p.cgo, Flags: p.flags}.Build(out)
}

// compileContainerd gives the directory of containerd 2, its shim and its ctr.
func compileContainerd() (string, error) {
	const dir = "containerd2"
	if err := os.MkdirAll(filepath.Join(run.dir, "bin", dir), 0o755); err != nil {
		return "", err
	}
	for _, name := range build.Containerd {
		c := build.ContainerdProgram(".", name)
		p := program{name: filepath.Join(dir, name), module: c.Module, pkg: c.Package, tags: c.Tags}
		if _, err := p.build(); err != nil {
			return "", err
		}
	}
	return filepath.Join(run.dir, "bin", dir), nil
}

// buildOwn builds a static program of testdata.
func buildOwn(name string) (string, error) {
	out := filepath.Join(run.dir, "bin", name)
	return out, build.Go{Module: ".", Package: "./testdata/" + name, Flags: []string{"-ldflags=-s -w"}}.Build(out)
}

func compilePause() (string, error) {
	out := filepath.Join(run.dir, "bin", "pause")
	return out, build.Pause(".", out)
}
