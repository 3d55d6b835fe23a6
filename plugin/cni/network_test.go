package cni

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// recorded is a configuration of testdata, as the plugin's own manifest writes it.
func recorded(tb testing.TB, name string) []byte {
	tb.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

// parsed is the network of a file that must load.
func parsed(tb testing.TB, file, raw string) Network {
	tb.Helper()
	n, err := Parse(file, []byte(raw))
	if err != nil {
		tb.Fatalf("%s: %v", file, err)
	}
	return n
}

// listOf is a network of these plugins, each as JSON.
func listOf(tb testing.TB, plugins ...string) Network {
	tb.Helper()
	return parsed(tb, "10-net.conflist", `{"cniVersion":"0.3.1","name":"podnet","plugins":[`+strings.Join(plugins, ",")+`]}`)
}

func typesOf(n Network) []string {
	var out []string
	for _, p := range n.Plugins {
		out = append(out, p.Type)
	}
	return out
}

func TestIsConfig(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"10-flannel.conflist": true, "99-loopback.conf": true, "10-net.json": true,
		// Dot files count, so an editor's leftovers do: libcni asks for the extension only.
		".10-flannel.conflist.swp.conf": true, ".conf": true, ".conflist": true, "a.b.json": true, "10 net.conf": true,
		"10-calico.conflist.template": false, "10-flannel.conflist.bak": false, "05-cilium.conf.cilium_bak": false,
		"10-aws.conflist_disabled": false, "10-net.conf~": false, "10-net.CONF": false, "10-net.Conflist": false,
		"README": false, "conf": false, "conflist": false, "": false, "10-net.": false, "10-net.conf ": false, "multus.kubeconfig": false,
	} {
		if got := IsConfig(name); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	const list = `{"cniVersion":"0.3.1","name":"cbr0","plugins":[{"type":"flannel"},{"type":"portmap"}]}`
	for name, tc := range map[string]struct {
		file, raw    string
		net, version string
		types        []string
		inlined      bool
	}{
		"list":                 {"a.conflist", list, "cbr0", "0.3.1", []string{"flannel", "portmap"}, false},
		"list by its path":     {"/etc/cni/net.d/a.conflist", list, "cbr0", "0.3.1", []string{"flannel", "portmap"}, false},
		"CRLF":                 {"a.conflist", strings.ReplaceAll(list, ",", ",\r\n"), "cbr0", "0.3.1", []string{"flannel", "portmap"}, false},
		"single .conf":         {"a.conf", `{"name":"n","cniVersion":"0.4.0","type":"bridge"}`, "n", "0.4.0", []string{"bridge"}, false},
		"single .json":         {"a.json", `{"name":"n","type":"bridge"}`, "n", "", []string{"bridge"}, false},
		"list without version": {"a.conflist", `{"name":"n","plugins":[{"type":"bridge"}]}`, "n", "", []string{"bridge"}, false},
		// null in a single plugin leaves Go's zero value: no version, which means 0.1.0. In a list it is an error.
		"null version in a .conf": {"a.conf", `{"name":"n","cniVersion":null,"type":"bridge"}`, "n", "", []string{"bridge"}, false},
		"nameless .conf":          {"a.conf", `{"type":"bridge"}`, "", "", []string{"bridge"}, false},
		"empty name in a list":    {"a.conflist", `{"name":"","plugins":[{"type":"bridge"}]}`, "", "", []string{"bridge"}, false},
		// Its plugins may stand in the sub-directory of its name (libcni 1.3), so it is no error here.
		"no plugins key":     {"a.conflist", `{"name":"n","cniVersion":"1.1.0"}`, "n", "1.1.0", nil, false},
		"inlined only":       {"a.conflist", `{"name":"n","loadOnlyInlinedPlugins":true,"plugins":[{"type":"x"}]}`, "n", "", []string{"x"}, true},
		"inlined as text":    {"a.conflist", `{"name":"n","loadOnlyInlinedPlugins":"TRUE","plugins":[{"type":"x"}]}`, "n", "", []string{"x"}, true},
		"disableCheck, text": {"a.conflist", `{"name":"n","disableCheck":"false","plugins":[{"type":"x"}]}`, "n", "", []string{"x"}, false},
		// libcni takes the highest of cniVersions that it knows itself.
		"cniVersions":           {"a.conflist", `{"name":"n","cniVersions":["0.3.1","1.0.0","9.0.0"],"plugins":[{"type":"x"}]}`, "n", "1.0.0", []string{"x"}, false},
		"type and plugins":      {"a.conf", `{"name":"n","type":"bridge","plugins":[{"type":"x"}]}`, "n", "", []string{"bridge"}, false},
		"Type in other letters": {"a.conf", `{"Name":"n","TYPE":"bridge"}`, "n", "", []string{"bridge"}, false}, // as Go's JSON takes it
		"unknown keys":          {"a.conf", `{"name":"n","type":"x","ipam":{},"mtu":"9001","a":[[]]}`, "n", "", []string{"x"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := parsed(t, tc.file, tc.raw)
			if n.Name != tc.net || n.Version != tc.version || !slices.Equal(typesOf(n), tc.types) || n.InlinedOnly != tc.inlined {
				t.Errorf("%q %q %q %v; want %+v", n.Name, n.Version, typesOf(n), n.InlinedOnly, tc)
			}
		})
	}
}

// The plugin's whole configuration is kept: what a plugin needs stands in keys that libcni does not know.
func TestParseKeepsConf(t *testing.T) {
	t.Parallel()
	n := parsed(t, "10-canal.conflist", string(recorded(t, "10-canal.conflist")))
	if got := text(n.Plugins[0].Conf, "kubernetes.kubeconfig"); got != "/etc/cni/net.d/calico-kubeconfig" {
		t.Errorf("kubeconfig %q", got)
	}
	n = parsed(t, "00-multus.conf", string(recorded(t, "00-multus.conf")))
	if got := len(n.Plugins[0].Conf["delegates"].([]any)); got != 2 {
		t.Errorf("%d delegates", got)
	}
}

func TestParseFails(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ file, raw, want string }{
		"empty":                  {"a.conflist", "", "invalid JSON: unexpected end of JSON input"},
		"empty .conf":            {"a.conf", "", "invalid JSON: unexpected end of JSON input"},
		"only a newline":         {"a.conf", "\n", "invalid JSON: unexpected end of JSON input"},
		"cut":                    {"a.conflist", `{"name":"n","plugins":[{"type":"bri`, "invalid JSON: unexpected end of JSON input"},
		"zero bytes":             {"a.conflist", "\x00\x00\x00", "invalid JSON: invalid character"},
		"BOM":                    {"a.conflist", "\xef\xbb\xbf" + `{"name":"n","plugins":[{"type":"x"}]}`, "invalid JSON: invalid character"},
		"BOM, .conf":             {"a.conf", "\xef\xbb\xbf" + `{"name":"n","type":"x"}`, "invalid JSON: invalid character"},
		"trailing comma":         {"a.conflist", `{"name":"n","plugins":[{"type":"x"},]}`, "invalid JSON: invalid character"},
		"trailing comma, .conf":  {"a.conf", `{"name":"n","type":"x",}`, "invalid JSON: invalid character"},
		"comment":                {"a.conf", "// calico\n{}", "invalid JSON: invalid character"},
		"two values":             {"a.conf", `{"type":"x"}{"type":"x"}`, "invalid JSON: invalid character"},
		"YAML":                   {"a.conf", "type: x\n", "invalid JSON: invalid character"},
		"list in .conf":          {"a.conf", `{"name":"n","plugins":[{"type":"x"}]}`, "needs the extension .conflist"},
		"list in .json":          {"a.json", `{"name":"n","plugins":[{"type":"x"}]}`, "needs the extension .conflist"},
		"empty list in .conf":    {"a.conf", `{"name":"n","plugins":[]}`, "missing 'type'"},
		"single in .conflist":    {"a.conflist", `{"type":"bridge"}`, "no name"},
		"array":                  {"a.conflist", `[]`, "cannot unmarshal array"},
		"null":                   {"a.conflist", `null`, "no name"},
		"null, .conf":            {"a.conf", `null`, "missing 'type'"},
		"no type":                {"a.conf", `{"name":"n"}`, "missing 'type'"},
		"empty type":             {"a.conf", `{"type":""}`, "missing 'type'"},
		"null type":              {"a.conf", `{"type":null}`, "missing 'type'"},
		"type a number":          {"a.conf", `{"type":5}`, "type of type string"},
		"no name in a list":      {"a.conflist", `{"plugins":[{"type":"x"}]}`, "no name"},
		"null name in a list":    {"a.conflist", `{"name":null,"plugins":[{"type":"x"}]}`, "invalid name type"},
		"null version in a list": {"a.conflist", `{"name":"n","cniVersion":null,"plugins":[{"type":"x"}]}`, "invalid cniVersion"},
		"version a number":       {"a.conflist", `{"name":"n","cniVersion":1.0,"plugins":[{"type":"x"}]}`, "invalid cniVersion"},
		"version a number, conf": {"a.conf", `{"type":"x","cniVersion":1.0}`, "cniVersion of type string"},
		"plugins empty":          {"a.conflist", `{"name":"n","plugins":[]}`, "no plugins in list"},
		"plugins null":           {"a.conflist", `{"name":"n","plugins":null}`, "invalid 'plugins' type"},
		"plugins an object":      {"a.conflist", `{"name":"n","plugins":{"type":"x"}}`, "invalid 'plugins' type"},
		"plugin null":            {"a.conflist", `{"name":"n","plugins":[null]}`, "missing 'type'"},
		"plugin a text":          {"a.conflist", `{"name":"n","plugins":["x"]}`, "cannot unmarshal string"},
		"plugin without type":    {"a.conflist", `{"name":"n","plugins":[{"type":"x"},{"name":"y"}]}`, "plugin config 1"},
		"capability as text":     {"a.conf", `{"type":"x","capabilities":{"portMappings":"true"}}`, "capabilities of type bool"},
		"ipam a text":            {"a.conf", `{"type":"x","ipam":"host-local"}`, "ipam of type"},
		"inlined, no plugins":    {"a.conflist", `{"name":"n","loadOnlyInlinedPlugins":true}`, "no 'plugins' key"},
		"disableCheck a word":    {"a.conflist", `{"name":"n","disableCheck":"yes","plugins":[{"type":"x"}]}`, "for disableCheck"},
		"deep":                   {"a.conf", `{"type":"x","a":` + strings.Repeat("[", 20000), "max depth"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, err := Parse(tc.file, []byte(tc.raw))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("%+v, %v; want %q", n, err, tc.want)
			}
			if strings.HasPrefix(err.Error(), "error parsing configuration") {
				t.Errorf("libcni's own preamble: %v", err)
			}
		})
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	one := []Plugin{{Type: "bridge"}}
	for name, tc := range map[string]struct {
		net     Network
		want    string // "" for no error
		version bool
	}{
		"good":                    {Network{Name: "cbr0", Version: "0.3.1", Plugins: one}, "", false},
		"all kinds of characters": {Network{Name: "Pod_net-1.a", Version: "1.1.0", Plugins: one}, "", false},
		"nameless":                {Network{Version: "0.3.1", Plugins: one}, "no name", false},
		"space":                   {Network{Name: "pod net", Plugins: one}, `"pod net"`, false},
		"slash":                   {Network{Name: "kube-system/net", Plugins: one}, "only letters", false},
		"dots":                    {Network{Name: "..", Plugins: one}, "only letters", false},
		"newline at the end":      {Network{Name: "net\n", Plugins: one}, "only letters", false},
		"umlaut":                  {Network{Name: "nätwerk", Plugins: one}, "only letters", false},
		"type is a path":          {Network{Name: "n", Plugins: []Plugin{{Type: "../bin/sh"}}}, "no file name", false},
		"second type is a path":   {Network{Name: "n", Plugins: []Plugin{{Type: "a"}, {Type: "/bin/sh"}}}, "no file name", false},
		"no version":              {Network{Name: "n", Plugins: one}, "", false},
		"0.1.0":                   {Network{Name: "n", Version: "0.1.0"}, "", false},
		"0.2.0":                   {Network{Name: "n", Version: "0.2.0"}, "", false},
		"0.3.0":                   {Network{Name: "n", Version: "0.3.0"}, "", false},
		"0.4.0":                   {Network{Name: "n", Version: "0.4.0"}, "", false},
		"1.0.0":                   {Network{Name: "n", Version: "1.0.0"}, "", false},
		// Compared as text by the plugins: only the spec's own spelling counts.
		"0.3.2":       {Network{Name: "n", Version: "0.3.2"}, "0.3.2", true},
		"0.3":         {Network{Name: "n", Version: "0.3"}, "does not exist", true},
		"1":           {Network{Name: "n", Version: "1"}, "does not exist", true},
		"01.0.0":      {Network{Name: "n", Version: "01.0.0"}, "does not exist", true},
		"1.2.0":       {Network{Name: "n", Version: "1.2.0"}, "1.2.0", true},
		"latest":      {Network{Name: "n", Version: "latest"}, "no version", false},
		"v1.0.0":      {Network{Name: "n", Version: "v1.0.0"}, "no version", false},
		"space first": {Network{Name: "n", Version: " 0.3.1"}, "no version", false},
		"space last":  {Network{Name: "n", Version: "0.3.1 "}, "no version", false},
		"only spaces": {Network{Name: "n", Version: "  "}, "no version", false},
		"four parts":  {Network{Name: "n", Version: "1.0.0.0"}, "no version", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := tc.net.Validate()
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v; want %q", err, tc.want)
			}
			// Only a version that a later spec may have can be disproved by a pod.
			if errors.Is(err, ErrVersion) != tc.version {
				t.Errorf("%v: ErrVersion %v", err, !tc.version)
			}
		})
	}
}

