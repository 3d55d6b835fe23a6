// Package release_test holds what a release is made of against the repository. goreleaser itself does not run here: to build it
// takes longer than all other tests together. README.md says how it is run.
package release_test

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// config is all that .goreleaser.yaml has. A key that is not here fails the test: goreleaser ignores none either.
type config struct {
	Version     int
	ProjectName string `yaml:"project_name"`
	Dist        string
	Builds      []struct {
		ID, Main, Binary         string
		Env, Goos, Goarch, Flags []string
		Ldflags                  []string
		ModTimestamp             string `yaml:"mod_timestamp"`
	}
	Archives []struct {
		ID              string
		Formats         []string
		NameTemplate    string `yaml:"name_template"`
		WrapInDirectory bool   `yaml:"wrap_in_directory"`
		BuildsInfo      info   `yaml:"builds_info"`
		Files           []struct {
			Src  string
			Info info
		}
	}
	Sboms []struct {
		ID, Artifacts, Cmd string
		Args, Documents    []string
	}
	Checksum struct {
		NameTemplate string `yaml:"name_template"`
		Algorithm    string
	}
	Changelog, Release struct{ Disable bool }
}

type info struct {
	Owner, Group, Mtime string
	Mode                uint32
}

func read(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func load(t *testing.T) config {
	t.Helper()
	var c config
	dec := yaml.NewDecoder(bytes.NewReader([]byte(read(t, ".goreleaser.yaml"))))
	dec.KnownFields(true)
	if err := dec.Decode(&c); err != nil {
		t.Fatal(err)
	}
	return c
}

// The program of a release is the one that deploy/image, .ci/run and the suites build: static, for both platforms, without paths.
func TestBuild(t *testing.T) {
	t.Parallel()
	c := load(t)
	if len(c.Builds) != 1 {
		t.Fatalf("%d builds", len(c.Builds))
	}
	b := c.Builds[0]
	for what, equal := range map[string]bool{
		"main":   b.Main == "./cmd/sandbox-checker" && b.Binary == "sandbox-checker",
		"env":    slices.Equal(b.Env, []string{"CGO_ENABLED=0"}),
		"goos":   slices.Equal(b.Goos, []string{"linux"}),
		"goarch": slices.Equal(b.Goarch, []string{"amd64", "arm64"}),
		"flags":  slices.Equal(b.Flags, []string{"-trimpath", "-buildvcs=true"}),
		"time":   b.ModTimestamp == "{{ .CommitTimestamp }}",
	} {
		if !equal {
			t.Errorf("%s: %+v", what, b)
		}
	}
	if _, err := os.Stat(filepath.Join("..", b.Main, "main.go")); err != nil {
		t.Error(err)
	}
	command := `go build -trimpath -buildvcs=true -ldflags "` + strings.Join(b.Ldflags, " ") + `" -o `
	if !strings.Contains(read(t, "release/README.md"), command) {
		t.Errorf("README.md has other flags than %s", command)
	}
	if image := `CGO_ENABLED=0 GOARCH=$arch go build -trimpath -ldflags "` + strings.Join(b.Ldflags, " ") + `" -o `; !strings.Contains(read(t, "deploy/image/README.md"), image) {
		t.Errorf("deploy/image has other flags than %s", image)
	}
	if suite := `"-trimpath", "-buildvcs=true", "-ldflags", "` + strings.Join(b.Ldflags, " ") + `"`; !strings.Contains(read(t, "test/e2e/release/release_test.go"), suite) {
		t.Errorf("the suite has other flags than %s", suite)
	}
}

// An archive has what the README calls for, and nothing of the machine that made it.
func TestArchive(t *testing.T) {
	t.Parallel()
	c := load(t)
	if len(c.Archives) != 1 || !c.Archives[0].WrapInDirectory || !slices.Equal(c.Archives[0].Formats, []string{"tar.gz"}) {
		t.Fatalf("archives: %+v", c.Archives)
	}
	a := c.Archives[0]
	if want := (info{"root", "root", "{{ .CommitDate }}", 0o755}); a.BuildsInfo != want {
		t.Errorf("the program: %+v", a.BuildsInfo)
	}
	var packed []string
	for _, f := range a.Files {
		found, err := filepath.Glob(filepath.Join("..", f.Src))
		if err != nil || len(found) == 0 {
			t.Errorf("%s: nothing there, %v", f.Src, err)
		}
		for _, p := range found {
			packed = append(packed, strings.TrimPrefix(p, "../"))
		}
		if want := (info{"root", "root", "{{ .CommitDate }}", 0o644}); f.Info != want {
			t.Errorf("%s: %+v", f.Src, f.Info)
		}
	}
	want, err := filepath.Glob("../config/*.json")
	if err != nil || len(want) < 5 {
		t.Fatalf("config/: %q, %v", want, err)
	}
	for _, p := range append(want, "../LICENSE", "../README.md", "../CHANGELOG.md") {
		if !slices.Contains(packed, strings.TrimPrefix(p, "../")) {
			t.Errorf("%s is not packed", p)
		}
	}
	if !strings.Contains(read(t, ".gitignore"), "/"+c.Dist+"\n") || !strings.HasPrefix(c.Dist, ".") {
		t.Errorf("dist %q: git must ignore it, and tests that read the repository", c.Dist)
	}
	if !c.Release.Disable || !c.Changelog.Disable {
		t.Error("something would be published, or written over CHANGELOG.md")
	}
}

// The names in the README are those that are made.
func TestNames(t *testing.T) {
	t.Parallel()
	c := load(t)
	readme := read(t, "release/README.md")
	if len(c.Sboms) != 1 || c.Sboms[0].Artifacts != "binary" || len(c.Sboms[0].Documents) != 1 {
		t.Fatalf("sboms: %+v", c.Sboms)
	}
	if !slices.Contains(c.Sboms[0].Args, "-noserial") || !slices.Contains(c.Sboms[0].Args, "-notimestamp") {
		t.Errorf("an SBOM that differs each time: %q", c.Sboms[0].Args)
	}
	names := strings.NewReplacer("{{ .ProjectName }}", c.ProjectName, "{{ .Version }}", "VERSION", "{{ .Os }}", "linux", "{{ .Arch }}", "ARCH")
	for _, template := range []string{c.Archives[0].NameTemplate + ".tar.gz", c.Sboms[0].Documents[0], c.Checksum.NameTemplate} {
		if name := names.Replace(template); !strings.Contains(readme, "| `"+name+"` |") {
			t.Errorf("README.md has no %s", name)
		}
	}
	if c.Checksum.Algorithm != "sha256" {
		t.Errorf("checksum %s", c.Checksum.Algorithm)
	}
	for _, tool := range []string{"goreleaser", c.Sboms[0].Cmd} {
		m := regexp.MustCompile(`(?m)^tool (\S+)$`).FindStringSubmatch(read(t, "release/"+tool+"/go.mod"))
		if m == nil || !strings.Contains(readme, "go -C release/"+tool+" build -trimpath -o /tmp/release-tools/ "+m[1]+"\n") {
			t.Errorf("README.md does not build %s of %q", tool, m)
			continue
		}
		// go build names a program after the last element of its path that is no version.
		name := path.Base(m[1])
		if regexp.MustCompile(`^v\d+$`).MatchString(name) {
			name = path.Base(path.Dir(m[1]))
		}
		if name != tool {
			t.Errorf("%s is built as %s", tool, name)
		}
	}
}

// TestChangelog holds the form: a first section Unreleased, then versions, each with its date.
func TestChangelog(t *testing.T) {
	t.Parallel()
	sections := regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(read(t, "CHANGELOG.md"), -1)
	if len(sections) == 0 || sections[0][1] != "[Unreleased]" {
		t.Fatalf("sections %q", sections)
	}
	for _, s := range sections[1:] {
		if !regexp.MustCompile(`^\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d$`).MatchString(s[1]) {
			t.Errorf("section %q", s[1])
		}
	}
	for _, s := range regexp.MustCompile(`(?m)^### (.*)$`).FindAllStringSubmatch(read(t, "CHANGELOG.md"), -1) {
		if !slices.Contains([]string{"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security", "Known limits"}, s[1]) {
			t.Errorf("section %q", s[1])
		}
	}
}
