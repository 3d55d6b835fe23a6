package deploy_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// builds are the directories that are rendered, by the name of their copy in testdata/rendered.
func builds(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, dir := range []string{"kustomize/overlays", "testdata/kustomize"} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			out[e.Name()] = filepath.Join(dir, e.Name())
		}
	}
	return out
}

const howToRender = "render again: kustomize/README.md, Tests"

// sources is a sum of all that is rendered, but for the copies of config/, which are held equal by themselves.
func sources(t *testing.T) string {
	t.Helper()
	h := sha256.New()
	for _, dir := range []string{"kustomize/base", "kustomize/components", "kustomize/overlays", "testdata/kustomize"} {
		for _, p := range files(t, dir, ".yaml") {
			h.Write([]byte(p + "\x00" + read(t, p) + "\x00"))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

var mapHash = regexp.MustCompile(`(sandbox-checker-config)-[a-z0-9]{10}\b`)

// rendered returns the kept DaemonSet of a build.
func rendered(t *testing.T, name string) object {
	t.Helper()
	docs := documents(t, name, read(t, "testdata/rendered/"+name+".yaml"))
	if len(docs) != 1 || docs[0]["kind"] != "DaemonSet" {
		t.Fatalf("%s: %d documents", name, len(docs))
	}
	return docs[0]
}

// TestRenderedIsFresh needs no kustomize: the copies say what they were made of.
func TestRenderedIsFresh(t *testing.T) {
	t.Parallel()
	want := sources(t)
	for name := range builds(t) {
		if first, _, _ := strings.Cut(read(t, "testdata/rendered/"+name+".yaml"), "\n"); first != "# sources "+want {
			t.Errorf("testdata/rendered/%s.yaml is of other sources: %s", name, howToRender)
		}
	}
	for _, p := range files(t, "testdata/rendered", ".yaml") {
		if builds(t)[strings.TrimSuffix(filepath.Base(p), ".yaml")] == "" && filepath.Base(p) != "helm.yaml" {
			t.Errorf("%s: nothing gives this", p)
		}
	}
}

// TestRender builds every overlay with the program in KUSTOMIZE ("kubectl kustomize" serves too).
func TestRender(t *testing.T) {
	command := strings.Fields(os.Getenv("KUSTOMIZE"))
	if len(command) == 0 {
		t.Skip("KUSTOMIZE names no kustomize: test/e2e/deploy builds one and runs this")
	}
	if len(command) == 1 {
		command = append(command, "build")
	}
	for name, dir := range builds(t) {
		cmd := exec.Command(command[0], append(command[1:len(command):len(command)], dir)...)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("%s: %v: %s", dir, err, stderr.String())
			continue
		}
		var daemonSet object
		maps := 0
		for _, doc := range documents(t, dir, mapHash.ReplaceAllString(string(out), "$1-HASH")) {
			switch doc["kind"] {
			case "DaemonSet":
				daemonSet = doc
			case "ConfigMap":
				maps++
				configMap(t, name, doc)
			}
		}
		if maps != 1 || daemonSet == nil {
			t.Errorf("%s: %d ConfigMaps, DaemonSet %v", dir, maps, daemonSet != nil)
			continue
		}
		if *update {
			write(t, name, daemonSet)
		}
		if want := rendered(t, name); !reflect.DeepEqual(daemonSet, want) {
			t.Errorf("%s: not what testdata/rendered has: %s", dir, howToRender)
		}
	}
}

// configMap holds its content to config/, byte by byte.
func configMap(t *testing.T, name string, m object) {
	t.Helper()
	want := configs(t)
	data, _ := m["data"].(object)
	for file, content := range data {
		if text(content) != want[file] {
			t.Errorf("%s: %s in the ConfigMap is not config/%s", name, file, file)
		}
	}
	if len(data) != len(want) {
		t.Errorf("%s: the ConfigMap has %d files, want %d", name, len(data), len(want))
	}
}

func write(t *testing.T, name string, doc object) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "# sources %s\n", sources(t))
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(doc); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("testdata/rendered/"+name+".yaml", []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Every component is used by some build, so each is rendered and looked at.
func TestComponentsAreRendered(t *testing.T) {
	t.Parallel()
	used := ""
	for _, dir := range builds(t) {
		used += read(t, filepath.Join(dir, "kustomization.yaml"))
	}
	used += read(t, "kustomize/base/kustomization.yaml")
	entries, err := os.ReadDir("kustomize/components")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if names = append(names, e.Name()); !strings.Contains(used, "/components/"+e.Name()+"\n") {
			t.Errorf("nothing renders component %s", e.Name())
		}
	}
	for _, want := range []string{"only-ours", "unprivileged", "metrics"} {
		if !slices.Contains(names, want) {
			t.Errorf("no component %s", want)
		}
	}
}
