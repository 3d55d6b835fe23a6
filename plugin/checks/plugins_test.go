package checks_test

import (
	"context"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/capture"
	"sandbox-checker/plugin/checks"
	"sandbox-checker/plugin/cni"
)

// A capture of testdata/plugins is a healthy node. Lines of its comment say what the plugin needs there and what only
// looks so:
//
//	needs /run/flannel/subnet.env
//	harmless /etc/kube-flannel/net-conf.json
//
// The tests take one away at a time.
type pluginNode struct {
	path            string
	needs, harmless []string
}

func pluginNodes(t *testing.T) []pluginNode {
	t.Helper()
	files, err := filepath.Glob("testdata/plugins/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no captures in testdata/plugins: %v", err)
	}
	var out []pluginNode
	for _, p := range files {
		n := pluginNode{path: p}
		f := read(t, p)
		for line := range strings.Lines(f.About) {
			word, path, _ := strings.Cut(strings.TrimSpace(line), " ")
			switch {
			case !strings.HasPrefix(path, "/"):
				continue
			case word == "needs":
				n.needs = append(n.needs, path)
			case word == "harmless":
				n.harmless = append(n.harmless, path)
			}
		}
		for _, path := range slices.Concat(n.needs, n.harmless) {
			if len(without(f, path)) == 0 {
				t.Fatalf("%s: %s is not in the capture", p, path)
			}
		}
		if len(n.needs) == 0 {
			t.Fatalf("%s: needs nothing", p)
		}
		out = append(out, n)
	}
	return out
}

func (n pluginNode) name() string { return strings.TrimSuffix(filepath.Base(n.path), ".txtar") }

// without takes a path and everything below it out of the capture and returns what it took. The links that are left pointing
// at it are among them: a message may name those.
func without(f *capture.File, p string) []string {
	gone := func(q string) bool { return q == p || strings.HasPrefix(q, p+"/") }
	var took []string
	f.Entries = slices.DeleteFunc(f.Entries, func(e capture.Entry) bool {
		if gone(e.Path) || (e.Target != "" && path.Join(path.Dir(e.Path), e.Target) == p) {
			took = append(took, e.Path)
		}
		return gone(e.Path)
	})
	for q := range f.Content {
		if gone(q) {
			took = append(took, q)
			delete(f.Content, q)
		}
	}
	return took
}

// refuse makes every connection to a socket fail, and says whether the path is one.
func refuse(f *capture.File, p string) bool {
	for i, e := range f.Entries {
		if e.Path == p && e.Mode.Type() == fs.ModeSocket {
			f.Entries[i].Err = "connection refused"
			return true
		}
	}
	return false
}

func verdict(t *testing.T, f *capture.File) (plugin.Verdict, plugin.Result) {
	t.Helper()
	c, ok := checks.Named(checks.CNIConfigName)
	if !ok {
		t.Fatal("no check cni-config")
	}
	h, err := f.Host()
	if err != nil {
		t.Fatal(err)
	}
	v, r := c.Judge(context.Background(), h, plugin.Defaults())
	wellFormed(t, v.Line)
	return v, r
}

// names says whether the line has one of the paths, or its last part as a word of its own: calico is not in
// 10-calico.conflist.
func names(line string, paths []string) bool {
	return slices.ContainsFunc(paths, func(p string) bool {
		word := regexp.MustCompile(`(^|[^\w.-])` + regexp.QuoteMeta(path.Base(p)) + `($|[^\w.-])`)
		return strings.Contains(line, p) || word.MatchString(line)
	})
}

// TestPlugins holds cni-config to what each plugin type needs on its node.
func TestPlugins(t *testing.T) {
	nodes := pluginNodes(t)
	var needed, unneeded, sockets int
	for _, n := range nodes {
		t.Run(n.name(), func(t *testing.T) {
			if v, _ := verdict(t, read(t, n.path)); v.Status != plugin.OK {
				t.Errorf("healthy node: exit %d\n%s", v.Status, v.Line)
			}
			for _, p := range n.needs {
				needed++
				f := read(t, n.path)
				took := append(without(f, p), p)
				if v, _ := verdict(t, f); v.Status != plugin.Problem || !names(v.Line, took) {
					t.Errorf("without %s: exit %d, want 1 and its name\n%s", p, v.Status, v.Line)
				}
				f = read(t, n.path)
				if !refuse(f, p) {
					continue
				}
				sockets++
				if v, _ := verdict(t, f); v.Status != plugin.Problem || !names(v.Line, []string{p}) {
					t.Errorf("%s refuses: exit %d, want 1 and its name\n%s", p, v.Status, v.Line)
				}
			}
			for _, p := range n.harmless {
				unneeded++
				f := read(t, n.path)
				without(f, p)
				if v, _ := verdict(t, f); v.Status != plugin.OK {
					t.Errorf("without %s, which is not needed: exit %d, want 0\n%s", p, v.Status, v.Line)
				}
			}
		})
	}
	t.Logf("\n%-28s %5d\n%-28s %5d\n%-28s %5d\n%-28s %5d", "healthy nodes", len(nodes), "needed, taken away", needed,
		"needed sockets, refusing", sockets, "not needed, taken away", unneeded)
}

// TestPluginsOfTheTable wants test data for every row of the table of plugin types.
func TestPluginsOfTheTable(t *testing.T) {
	have := map[string]bool{}
	typ := regexp.MustCompile(`"type":\s*"([^"]+)"`)
	for _, n := range pluginNodes(t) {
		have[n.name()] = true
		for p, raw := range read(t, n.path).Content {
			if strings.Contains(p, "/cni/") {
				for _, m := range typ.FindAllSubmatch(raw, -1) {
					have[string(m[1])] = true
				}
			}
		}
	}
	for _, typ := range cni.Types() {
		if !have[typ] {
			t.Errorf("%s: no testdata/plugins/%s.txtar, and none that has the type", typ, typ)
		}
	}
}
