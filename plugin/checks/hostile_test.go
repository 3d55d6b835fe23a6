package checks_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/capture"
	"sandbox-checker/plugin/cri"
)

const (
	confDir   = "/etc/cni/net.d"
	goodList  = `{"cniVersion": "1.0.0", "name": "podnet", "plugins": [{"type": "bridge", "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.251.9.0/24"}]]}}]}`
	loadedOK  = "OK"
	loadFails = "cni config load failed: failed to load CNI config file FILE: error reading FILE: invalid cni config: failed to load cni config"
)

// hostileNode is a node that has been up for two hours, with the programs of [goodList] and no configuration yet.
func hostileNode(t *testing.T, info, crioConfig string) *capture.File {
	t.Helper()
	f, err := capture.Parse([]byte(`sandbox-checker capture 1
-- now --
2026-03-02T09:00:00Z
-- /proc/uptime --
7200.31 13680.59
-- /proc/stat --
btime 1772434800
-- /proc/sys/kernel/random/boot_id --
4f7d8f0a-52cb-4d1c-9f5e-6d0c0a3f7a11
-- files --
drwxr-xr-x 2026-02-10T08:00:00Z /etc/cni/net.d
-rwxr-xr-x - /opt/cni/bin/bridge
-rwxr-xr-x - /opt/cni/bin/calico
-rwxr-xr-x - /opt/cni/bin/calico-ipam
-rwxr-xr-x - /opt/cni/bin/flannel
-rwxr-xr-x - /opt/cni/bin/host-local
-rwxr-xr-x - /opt/cni/bin/linkerd-cni
-rwxr-xr-x - /opt/cni/bin/loopback
-rwxr-xr-x - /opt/cni/bin/multus
`))
	if err != nil {
		t.Fatal(err)
	}
	r := cri.Records{Socket: "/run/containerd/containerd.sock", Info: []byte(info)}
	if crioConfig != "" {
		r.Socket, r.CRIOConfig = "/var/run/crio/crio.sock", []byte(crioConfig)
	}
	f.SetCRI(r)
	return f
}

// onContainerd is the node with containerd, which says NetworkReady as up has it and load of its last reading.
func onContainerd(t *testing.T, up bool, load string) *capture.File {
	t.Helper()
	message := ""
	if !up {
		message = "Network plugin returns error: cni plugin not initialized"
	}
	return hostileNode(t, fmt.Sprintf(`{
  "cniconfig": {"PluginConfDir": %q, "PluginDirs": ["/opt/cni/bin"], "PluginMaxConfNum": 1},
  "lastCNILoadStatus": %q,
  "status": {"conditions": [{"type": "RuntimeReady", "status": true}, {"type": "NetworkReady", "status": %t, "message": %q}]}
}`, confDir, load, up, message), "")
}

// onCRIO is the node with CRI-O that says NetworkReady.
func onCRIO(t *testing.T) *capture.File {
	t.Helper()
	return hostileNode(t, `{"config": {"crio": {}}, "status": {"conditions": [{"type": "RuntimeReady", "status": true}, {"type": "NetworkReady", "status": true}]}}`,
		fmt.Sprintf("[crio.network]\nnetwork_dir = %q\nplugin_dirs = [\"/opt/cni/bin\"]\n", confDir+"/"))
}

func put(f *capture.File, name, content string) { f.Content[confDir+"/"+name] = []byte(content) }

func special(f *capture.File, path string, mode fs.FileMode, target, err string) {
	f.Entries = append(f.Entries, capture.Entry{Path: path, Mode: mode, Target: target, Err: err})
}

// bothWays wants exit 2 while the runtime is content with what we cannot read, and exit 1 when it is not.
var bothWays = []struct {
	up   bool
	load string
	exit int
}{{true, loadedOK, 2}, {false, loadFails, 1}}

