package cri

import (
	"context"
	"reflect"
	"strings"
	"testing"
)

// The three runtimes tell their directories in three ways: binDir, binDirs, and not at all.
func TestStatusOfRuntimes(t *testing.T) {
	t.Parallel()
	yes := Condition{Present: true, OK: true}
	for name, want := range map[string]Status{
		"containerd-1.6": {Runtime: yes, Network: yes, Flavor: Containerd, ConfDir: "/rt/containerd1/cni", BinDirs: []string{"/rt/containerd1/bin"},
			MaxConfNum: 1, LastCNILoad: "OK", Loaded: []string{"bridge"}, SandboxImage: "localhost/pause:1", CgroupDriver: "cgroupfs"},
		"containerd-2.4": {Runtime: yes, Network: yes, Flavor: Containerd, ConfDir: "/rt/containerd2/cni", BinDirs: []string{"/rt/containerd2/bin"},
			MaxConfNum: 1, LastCNILoad: "OK", Loaded: []string{"bridge"}, CgroupDriver: "cgroupfs"},
		"cri-o-1.34": {Runtime: yes, Network: yes, Flavor: CRIO, ConfDir: "/rt/crio/cni", BinDirs: []string{"/rt/crio/bin"},
			SandboxImage: "localhost/pause:1", CgroupDriver: "cgroupfs"},
	} {
		got, err := replayed(t, name).Status(context.Background())
		got = told(got)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v\ngot  %+v\nwant %+v", name, err, got, want)
		}
	}
}

// told is the part of a status that these tests are about.
func told(s Status) Status {
	out := Status{Runtime: s.Runtime, Network: s.Network, Flavor: s.Flavor, ConfDir: s.ConfDir, MaxConfNum: s.MaxConfNum,
		LastCNILoad: s.LastCNILoad, Loaded: s.Loaded, InternalLoopback: s.InternalLoopback, SandboxImage: s.SandboxImage,
		CgroupDriver: s.CgroupDriver, DirsErr: s.DirsErr}
	if len(s.BinDirs) > 0 {
		out.BinDirs = s.BinDirs
	}
	return out
}

func TestStatus(t *testing.T) {
	t.Parallel()
	dirs := func(f Flavor, conf string, bins ...string) Status {
		return Status{Flavor: f, ConfDir: conf, BinDirs: bins}
	}
	for name, tc := range map[string]struct {
		info, config string
		want         Status
	}{
		"cri-dockerd tells nothing": {`{"status":{"conditions":[]}}`, "", dirs(Other, "")},
		"empty":                     {`{}`, "", dirs(Other, "")},
		"network not ready": {
			`{"status":{"conditions":[{"type":"NetworkReady","status":false,"reason":"NetworkPluginNotReady","message":"cni plugin not initialized"}]}}`, "",
			Status{Flavor: Other, Network: Condition{Present: true, Reason: "NetworkPluginNotReady", Message: "cni plugin not initialized"}},
		},
		// containerd 2.4 adds a condition that is false on healthy nodes.
		"other conditions do not count": {
			`{"status":{"conditions":[{"type":"RuntimeReady","status":true},{"type":"ContainerdHasNoDeprecationWarnings","status":false}]}}`, "",
			Status{Flavor: Other, Runtime: Condition{Present: true, OK: true}},
		},
		// Without a file loaded containerd 1.x has no "cniconfig" that tells, and before the first load none at all.
		"binDir":         {`{"cniconfig":{},"config":{"cni":{"binDir":"/b","confDir":"/c"}}}`, "", dirs(Containerd, "/c", "/b")},
		"binDirs":        {`{"cniconfig":{},"config":{"cni":{"binDirs":["/b","/b2"],"confDir":"/c"}}}`, "", dirs(Containerd, "/c", "/b", "/b2")},
		"binDirs first":  {`{"cniconfig":{},"config":{"cni":{"binDirs":["/b2"],"binDir":"/b"}}}`, "", dirs(Containerd, "", "/b2")},
		"loaded dirs":    {`{"cniconfig":{"PluginConfDir":"/c","PluginDirs":["/b"]},"config":{"cni":{"binDir":"/x","confDir":"/y"}}}`, "", dirs(Containerd, "/c", "/b")},
		"only loopback":  {`{"cniconfig":{"Networks":[{"Config":{"Plugins":[{"Network":{"type":"loopback"}}]}}]}}`, "", dirs(Containerd, "")},
		"null for a map": {`{"cniconfig":null,"config":null}`, "", dirs(Containerd, "")},
		"internal loopback": {
			`{"cniconfig":{},"config":{"cni":{"useInternalLoopback":true,"maxConfNum":3}},"lastCNILoadStatus":"cni config load failed: x"}`, "",
			Status{Flavor: Containerd, InternalLoopback: true, MaxConfNum: 3, LastCNILoad: "cni config load failed: x"},
		},
		"CRI-O":            {`{"config":{"crio":{}}}`, "[crio.network]\nnetwork_dir = \"/c/\"\nplugin_dirs = [\"/b\", \"/b2\"]\n", dirs(CRIO, "/c/", "/b", "/b2")},
		"CRI-O until 1.16": {`{"config":{"crio":{}}}`, "[crio.network]\nplugin_dir = \"/b\"\n", dirs(CRIO, "", "/b")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := Records{Info: []byte(tc.info)}
			if tc.config != "" {
				r.CRIOConfig = []byte(tc.config)
			}
			re, err := Replay(r)
			if err != nil {
				t.Fatal(err)
			}
			got, err := re.Status(context.Background())
			got = told(got)
			if err != nil || !reflect.DeepEqual(got, tc.want) {
				t.Errorf("%v\ngot  %+v\nwant %+v", err, got, tc.want)
			}
		})
	}
}

