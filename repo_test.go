package sandboxchecker_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sandbox-checker/plugin/capture"
	"sandbox-checker/plugin/checks"
)

const module = "sandbox-checker"

// tracked are the files of the repository. What starts with a dot is an editor's or git's, but for these.
func tracked(t *testing.T) []string {
	t.Helper()
	var out []string
	err := fs.WalkDir(os.DirFS("."), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && p != "." && p != ".ci" && p != ".github" {
			return fs.SkipDir
		}
		// .git is a file in a linked worktree; the program is where go build leaves it.
		if d.Type().IsRegular() && p != module && p != ".git" {
			out = append(out, p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// source is one parsed Go file of this module. test/e2e has modules of its own.
type source struct {
	path    string
	file    *ast.File
	imports []string
	fset    *token.FileSet
}

func (s source) test() bool { return strings.HasSuffix(s.path, "_test.go") }

func sources(t *testing.T) []source {
	t.Helper()
	var out []source
	for _, p := range tracked(t) {
		if path.Ext(p) != ".go" || strings.HasPrefix(p, "test/e2e/") {
			continue
		}
		s := source{path: p, fset: token.NewFileSet()}
		var err error
		if s.file, err = parser.ParseFile(s.fset, p, nil, parser.SkipObjectResolution); err != nil {
			t.Fatal(err)
		}
		for _, i := range s.file.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			s.imports = append(s.imports, name)
		}
		out = append(out, s)
	}
	return out
}

// The arrows: cmd, then checks, then plugin, then the readers. Each reader parses one source and knows no other.
func TestArrows(t *testing.T) {
	t.Parallel()
	// All packages directly below plugin are readers, but for these.
	above := map[string]bool{"plugin/checks": true, "plugin/capture": true}
	readers := map[string]bool{}
	for _, s := range sources(t) {
		if dir := path.Dir(s.path); path.Dir(dir) == "plugin" && !above[dir] {
			readers[dir] = true
		}
	}
	for _, want := range []string{"plugin/boot", "plugin/cni", "plugin/cri", "plugin/mount"} {
		if !readers[want] {
			t.Errorf("no reader %s: the rules below hold nothing", want)
		}
	}
	for _, s := range sources(t) {
		dir := path.Dir(s.path)
		for _, name := range s.imports {
			ours, isOurs := strings.CutPrefix(name, module+"/")
			switch {
			case isOurs && readers[dir] && !s.test() && !messages(dir, ours):
				t.Errorf("%s imports %s: readers import none of ours", s.path, name)
			case isOurs && dir == "plugin" && !readers[ours]:
				t.Errorf("%s imports %s: the vocabulary knows only the readers", s.path, name)
			case isOurs && dir == "plugin/capture" && !s.test() && ours != "plugin" && !readers[ours]:
				t.Errorf("%s imports %s: a capture knows no check", s.path, name)
			case isOurs && strings.HasPrefix(ours, "cmd/"):
				t.Errorf("%s imports %s: commands are at the end of the arrows", s.path, name)
			}
			forbidden(t, s, name)
		}
	}
}

// messages of CRI are generated and lie below the one reader that speaks it.
func messages(dir, imported string) bool { return dir == "plugin/cri" && imported == "plugin/cri/wire" }

// speaksCRI is what test/faults may import: it stands in for a runtime. It is in no program.
var speaksCRI = map[string]bool{"google.golang.org/grpc": true, "google.golang.org/protobuf": true, "k8s.io/cri-api": true}

// forbidden are imports that would let something in.
func forbidden(t *testing.T, s source, name string) {
	t.Helper()
	in := path.Dir(s.path)
	for prefix, why := range map[string]string{
		"connectrpc.com/connect":                        "gRPC stops at plugin/cri",
		"google.golang.org/grpc":                        "gRPC stops at plugin/cri",
		"k8s.io/cri-api":                                "the messages stop at plugin/cri",
		"google.golang.org/protobuf":                    "the messages stop at plugin/cri",
		"sandbox-checker/plugin/cri/wire":               "the messages stop at plugin/cri",
		"k8s.io/client-go":                              "the program calls no API server",
		"github.com/spf13/cobra":                        "pflag is enough",
		"github.com/stretchr":                           "the standard library tests",
		"github.com/containernetworking/cni/pkg/invoke": "it executes plugins",
		"os/exec": "a plugin that forks can outlive its deadline",
		"log":     "stdout is NPD's, and what is logged goes through slog",
	} {
		if name != prefix && (!strings.HasPrefix(name, prefix+"/") || prefix == "log") {
			continue
		}
		if in == "test/faults" && speaksCRI[prefix] {
			continue
		}
		if (in == "plugin/cri" || in == "plugin/cri/wire") && strings.Contains(why, "plugin/cri") || s.test() && name == "os/exec" {
			continue
		}
		t.Errorf("%s imports %s: %s", s.path, name, why)
	}
}

// mains may choose an exit status.
var mains = []string{"cmd/sandbox-checker/main.go", "deploy/image/main.go"}

// Exit status 1 means a sick node to NPD, so only main may choose one, and nothing else may end the process.
func TestOnlyMainExits(t *testing.T) {
	t.Parallel()
	exits := 0
	for _, s := range sources(t) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := sel.X.(*ast.Ident)
			if !ok || pkg.Name+"."+sel.Sel.Name != "os.Exit" {
				return true
			}
			if exits++; !slices.Contains(mains, s.path) && !s.test() {
				t.Errorf("%s: os.Exit", s.fset.Position(n.Pos()))
			}
			return true
		})
	}
	if exits == 0 {
		t.Error("found no os.Exit at all: the rule looks at nothing")
	}
}