// TestHostileFiles puts what nobody expects where the first configuration file should be.
func TestHostileFiles(t *testing.T) {
	first := confDir + "/00-x.conf"
	files := map[string]func(*capture.File){
		"10 MB": func(f *capture.File) {
			put(f, "00-x.conf", `{"name": "podnet", "type": "bridge", "pad": "`+strings.Repeat("x", 10<<20)+`"}`)
		},
		"FIFO":             func(f *capture.File) { special(f, first, fs.ModeNamedPipe|0o644, "", "") },
		"character device": func(f *capture.File) { special(f, first, fs.ModeDevice|fs.ModeCharDevice|0o644, "", "") },
		"block device":     func(f *capture.File) { special(f, first, fs.ModeDevice|0o644, "", "") },
		"socket":           func(f *capture.File) { special(f, first, fs.ModeSocket|0o644, "", "") },
		"unreadable":       func(f *capture.File) { special(f, first, 0o600, "", "permission denied") },
		"I/O error":        func(f *capture.File) { special(f, first, 0o644, "", "input/output error") },
		"link to itself":   func(f *capture.File) { special(f, first, fs.ModeSymlink|0o777, "00-x.conf", "") },
		"link in a circle": func(f *capture.File) {
			special(f, first, fs.ModeSymlink|0o777, confDir+"/01-x.conf", "")
			special(f, confDir+"/01-x.conf", fs.ModeSymlink|0o777, "00-x.conf", "")
		},
		"link to a FIFO": func(f *capture.File) {
			special(f, first, fs.ModeSymlink|0o777, "/run/pipe", "")
			special(f, "/run/pipe", fs.ModeNamedPipe|0o644, "", "")
		},
		"link to a directory": func(f *capture.File) { special(f, first, fs.ModeSymlink|0o777, "/opt/cni", "") },
	}
	for name, spoil := range files {
		for _, way := range bothWays {
			t.Run(fmt.Sprintf("%s, NetworkReady=%t", name, way.up), func(t *testing.T) {
				t.Parallel()
				f := onContainerd(t, way.up, strings.ReplaceAll(way.load, "FILE", first))
				put(f, "20-good.conflist", goodList)
				spoil(f)
				v, _ := verdict(t, f)
				if int(v.Status) != way.exit || !strings.Contains(v.Line, "00-x.conf") {
					t.Errorf("exit %d, want %d and the file\n%s", v.Status, way.exit, v.Line)
				}
			})
		}
		t.Run(name+", CRI-O", func(t *testing.T) {
			t.Parallel()
			f := onCRIO(t)
			put(f, "20-good.conflist", goodList)
			spoil(f)
			if v, _ := verdict(t, f); v.Status == plugin.Problem {
				t.Errorf("exit 1, and CRI-O takes the next file\n%s", v.Line)
			}
		})
	}
}

// TestHostileDirectories: what surrounds a good file.
func TestHostileDirectories(t *testing.T) {
	const soon = time.Minute // a hundred times what it takes: the machine may be busy
	crowd := func(f *capture.File) {
		put(f, "00-good.conflist", goodList)
		for i := range 100_000 {
			put(f, fmt.Sprintf("10-%06d.conflist", i), "{")
		}
	}
	link := func(p, target string) func(*capture.File) {
		return func(f *capture.File) {
			put(f, "10-good.conflist", goodList)
			for i, e := range f.Entries {
				if e.Path == p {
					f.Entries[i].Mode, f.Entries[i].Target = fs.ModeSymlink|0o777, target
					return
				}
			}
			special(f, p, fs.ModeSymlink|0o777, target, "")
		}
	}
	for _, c := range []struct {
		name  string
		exit  int
		says  string
		crio  bool
		build func(*capture.File)
	}{
		{"100,000 files, the good one first", 0, "00-good.conflist", false, crowd},
		{"100,000 files, the good one first, CRI-O", 0, "00-good.conflist", true, crowd},
		{"a directory with a file's name", 0, "20-good.conflist", false, func(f *capture.File) {
			put(f, "10-x.conf/inside.conf", "{")
			put(f, "20-good.conflist", goodList)
		}},
		{"an empty directory with a file's name", 0, "20-good.conflist", true, func(f *capture.File) {
			special(f, confDir+"/10-x.conf", fs.ModeDir|0o755, "", "")
			put(f, "20-good.conflist", goodList)
		}},
		{"a program that links to itself", 1, "bridge", false, link("/opt/cni/bin/bridge", "bridge")},
		{"a program that links to a directory", 1, "bridge", false, link("/opt/cni/bin/bridge", "/opt/cni")},
		{"the directory links to itself", 2, confDir, false, func(f *capture.File) {
			f.Entries[0].Mode, f.Entries[0].Target = fs.ModeSymlink|0o777, confDir
		}},
		{"the directory is a file", 2, confDir, false, func(f *capture.File) { f.Entries[0].Mode = 0o644 }},
		{"a sub-directory of the network's name that links to its parent", 0, "10-good.conflist", false, link(confDir+"/podnet", ".")},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := onContainerd(t, true, loadedOK)
			if c.crio {
				f = onCRIO(t)
			}
			c.build(f)
			start := time.Now()
			v, _ := verdict(t, f)
			if int(v.Status) != c.exit || !strings.Contains(v.Line, c.says) {
				t.Errorf("exit %d, want %d and %q\n%s", v.Status, c.exit, c.says, v.Line)
			}
			if d := time.Since(start); d > soon {
				t.Errorf("took %v", d)
			}
		})
	}
}

