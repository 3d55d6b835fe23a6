package cri

// The verbose status, as `crictl info -o json` prints it (containerd, shortened):
//
//	{
//	  "status": {"conditions": [{"type": "NetworkReady", "status": false,
//	      "reason": "NetworkPluginNotReady",
//	      "message": "Network plugin returns error: cni plugin not initialized"}]},
//	  "cniconfig": {"PluginConfDir": "/etc/cni/net.d", "PluginDirs": ["/opt/cni/bin"], "PluginMaxConfNum": 1},
//	  "config": {"cni": {"binDir": "/opt/cni/bin", "confDir": "/etc/cni/net.d", "maxConfNum": 1}},
//	  "lastCNILoadStatus": "cni config load failed: no network config found in /etc/cni/net.d: ..."
//	}
//
// On the wire all but "status" is StatusResponse.info, a map from name to JSON or plain text; crictl merges it in.
// containerd 2 has config.cni.binDirs, a list, instead of binDir. CRI-O has config.crio and no directories here; they are
// in GET /config on its socket, as TOML:
//
//	[crio.network]
//	network_dir = "/etc/cni/net.d/"
//	plugin_dirs = ["/opt/cni/bin"]

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"sandbox-checker/plugin/cri/wire"
)

// Flavor is the kind of runtime, as far as its rules for CNI files differ.
type Flavor string

// The flavors. Other is any runtime that tells nothing of itself, such as cri-dockerd.
const (
	Containerd Flavor = "containerd"
	CRIO       Flavor = "cri-o"
	Other      Flavor = "other"
)

// Condition is one of the runtime's conditions. Absent means the runtime did not give it.
type Condition struct {
	Present         bool
	OK              bool
	Reason, Message string
}

// The conditions that the kubelet reads (k8s.io/cri-api constants.go).
const (
	runtimeReady = "RuntimeReady"
	networkReady = "NetworkReady"
)

// Status is what a runtime tells of itself (CRI Status with verbose set). Only the two conditions that the kubelet reads
// are kept: containerd 2.4 adds one that is false on healthy nodes.
type Status struct {
	Runtime, Network Condition
	Flavor           Flavor
	// ConfDir and BinDirs are where the runtime looks for CNI files; empty when it does not tell.
	ConfDir string
	BinDirs []string
	// MaxConfNum is how many configuration files containerd loads; 0 when it does not tell.
	MaxConfNum int
	// LastCNILoad is containerd's word on its last reading of ConfDir: "OK", an error, or "".
	LastCNILoad string
	// Loaded are the plugin types of the pod network that containerd has loaded; none while it has not.
	Loaded []string
	// InternalLoopback: containerd sets up lo without the loopback plugin.
	InternalLoopback bool
	// SandboxImage is the image of sandboxes, "" when the runtime does not tell it here (containerd 2).
	SandboxImage string
	// CgroupDriver is "systemd" or "cgroupfs", "" when the runtime does not tell it.
	CgroupDriver string
	// MinMemory is the pod limit in bytes below which CRI-O makes no sandbox; 0 for others.
	MinMemory int64
	// DirsErr says why the runtime could not be asked for its directories (CRI-O only).
	DirsErr error
}

// info is StatusResponse.info with every value as JSON.
type info map[string]json.RawMessage

func infoOf(sent map[string]string) info {
	out := make(info, len(sent))
	for k, v := range sent {
		if json.Valid([]byte(v)) {
			out[k] = json.RawMessage(v)
			continue
		}
		quoted, err := json.Marshal(v)
		if err != nil {
			continue // a string always marshals
		}
		out[k] = quoted
	}
	return out
}

type cniConfig struct {
	PluginConfDir    string
	PluginDirs       []string
	PluginMaxConfNum int
	// Networks begins with the runtime's own network for lo.
	Networks []struct {
		Config struct {
			Plugins []struct {
				Network struct {
					Type string `json:"type"`
				}
			}
		}
	}
}

type runtimeConfig struct {
	CNI struct {
		BinDir     string   `json:"binDir"`
		BinDirs    []string `json:"binDirs"`
		ConfDir    string   `json:"confDir"`
		MaxConfNum int      `json:"maxConfNum"`
		Internal   bool     `json:"useInternalLoopback"`
	} `json:"cni"`
	CRIO *struct {
		CgroupManagerName string
		DefaultRuntime    string
		Runtimes          map[string]struct{ ContainerMinMemory string }
	} `json:"crio,omitempty"`
	SandboxImage string `json:"sandboxImage,omitempty"`
	Containerd   *struct {
		DefaultRuntimeName string `json:"defaultRuntimeName"`
		Runtimes           map[string]struct {
			RuntimeType string `json:"runtimeType"`
			Options     struct{ SystemdCgroup bool }
		} `json:"runtimes"`
	} `json:"containerd,omitempty"`
}

