// Package deploy_test holds what is deployed against the program: its help, its conditions and its configuration. Nothing here
// needs a cluster, root or the network. Two tools are used where the environment names them, KUSTOMIZE and PROMTOOL:
// test/e2e/deploy builds both and runs the tests that need them.
package deploy_test

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"sandbox-checker/plugin/checks"
)

var update = flag.Bool("update", false, "write testdata/rendered; needs KUSTOMIZE")

type object = map[string]any

// files lists what lies below dir and ends so.
func files(t *testing.T, dir, ext string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(p, ext) {
			out = append(out, p)
		}
		return err
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("%s below %s: %d files, %v", ext, dir, len(out), err)
	}
	return out
}

func read(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// documents parses YAML. A key that is there twice is an error.
func documents(t *testing.T, name, text string) []object {
	t.Helper()
	var out []object
	for dec := yaml.NewDecoder(bytes.NewReader([]byte(text))); ; {
		var doc object
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if doc != nil {
			out = append(out, doc)
		}
	}
}

// at follows keys and indices; nil when there is nothing.
func at(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(object)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// named returns the element of a list that has this name.
func named(v any, name string) object {
	for _, e := range list(v) {
		if text(at(e, "name")) == name {
			return e.(object)
		}
	}
	return nil
}

func TestYAMLParses(t *testing.T) {
	t.Parallel()
	for _, p := range files(t, ".", ".yaml") {
		if len(documents(t, p, read(t, p))) == 0 {
			t.Errorf("%s: nothing in it", p)
		}
	}
}

// configs are the files of config/, by name.
func configs(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, p := range files(t, "../config", ".json") {
		out[filepath.Base(p)] = read(t, p)
	}
	return out
}

// The copies are there because kustomize reads nothing above its own directory.
func TestConfigCopies(t *testing.T) {
	t.Parallel()
	const dir = "kustomize/components/only-ours/config"
	want := configs(t)
	for _, p := range files(t, dir, "") {
		if name := filepath.Base(p); want[name] == "" || read(t, p) != want[name] {
			t.Errorf("%s is not config/%s: cp config/*.json deploy/%s/", p, name, dir)
		}
		delete(want, filepath.Base(p))
	}
	for name := range want {
		t.Errorf("%s/%s is missing", dir, name)
	}
	var generated []string
	for _, f := range list(at(documents(t, "", read(t, "kustomize/components/only-ours/kustomization.yaml"))[0], "configMapGenerator", 0, "files")) {
		generated = append(generated, filepath.Base(text(f)))
	}
	for name := range configs(t) {
		if !slices.Contains(generated, name) {
			t.Errorf("the ConfigMap lacks %s", name)
		}
	}
	if len(generated) != len(configs(t)) {
		t.Errorf("the ConfigMap has %q", generated)
	}
}

// conditions of all checks, and the two of them that a remedy may act on.
func conditions() []string {
	var out []string
	for _, c := range checks.All() {
		out = append(out, c.Condition)
	}
	return out
}

var remediable = []string{checks.CNIConfig.Condition, checks.SandboxCrashLoop.Condition}
