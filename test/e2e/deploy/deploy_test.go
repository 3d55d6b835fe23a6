// Package deploy_test runs what the tests of the repository's deploy/ skip without two programs: every overlay with kustomize, the
// alerts' unit tests and the dashboard's queries with promtool. Both are built from their modules below deploy/. No root needed.
package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const repository = "../../.."

// tools are the programs, by the variable in which the tests look for them.
var tools = []struct{ variable, module, pkg, tags, test string }{
	{"KUSTOMIZE", "deploy/kustomize/tool", "sigs.k8s.io/kustomize/kustomize/v5", "", "TestRender"},
	// Without the tag promtool links the clients of every cloud, to find targets there.
	{"PROMTOOL", "deploy/alerts/promtool", "github.com/prometheus/prometheus/cmd/promtool", "remove_all_sd", "TestPromtool"},
}

func TestWithTools(t *testing.T) {
	dir := t.TempDir()
	for _, tool := range tools {
		t.Run(tool.test, func(t *testing.T) {
			program := filepath.Join(dir, strings.ToLower(tool.variable))
			started := time.Now()
			goes(t, tool.module, nil, "build", "-tags", tool.tags, "-o", program, tool.pkg)
			t.Logf("built %s in %s", filepath.Base(program), time.Since(started).Round(100*time.Millisecond))
			out := goes(t, ".", []string{tool.variable + "=" + program}, "test", "-count=1", "-v", "-run", "^"+tool.test+"$", "./deploy")
			// A test that was skipped, or renamed, passes too.
			if !strings.Contains(out, "--- PASS: "+tool.test+" (") {
				t.Errorf("it did not run:\n%s", out)
			}
		})
	}
}

// goes runs the go command in a directory of the repository, and gives what it printed.
func goes(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = filepath.Join(repository, dir)
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0"), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s in %s: %v\n%s", strings.Join(args, " "), dir, err, out)
	}
	return string(out)
}