// TestHostileJSON: a file that is valid and mad.
func TestHostileJSON(t *testing.T) {
	const depth = 1000
	nest := func(open, core, closed string, n int) string {
		return strings.Repeat(open, n) + core + strings.Repeat(closed, n)
	}
	bridge := `{"type": "bridge", "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.251.9.0/24"}]]}}`
	list := func(plugin string) string {
		return `{"cniVersion": "1.0.0", "name": "podnet", "plugins": [` + plugin + `]}`
	}
	const whatever = -1
	for _, c := range []struct {
		name, file, content string
		up                  bool
		exit                int
	}{
		// Whether multus could follow its delegates that far does not matter: we must end, and with one line.
		{"delegates of multus, 1,000 deep", "10-x.conflist", list(nest(`{"type": "multus", "delegates": [`, bridge, `]}`, depth)), true, whatever},
		{"lists as delegates of multus, 1,000 deep", "10-x.conflist", list(nest(`{"type": "multus", "delegates": [{"plugins": [`, bridge, `]}]}`, depth)), true, whatever},
		{"delegates of flannel, 1,000 deep", "10-x.conflist", list(nest(`{"type": "flannel", "delegate": `, `{"type": "bridge"}`, `}`, depth)), true, whatever},
		{"unknown keys, 1,000 deep", "10-x.conflist", list(strings.Replace(bridge, `{`, `{"acme": `+nest(`{"delegates": [`, `{"type": "gone"}`, `]}`, depth)+`, `, 1)), true, 0},
		{"deeper than the parser goes", "10-x.conflist", list(strings.Replace(bridge, `{`, `{"acme": `+nest(`[`, ``, `]`, 20_000)+`, `, 1)), false, 1},
		{"1,000 programs missing", "10-x.conflist", list(bridge + many(depth, `, {"type": "gone-%d"}`)), true, 1},
		{"odd bytes in a type", "10-x.conflist", list("{\"type\": \"br%s\\\"\\\\\\u0007\\u202e\\u00e9\"}"), true, 1},
		{"odd bytes in a name", "10-x.conflist", `{"cniVersion": "1.0.0", "name": "a%d\n\"\\é", "plugins": [{"type": "bridge"}]}`, true, 1},
		{"odd bytes in a file name", "10-%s\n\"\\é\x1b[31m.conflist", "{", false, 1},
		{"a very long file name", "10-" + strings.Repeat("x", 240) + ".conflist", "{", false, 1},
		{"odd types everywhere", "10-x.conflist", list(`{"type": "multus", "kubeconfig": 7, "delegates": [1, "x", null, [], {"plugins": {}}, {"plugins": [1]}], "ipam": [1]}`), true, whatever},
		{"zeros", "10-x.conf", strings.Repeat("\x00", 4096), false, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			load := loadedOK
			if !c.up {
				load = strings.ReplaceAll(loadFails, "FILE", confDir+"/10-x")
			}
			f := onContainerd(t, c.up, load)
			put(f, c.file, c.content)
			f.Content["/run/flannel/subnet.env"] = []byte("FLANNEL_SUBNET=10.244.1.1/24\nFLANNEL_MTU=1450\nFLANNEL_IPMASQ=true\n")
			start := time.Now()
			v, _ := verdict(t, f)
			if c.exit != whatever && int(v.Status) != c.exit {
				t.Errorf("exit %d, want %d\n%s", v.Status, c.exit, v.Line)
			}
			if strings.Contains(v.Line, "internal error") {
				t.Errorf("a panic\n%s", v.Line)
			}
			if d := time.Since(start); d > time.Minute {
				t.Errorf("took %v", d)
			}
		})
	}
}

func many(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// TestStatusWithoutConditions: a runtime that tells of nothing is no runtime whose network is well.
func TestStatusWithoutConditions(t *testing.T) {
	t.Parallel()
	f := hostileNode(t, `{"cniconfig": {"PluginConfDir": "/etc/cni/net.d", "PluginDirs": ["/opt/cni/bin"]}, "status": {"conditions": []}}`, "")
	if v, _ := verdict(t, f); v.Status != plugin.Unknown || !strings.Contains(v.Line, "NetworkReady") {
		t.Errorf("exit %d\n%s", v.Status, v.Line)
	}
}

// TestHalfWrittenFile: a file that cannot be loaded and was written a moment ago may still be being written. One that stays so is
// told, and so is one that loads and is refused at each pod.
func TestHalfWrittenFile(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		content string
		age     time.Duration
		exit    int
	}{
		{"", time.Second, 2}, {"", 9 * time.Second, 2}, {"", 11 * time.Second, 1}, {"", time.Hour, 1},
		{goodList[:40], time.Second, 2}, {goodList[:40], time.Minute, 1},
		{goodList[:40], -time.Minute, 1}, // dated in the future: the clock was set back
		{`{"cniVersion": "1.0.0", "name": "a b", "plugins": [{"type": "bridge"}]}`, time.Second, 1},
	} {
		f := onContainerd(t, false, strings.ReplaceAll(loadFails, "FILE", confDir+"/10-x.conflist"))
		put(f, "10-x.conflist", c.content)
		f.Entries = append(f.Entries, capture.Entry{Path: confDir + "/10-x.conflist", Mode: 0o644, Mod: now.Add(-c.age)})
		v, _ := verdict(t, f)
		if int(v.Status) != c.exit || !strings.Contains(v.Line, "10-x.conflist") || c.exit == 2 && !strings.HasPrefix(v.Line, "starting: ") {
			t.Errorf("%q, %s old: exit %d, want %d\n%s", c.content, c.age, v.Status, c.exit, v.Line)
		}
	}
}
