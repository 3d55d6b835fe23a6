package build

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// Containerd is what containerd 2 consists of: itself, its shim and its client.
var Containerd = []string{"containerd", "containerd-shim-runc-v2", "ctr"}

// ContainerdProgram is one of Containerd. suites is the directory of test/e2e.
func ContainerdProgram(suites, name string) Go {
	return Go{
		Module:  filepath.Join(suites, "programs/containerd"),
		Package: "github.com/containerd/containerd/v2/cmd/" + name,
		Tags:    "no_btrfs,no_devmapper,no_zfs",
	}
}

// Pause builds the program that does nothing into a file. It prefers C: that one needs a tenth of the memory of a Go program,
// which is what small limits are about. suites is the directory of test/e2e.
func Pause(suites, out string) error {
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	c := Timed("pause (C)", exec.Command("gcc", "-static", "-Os", "-s", "-o", out, filepath.Join(suites, "testdata/pause/pause.c")))
	if c == nil {
		return nil
	}
	inGo := Go{Module: suites, Package: "./testdata/pausego", Flags: []string{"-ldflags=-s -w"}}
	if err := inGo.Build(out); err != nil {
		return errors.Join(c, err)
	}
	return nil
}

// Image puts a program of the product into an image archive with the product's own tool, deploy/image. repository is the
// product's directory, flags are more of that tool's.
func Image(repository, archive, name, program string, flags ...string) error {
	args := append([]string{"run", "./deploy/image", "-o", archive, "-name", name}, flags...)
	cmd := exec.Command("go", append(args, program)...)
	cmd.Dir, cmd.Env = repository, append(os.Environ(), "CGO_ENABLED=0")
	return Timed("image "+name, cmd)
}
