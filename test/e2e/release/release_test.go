// Package release_test shows that a release can be made again: the same commit, in two directories and with two build caches,
// gives the same programs and the same image. No root needed.
package release_test

import (
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"sandbox-checker/test/e2e/internal/process"
)

const repository = "../../.."

// commit puts the sources as they lie here into a repository of their own, under a tag, which is the version. Tests and documents
// do not get into a program.
func commit(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"cmd", "plugin"} {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(repository, name))); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(repository, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git := []string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false", "-c", "core.hooksPath=/dev/null"}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A", "-f"}, {"commit", "-q", "-m", "release"}, {"tag", "v0.1.0"}} {
		command(t, dir, nil, "git", append(git, args...)...)
	}
}

func command(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := process.Output(cmd)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func sum(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(content))
}

func TestReproducible(t *testing.T) {
	architectures := []string{"amd64", "arm64"}
	image := filepath.Join(t.TempDir(), "image")
	command(t, repository, []string{"CGO_ENABLED=0"}, "go", "build", "-o", image, "./deploy/image")
	var sums [2]map[string]string
	first := filepath.Join(t.TempDir(), "a")
	commit(t, first)
	another := filepath.Join(t.TempDir(), "another and longer") // a path that got into the bytes would change their length too
	command(t, first, nil, "git", "clone", "-q", first, another)
	for i, dir := range []string{first, another} {
		out := t.TempDir()
		env := []string{"CGO_ENABLED=0", "GOOS=linux", "GOFLAGS="}
		if i == 1 { // a cache of its own: nothing of the first build can be taken for the second
			env = append(env, "GOCACHE="+filepath.Join(t.TempDir(), "cache"))
		}
		sums[i] = map[string]string{}
		args := []string{"-o", filepath.Join(out, "image.tar"), "-name", "localhost/sandbox-checker:v0.1.0"}
		for _, arch := range architectures {
			program := filepath.Join(out, arch)
			command(t, dir, append(env, "GOARCH="+arch), "go", "build", "-trimpath", "-buildvcs=true", "-ldflags", "-s -w", "-o", program, "./cmd/sandbox-checker")
			stamped(t, program, dir)
			sums[i][arch] = sum(t, program)
			args = append(args, program)
		}
		command(t, dir, nil, image, args...)
		sums[i]["image"] = sum(t, filepath.Join(out, "image.tar"))
		if got := command(t, dir, nil, filepath.Join(out, runtime.GOARCH), "version"); !strings.HasPrefix(got, "sandbox-checker v0.1.0 ") || strings.Contains(got, "modified") {
			t.Errorf("version: %s", got)
		}
	}
	for what, one := range sums[0] {
		if t.Logf("%s %s", one, what); sums[1][what] != one {
			t.Errorf("%s: %s in one directory, %s in another", what, one, sums[1][what])
		}
	}
}

// stamped: the program tells tag and commit, was static, and has no path of this machine in it.
func stamped(t *testing.T, program, dir string) {
	t.Helper()
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	head := strings.TrimSpace(command(t, dir, nil, "git", "rev-parse", "HEAD"))
	if info.Main.Version != "v0.1.0" || settings["vcs.revision"] != head || settings["vcs.modified"] != "false" || settings["CGO_ENABLED"] != "0" {
		t.Errorf("%s: version %s, %v; the commit is %s", program, info.Main.Version, settings, head)
	}
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, strings.TrimSpace(command(t, dir, nil, "go", "env", "GOROOT"))} {
		if strings.Contains(string(content), path+"/") {
			t.Errorf("%s has %s in it", program, path)
		}
	}
}