// crioMinimum is what CRI-O has asked for since 1.15 where it does not tell: the need of runc.
const crioMinimum = 12 << 20

// minMemory reads "12MiB" or "500KiB" of the default runtime.
func (rc runtimeConfig) minMemory() int64 {
	if rc.CRIO == nil {
		return 0
	}
	text := rc.CRIO.Runtimes[rc.CRIO.DefaultRuntime].ContainerMinMemory
	for unit, size := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30} {
		num, ok := strings.CutSuffix(text, unit)
		n, err := strconv.ParseInt(strings.TrimSpace(num), 10, 32)
		if ok && err == nil && n >= 0 {
			return n * size
		}
	}
	return crioMinimum
}

// cgroupDriver is who names the cgroups of sandboxes. runc's option is absent when it is false.
func (rc runtimeConfig) cgroupDriver() string {
	if rc.CRIO != nil {
		return rc.CRIO.CgroupManagerName
	}
	if rc.Containerd == nil {
		return ""
	}
	r, ok := rc.Containerd.Runtimes[rc.Containerd.DefaultRuntimeName]
	switch {
	case !ok || r.RuntimeType != "io.containerd.runc.v2":
		return ""
	case r.Options.SystemdCgroup:
		return "systemd"
	}
	return "cgroupfs"
}

// statusOf joins conditions and info. A value of an unexpected type is an error: a runtime whose answer cannot be
// understood must not pass for a healthy one.
func statusOf(s *wire.RuntimeStatus, in info) (Status, error) {
	out := Status{Flavor: Other}
	for _, c := range s.GetConditions() {
		cond := Condition{Present: true, OK: c.GetStatus(), Reason: c.GetReason(), Message: c.GetMessage()}
		switch c.GetType() {
		case runtimeReady:
			out.Runtime = cond
		case networkReady:
			out.Network = cond
		}
	}
	var cc cniConfig
	if raw, ok := in["cniconfig"]; ok {
		out.Flavor = Containerd
		if err := json.Unmarshal(raw, &cc); err != nil {
			return out, fmt.Errorf("status: cniconfig: %w", err)
		}
	}
	var rc runtimeConfig
	if raw, ok := in["config"]; ok {
		if err := json.Unmarshal(raw, &rc); err != nil {
			return out, fmt.Errorf("status: config: %w", err)
		}
	}
	if rc.CRIO != nil {
		out.Flavor = CRIO
	}
	out.ConfDir = firstNonEmpty(cc.PluginConfDir, rc.CNI.ConfDir)
	out.MaxConfNum = max(cc.PluginMaxConfNum, rc.CNI.MaxConfNum)
	out.InternalLoopback, out.SandboxImage, out.CgroupDriver = rc.CNI.Internal, rc.SandboxImage, rc.cgroupDriver()
	out.MinMemory = rc.minMemory()
	for _, n := range cc.Networks[min(1, len(cc.Networks)):] {
		for _, p := range n.Config.Plugins {
			out.Loaded = append(out.Loaded, p.Network.Type)
		}
	}
	switch {
	case len(cc.PluginDirs) > 0:
		out.BinDirs = cc.PluginDirs
	case len(rc.CNI.BinDirs) > 0:
		out.BinDirs = rc.CNI.BinDirs
	case rc.CNI.BinDir != "":
		out.BinDirs = []string{rc.CNI.BinDir}
	}
	if raw, ok := in["lastCNILoadStatus"]; ok {
		if err := json.Unmarshal(raw, &out.LastCNILoad); err != nil {
			return out, fmt.Errorf("status: lastCNILoadStatus: %w", err)
		}
	}
	return out, nil
}

func firstNonEmpty(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// crioConfig is what is read of CRI-O's own configuration.
type crioConfig struct {
	CRIO struct {
		Network struct {
			Dir        string   `toml:"network_dir"`
			PluginDirs []string `toml:"plugin_dirs"`
			PluginDir  string   `toml:"plugin_dir"` // until CRI-O 1.16
		} `toml:"network"`
	} `toml:"crio"`
}

// addCRIODirs fills in the directories from CRI-O's own configuration.
func (s *Status) addCRIODirs(raw []byte) {
	var c crioConfig
	if err := toml.Unmarshal(raw, &c); err != nil {
		s.DirsErr = fmt.Errorf("cri-o config: %s", firstLine(err.Error()))
		return
	}
	n := c.CRIO.Network
	s.ConfDir = n.Dir
	s.BinDirs = n.PluginDirs
	if len(s.BinDirs) == 0 && n.PluginDir != "" {
		s.BinDirs = []string{n.PluginDir}
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