// A runtime whose answer cannot be understood must not pass for a healthy one.
func TestStatusWrongTypes(t *testing.T) {
	t.Parallel()
	for info, want := range map[string]string{
		`{"cniconfig":[]}`:                           "status: cniconfig: ",
		`{"cniconfig":{"PluginDirs":"/b"}}`:          "status: cniconfig: ",
		`{"config":"none"}`:                          "status: config: ",
		`{"config":{"cni":{"binDir":["/b"]}}}`:       "status: config: ",
		`{"config":{"cni":{"binDirs":"/b"}}}`:        "status: config: ",
		`{"lastCNILoadStatus":{"code":1}}`:           "status: lastCNILoadStatus: ",
		`{"status":{"conditions":[{"status":"x"}]}}`: "",
		`[]`: "",
	} {
		if _, err := Replay(Records{Info: []byte(info)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want ...%s...", info, err, want)
		}
	}
}

func TestCRIOConfig(t *testing.T) {
	t.Parallel()
	info := []byte(`{"status":{"conditions":[{"type":"NetworkReady","status":true}]},"config":{"crio":{}}}`)
	for name, tc := range map[string]struct {
		config []byte
		want   string
	}{
		"not recorded": {nil, "not in the capture: cri/config.toml"},
		"no TOML":      {[]byte("<html>404</html>\n"), "cri-o config: "},
		"wrong type":   {[]byte("[crio.network]\nplugin_dirs = \"/b\"\n"), "cri-o config: "},
	} {
		r, err := Replay(Records{Info: info, CRIOConfig: tc.config})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		// The conditions are known all the same.
		st, err := r.Status(context.Background())
		if err != nil || !st.Network.OK || st.DirsErr == nil || !strings.HasPrefix(st.DirsErr.Error(), tc.want) || strings.Contains(st.DirsErr.Error(), "\n") {
			t.Errorf("%s: %+v, %v; want DirsErr %s", name, st, err, tc.want)
		}
	}
}

// On the wire a value may be JSON or plain text.
func TestInfoOf(t *testing.T) {
	t.Parallel()
	got := infoOf(map[string]string{"json": `{"a":1}`, "text": `cni config load failed: "x"`, "empty": ""})
	want := map[string]string{"json": `{"a":1}`, "text": `"cni config load failed: \"x\""`, "empty": `""`}
	if len(got) != len(want) {
		t.Errorf("%d values, want %d", len(got), len(want))
	}
	for k, v := range want {
		if string(got[k]) != v {
			t.Errorf("%s: %s, want %s", k, got[k], v)
		}
	}
}