func TestOnlyLoopback(t *testing.T) {
	t.Parallel()
	lo, br := Plugin{Type: "loopback"}, Plugin{Type: "bridge"}
	for name, tc := range map[string]struct {
		plugins []Plugin
		want    bool
	}{
		"loopback": {[]Plugin{lo}, true}, "twice": {[]Plugin{lo, lo}, true}, "bridge": {[]Plugin{br}, false},
		"first of a chain": {[]Plugin{lo, br}, false}, "last of a chain": {[]Plugin{br, lo}, false}, "nothing": {nil, false},
		"a name like it": {[]Plugin{{Type: "loopback2"}}, false},
	} {
		if got := (Network{Plugins: tc.plugins}).OnlyLoopback(); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestWithoutValues(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`invalid value "hunter2" for disableCheck`: `invalid value for disableCheck`,
		`invalid value "two words" for disableGC`:  `invalid value for disableGC`,
		`invalid value "hunt`:                      `invalid value`, // cut by the runtime
		`invalid value "" for disableGC`:           `invalid value for disableGC`,
		`no plugins in list`:                       `no plugins in list`,
		``:                                         ``,
		`cni config load failed: x.conflist: error parsing configuration list: invalid value "s3cret" for disableCheck: invalid cni config`: `cni config load failed: x.conflist: error parsing configuration list: invalid value for disableCheck: invalid cni config`,
	} {
		if got := WithoutValues(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
