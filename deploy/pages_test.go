package deploy_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sandbox-checker/plugin/checks"
)

// publicNames are the commands and flags of the program, as its own test holds them.
func publicNames(t *testing.T) (commands, flags []string) {
	t.Helper()
	for _, line := range strings.Split(read(t, "../cmd/sandbox-checker/testdata/public-names.golden"), "\n") {
		name, _, _ := strings.Cut(strings.TrimSuffix(line, ","), ":")
		if c, ok := strings.CutPrefix(name, "command "); ok {
			commands = append(commands, c)
		}
		if f, ok := strings.CutPrefix(name, "flag "); ok {
			f, _, _ = strings.Cut(f, ",")
			flags = append(flags, f[strings.LastIndexByte(f, ' ')+1:]) // before it stands the command, if one alone takes it
		}
	}
	if len(commands) < 5 || len(flags) < 5 {
		t.Fatalf("commands %q, flags %q", commands, flags)
	}
	return commands, flags
}

var (
	// The program, where it is called: at the start of code, or with a path before it.
	call = regexp.MustCompile("(?:^|[`$ ]|/)sandbox-checker ([a-z][a-z-]*)((?: +[^ `|]+)*)")
	code = regexp.MustCompile("(?s)```.*?```|`[^`\n]+`")
	flg  = regexp.MustCompile(`^--[a-z][a-z-]*`)
)

func TestPagesCallWhatIsThere(t *testing.T) {
	t.Parallel()
	commands, flags := publicNames(t)
	calls := 0
	for _, p := range files(t, ".", ".md") {
		for _, block := range code.FindAllString(read(t, p), -1) {
			for _, line := range strings.Split(block, "\n") {
				for _, m := range call.FindAllStringSubmatch(line, -1) {
					calls++
					args := strings.Fields(m[2])
					if !slices.Contains(commands, m[1]) {
						t.Errorf("%s: no command %q in %s", p, m[1], line)
					}
					if _, ok := checks.Named(append(args, "")[0]); !ok && (m[1] == "check" || m[1] == "repair") {
						t.Errorf("%s: no check %q in %s", p, args, line)
					}
					for _, a := range args {
						if f := flg.FindString(a); f != "" && !slices.Contains(flags, f) {
							t.Errorf("%s: no flag %s in %s", p, f, line)
						}
					}
				}
			}
		}
	}
	if calls == 0 {
		t.Error("no page calls the program: the rule looks at nothing")
	}
	for _, p := range []string{"systemd/README.md", "systemd/sandbox-checker.conf"} {
		for name := range configs(t) {
			if !strings.Contains(read(t, p), "/etc/node-problem-detector/"+name) {
				t.Errorf("%s does not give NPD %s", p, name)
			}
		}
	}
}

var (
	link = regexp.MustCompile(`\]\(([^)]+)\)`)
	file = regexp.MustCompile(`(?:^|[\s"` + "`" + `(=])((?:deploy|config|cmd)/[A-Za-z0-9_./-]*[A-Za-z0-9_])`)
)

// Links and paths in the pages lead somewhere.
func TestPagesLead(t *testing.T) {
	t.Parallel()
	for _, p := range files(t, ".", ".md") {
		for _, m := range link.FindAllStringSubmatch(read(t, p), -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") || target == "" {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(p), target)); err != nil {
				t.Errorf("%s: %v", p, err)
			}
		}
		for _, m := range file.FindAllStringSubmatch(read(t, p), -1) {
			if _, err := os.Stat(filepath.Join("..", m[1])); err != nil && !globs(t, m[1]) {
				t.Errorf("%s: %v", p, err)
			}
		}
	}
}

// globs: `deploy/kustomize/components/cni-*` is found without its star.
func globs(t *testing.T, p string) bool {
	t.Helper()
	found, err := filepath.Glob(filepath.Join("..", p) + "*")
	return err == nil && len(found) > 0 && path.Base(p) != ""
}

// Every check has its column, every condition is taken away again, and every folder has a page.
func TestPagesAreComplete(t *testing.T) {
	t.Parallel()
	readme := read(t, "README.md")
	for _, c := range checks.All() {
		if !strings.Contains(readme, "| "+c.Name+" |") {
			t.Errorf("README.md: no column for %s", c.Name)
		}
		if !strings.Contains(readme, `{"type":"`+c.Condition+`","$patch":"delete"}`) {
			t.Errorf("README.md does not remove %s", c.Condition)
		}
		if !strings.Contains(read(t, "remedies/README.md"), "| `"+c.Condition+"` |") {
			t.Errorf("remedies/README.md: no row for %s", c.Condition)
		}
	}
	for _, p := range helpPaths() {
		if !strings.Contains(readme, "`"+p+"`") && !strings.HasPrefix(p, "/run/flannel/") {
			t.Errorf("README.md does not say what happens without %s", p)
		}
	}
	entries, err := os.ReadDir("remedies")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && !strings.Contains(read(t, "remedies/README.md"), "]("+e.Name()+"/README.md)") {
			t.Errorf("remedies/README.md: no link to %s", e.Name())
		}
	}
}