func TestFilesStaySmall(t *testing.T) {
	t.Parallel()
	for _, p := range tracked(t) {
		if path.Ext(p) != ".go" {
			continue
		}
		raw, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(raw, []byte("\n// Code generated ")) {
			continue
		}
		if n := bytes.Count(raw, []byte("\n")); n >= 320 {
			t.Errorf("%s: %d lines: split it by subject", p, n)
		}
	}
}

// A check without its documentation, or without captures of a sick and of a well node, is not one.
func TestChecksAreComplete(t *testing.T) {
	t.Parallel()
	names, conditions := map[string]bool{}, map[string]bool{}
	for _, c := range checks.All() {
		if err := c.Validate(); err != nil {
			t.Error(err)
		}
		if !regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`).MatchString(c.Name) {
			t.Errorf("check %q: want kebab case", c.Name)
		}
		if first := c.Title[:1]; strings.ToLower(first) != first && !strings.HasPrefix(c.Title, "CNI") || strings.HasSuffix(c.Title, ".") || len(c.Title) > 90 {
			t.Errorf("check %s: title %q: one line, no capital, no full stop", c.Name, c.Title)
		}
		if names[c.Name] || conditions[c.Condition] || c.Reason == c.HealthyReason {
			t.Errorf("check %s: name, condition or reason taken twice", c.Name)
		}
		names[c.Name], conditions[c.Condition] = true, true
		kinds := kinds(t, c.Name)
		for _, k := range []string{"TP", "NEG"} {
			if !slices.Contains(kinds, k) {
				t.Errorf("check %s: no capture of kind %s in plugin/checks/testdata/%s", c.Name, k, c.Name)
			}
		}
	}
}

// kinds are what the captures in a check's own directory want of it.
func kinds(t *testing.T, check string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("plugin/checks/testdata", check, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, p := range files {
		raw, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		f, err := capture.Parse(raw)
		if err != nil {
			t.Errorf("%s: %v", p, err)
			continue
		}
		for _, w := range f.Wants {
			if w.Check == check {
				out = append(out, w.Kind)
			}
		}
	}
	return out
}

// What is tracked must work for whoever clones it: no path of one machine, and no package mirror that others cannot reach.
func TestNothingOfOneMachine(t *testing.T) {
	t.Parallel()
	// In two pieces, so that this file may be read too.
	words := []*regexp.Regexp{
		regexp.MustCompile(`(^|[^A-Za-z0-9_.-])/wor` + `k/`),
		regexp.MustCompile(`(?i)(GOPRO` + `XY|GONOSUM` + `DB|--index-u` + `rl)\s*[=:]\s*["']?https?://`),
	}
	if home, err := os.UserHomeDir(); err == nil && strings.HasPrefix(home, "/home/") {
		words = append(words, regexp.MustCompile(regexp.QuoteMeta(home)+`/`))
	}
	// The mirror that this machine downloads from, where it has one.
	for mirror := range strings.FieldsFuncSeq(os.Getenv("GOPRO"+"XY"), func(r rune) bool { return r == ',' || r == '|' }) {
		_, host, isURL := strings.Cut(mirror, "://")
		host, _, _ = strings.Cut(host[strings.LastIndexByte(host, '@')+1:], "/")
		if isURL && host != "proxy.golang.org" {
			words = append(words, regexp.MustCompile(regexp.QuoteMeta(host)))
		}
	}
	for _, p := range tracked(t) {
		raw, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range words {
			if loc := w.FindIndex(raw); loc != nil {
				t.Errorf("%s:%d: %s", p, 1+bytes.Count(raw[:loc[0]], []byte("\n")), raw[loc[0]:loc[1]])
			}
		}
	}
}
