package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Base is what is right and wrong with a node before any fault.
type Base int

const (
	// Healthy has all the look-alikes of a fault and no fault.
	Healthy Base = iota
	// SickPods has a stale container, a pod that its limit kills and two that loop. Its network is well.
	SickPods
	// SickNetwork lacks a plugin's binary.
	SickNetwork
)

// Bases are all of them.
var Bases = []Base{Healthy, SickPods, SickNetwork}

func (b Base) String() string { return [...]string{"healthy", "sick pods", "sick network"}[b] }

// Checks are the names of the checks, which the public names of the product fix.
var Checks = []string{"stale-created", "sandbox-crashloop", "sandbox-oom", "cni-config"}

// Exit is the exit status that a check must have on a base without faults.
func (b Base) Exit(check string) int {
	if b == SickPods && check != "cni-config" || b == SickNetwork && check == "cni-config" {
		return 1
	}
	return 0
}

// Node is the root directory of a node and its runtime. A program that is confined to Root sees it as its own.
type Node struct {
	Root    string
	Base    Base
	Runtime *Runtime
	Now     time.Time
}

// Uptime is how long the node is up: long enough that nothing counts as starting.
const Uptime = 20 * time.Hour

const (
	pauseImage = "registry.k8s.io/pause:3.10"
	cgroups    = "sys/fs/cgroup/kubepods/burstable/pod"
)

// Socket is the runtime's socket as the node names it.
const Socket = "/run/cri.sock"

// NewNode writes a node below root, which should have a short path: its socket lies in it.
func NewNode(t testing.TB, root string, b Base) *Node {
	t.Helper()
	n := &Node{Root: root, Base: b, Now: time.Now().Truncate(time.Second)}
	booted := n.Now.Add(-Uptime)
	n.write(t, "proc/uptime", fmt.Sprintf("%.2f 1.00\n", Uptime.Seconds()))
	n.write(t, "proc/stat", fmt.Sprintf("cpu 1 2 3\nbtime %d\n", booted.Unix()))
	n.write(t, "proc/sys/kernel/random/boot_id", "67b62943-19cb-4b11-a3cf-0ca57de94046\n")
	n.write(t, "proc/self/mountinfo", "22 1 254:1 / / rw,relatime - ext4 /dev/vda1 rw\n")
	n.write(t, "sys/fs/cgroup/cgroup.controllers", "cpu memory\n")
	n.write(t, "etc/cni/net.d/10-podnet.conflist", `{"cniVersion": "1.0.0", "name": "podnet", "plugins": [{"type": "bridge",
  "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.251.9.0/24"}]]}}, {"type": "portmap", "capabilities": {"portMappings": true}}]}`)
	for _, p := range []string{"bridge", "host-local", "portmap", "loopback"} {
		if b != SickNetwork || p != "host-local" {
			n.write(t, "opt/cni/bin/"+p, "\x7fELF")
		}
	}
	n.write(t, "dev/kmsg", n.kernelLog(b))
	n.mkdir(t, "run")
	n.mkdir(t, "tmp")
	n.Runtime = &Runtime{Status: healthyStatus(), Images: []string{pauseImage}}
	n.addHealthyPods(t)
	if b == SickPods {
		n.addSickPods(t)
	}
	old := n.Now.Add(-Uptime + time.Hour)
	for _, p := range []string{"etc/cni/net.d/10-podnet.conflist", "etc/cni/net.d", "opt/cni/bin"} {
		n.touch(t, p, old)
	}
	return n
}

func healthyStatus() *runtimeapi.StatusResponse {
	return &runtimeapi.StatusResponse{
		Status: &runtimeapi.RuntimeStatus{Conditions: []*runtimeapi.RuntimeCondition{{Type: "RuntimeReady", Status: true},
			{Type: "NetworkReady", Status: true}, {Type: "ContainerdHasNoDeprecationWarnings", Reason: "ContainerdHasDeprecationWarnings"}}},
		Info: map[string]string{
			"cniconfig":         `{"PluginConfDir": "/etc/cni/net.d", "PluginDirs": ["/opt/cni/bin"], "PluginMaxConfNum": 1}`,
			"config":            `{"containerd": {"defaultRuntimeName": "runc", "runtimes": {"runc": {"runtimeType": "io.containerd.runc.v2"}}}, "sandboxImage": "` + pauseImage + `"}`,
			"lastCNILoadStatus": "OK",
			"golang":            "go1.26",
		},
	}
}

// Serve starts the node's runtime at [Socket]. It looks as if it had started just after the boot.
func (n *Node) Serve(t testing.TB, f ServerFault) *Server {
	t.Helper()
	return n.ServeIn(t, n.path("run"), f)
}

// ServeIn starts the node's runtime in another directory, so that several may be tried on one node.
func (n *Node) ServeIn(t testing.TB, dir string, f ServerFault) *Server {
	t.Helper()
	s := Serve(t, dir, n.Runtime, f)
	at := n.Now.Add(-Uptime + time.Minute)
	must(t, os.Chtimes(s.Path, at, at))
	return s
}

// StateDir is where the program keeps its state on this node.
func (n *Node) StateDir() string { return n.path("run/sandbox-checker") }

func (n *Node) path(p string) string { return filepath.Join(n.Root, p) }

func (n *Node) mkdir(t testing.TB, p string) {
	t.Helper()
	if err := os.MkdirAll(n.path(p), 0o755); err != nil {
		t.Fatal(err)
	}
}

func (n *Node) write(t testing.TB, p, text string) {
	t.Helper()
	n.mkdir(t, filepath.Dir(p))
	if err := os.WriteFile(n.path(p), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func (n *Node) touch(t testing.TB, p string, at time.Time) {
	t.Helper()
	if err := os.Chtimes(n.path(p), at, at); err != nil {
		t.Fatal(err)
	}
}

// kernelTime is a time of the kernel log, in microseconds of this machine's own clock: the program reads that one.
func kernelTime(ago time.Duration) int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0
	}
	return (ts.Nano() - ago.Nanoseconds()) / 1000
}
