package main

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/checks"
)

// nodeHeader says which node a report is about. A field that could not be read is empty.
type nodeHeader struct {
	Name          string        `json:"name,omitempty"`
	Kernel        string        `json:"kernel,omitempty"`
	Now           time.Time     `json:"now"`
	Booted        *time.Time    `json:"booted,omitempty"`
	Runtime       runtimeHeader `json:"runtime"`
	CgroupVersion string        `json:"cgroup_version,omitempty"`
	CgroupDriver  string        `json:"cgroup_driver,omitempty"`
	CNI           cniHeader     `json:"cni"`
}

type runtimeHeader struct {
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
	Socket  string `json:"socket,omitempty"`
}

type cniHeader struct {
	Dir     string   `json:"dir,omitempty"`
	File    string   `json:"file,omitempty"`
	BinDirs []string `json:"bin_dirs,omitempty"`
	// why there is no file, for a person; "" when there is one.
	why string
}

func headerOf(ctx context.Context, h *plugin.Host, o plugin.Options, version []byte) nodeHeader {
	n := nodeHeader{
		Name:   word(h, "/proc/sys/kernel/hostname"),
		Kernel: word(h, "/proc/sys/kernel/osrelease"),
		Now:    h.Now.UTC().Truncate(time.Second),
	}
	if c, err := h.Boot(); err == nil {
		b := c.Booted.UTC().Truncate(time.Second)
		n.Booted = &b
	}
	n.CgroupVersion = cgroupVersion(h)
	n.Runtime = runtimeOf(h, version)
	n.CNI.Dir, n.CNI.File, n.CNI.BinDirs, n.CgroupDriver = checks.NetworkFiles(ctx, h, o)
	if _, err := h.ReadDir(n.CNI.Dir); err != nil {
		n.CNI.why = "not there or not mounted"
	} else if n.CNI.File == "" {
		n.CNI.why = "no file in it counts"
	}
	return n
}

// word is a file of one word.
func word(h *plugin.Host, path string) string {
	raw, err := h.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}

func cgroupVersion(h *plugin.Host) string {
	if _, err := h.Stat("/sys/fs/cgroup/memory"); err == nil {
		return "v1"
	}
	if _, err := h.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		return "v2"
	}
	return ""
}

// runtimeOf reads the answer to CRI's Version, as crictl prints it.
func runtimeOf(h *plugin.Host, version []byte) runtimeHeader {
	var v struct{ RuntimeName, RuntimeVersion string }
	if len(version) > 0 && json.Unmarshal(version, &v) != nil {
		v.RuntimeName = "" // told by nobody
	}
	r := runtimeHeader{Name: v.RuntimeName, Version: strings.TrimPrefix(v.RuntimeVersion, "v")}
	if h.Runtime != nil {
		r.Socket = h.Runtime.Socket()
	}
	return r
}
