// Package deploy_test runs what the tests of the repository's deploy/ skip without two programs: every overlay with kustomize, the
// alerts' unit tests and the dashboard's queries with promtool. Both are built from their modules below deploy/. No root needed.
package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sandbox-checker/test/e2e/internal/build"
	"sandbox-checker/test/e2e/internal/process"
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
			if err := (build.Go{Module: filepath.Join(repository, tool.module), Package: tool.pkg, Tags: tool.tags}).Build(program); err != nil {
				t.Fatal(err)
			}
			out := goes(t, tool.variable+"="+program, "test", "-count=1", "-v", "-run", "^"+tool.test+"$", "./deploy")
			// A test that was skipped, or renamed, passes too.
			if !strings.Contains(out, "--- PASS: "+tool.test+" (") {
				t.Errorf("it did not run:\n%s", out)
			}
		})
	}
}

// goes runs the go command in the repository with one more variable, and gives what it printed.
func goes(t *testing.T, variable string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = repository
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", variable)
	out, err := process.Output(cmd)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
