package faults

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// A NodeFault is one thing that is wrong with the files, the kernel log, the state or the clock of a node. None makes a healthy
// node sick: exit 1 there is wrong whatever the fault.
type NodeFault struct {
	Name string
	// Hides: a sick node may look well with it, because what proves the sickness is gone or in doubt.
	Hides bool
	// Races: whether the check can look is a matter of chance.
	Races bool
	// Exits are the exit statuses of the checks on a healthy node, where they are not those without the fault.
	Exits map[string]int

	apply func(t testing.TB, n *Node)
	// during goes on while the check looks, until done.
	during func(n *Node, done <-chan struct{})
}

// Apply makes the fault. What goes on while the check looks ends with the test.
func (f NodeFault) Apply(t testing.TB, n *Node) {
	t.Helper()
	if f.apply != nil {
		f.apply(t, n)
	}
	if f.during == nil {
		return
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { f.during(n, done) })
	t.Cleanup(func() { close(done); wg.Wait() })
}

const conf = "etc/cni/net.d/"

// blind are the exits of a healthy node whose CNI files cannot be seen.
var blind = map[string]int{"cni-config": 2}

// CNIFaults are those of the CNI files and programs.
func CNIFaults() []NodeFault {
	first := func(name string, exits map[string]int, make func(t testing.TB, n *Node)) NodeFault {
		return NodeFault{Name: name + " as the first CNI file", Exits: exits, apply: make}
	}
	return []NodeFault{
		first("a FIFO", blind, func(t testing.TB, n *Node) { n.mkfifo(t, conf+"00-x.conf") }),
		first("a directory", nil, func(t testing.TB, n *Node) { n.write(t, conf+"00-x.conf/inside.conf", "{") }),
		first("a link to itself", blind, func(t testing.TB, n *Node) { n.link(t, "00-x.conf", conf+"00-x.conf") }),
		first("a dangling link", nil, func(t testing.TB, n *Node) { n.link(t, "nowhere", conf+"00-x.conf") }),
		first("a link to a device", blind, func(t testing.TB, n *Node) { n.link(t, "/dev/zero", conf+"00-x.conf"); n.zero(t) }),
		first("10 MB of JSON", blind, func(t testing.TB, n *Node) {
			n.write(t, conf+"00-x.conf", `{"name": "x", "type": "bridge", "pad": "`+strings.Repeat("x", 10<<20)+`"}`)
		}),
		first("NUL bytes", nil, func(t testing.TB, n *Node) { n.write(t, conf+"00-x.conf", strings.Repeat("\x00", 4096)) }),
		first("deep nesting", nil, func(t testing.TB, n *Node) { n.write(t, conf+"00-x.conf", strings.Repeat("[", 500_000)) }),
		first("half a file", nil, func(t testing.TB, n *Node) { n.write(t, conf+"00-x.conflist", `{"cniVersion": "1.0.0", "name": "p`) }),
		first("an empty file", nil, func(t testing.TB, n *Node) { n.write(t, conf+"00-x.conf", "") }),
		first("a socket", blind, func(t testing.TB, n *Node) { n.socket(t, conf+"00-x.conf") }),
		{Name: "a hostile name among the CNI files", apply: func(t testing.TB, n *Node) { n.write(t, conf+"00-%s\n\"\\\x1b[31m$(id).conf", "{") }},
		{Name: "FIFO, loop and device behind the file that counts", apply: func(t testing.TB, n *Node) {
			n.mkfifo(t, conf+"99-x.conf")
			n.link(t, "99-y.conf", conf+"99-y.conf")
			n.write(t, conf+"99-z.conf/x", "")
		}},
		{Name: "the CNI directory is gone", Exits: blind, Hides: true, apply: func(t testing.TB, n *Node) { n.remove(t, conf) }},
		{Name: "the CNI directory links to itself", Exits: blind, Hides: true, apply: func(t testing.TB, n *Node) {
			n.remove(t, conf)
			n.link(t, "net.d", "etc/cni/net.d")
		}},
		{Name: "the CNI directory is a file", Exits: blind, Hides: true, apply: func(t testing.TB, n *Node) {
			n.remove(t, conf)
			n.write(t, "etc/cni/net.d", "{}")
		}},
		{Name: "the bin directory is gone", Exits: blind, Hides: true, apply: func(t testing.TB, n *Node) { n.remove(t, "opt/cni/bin") }},
		{Name: "CNI files come and go", Races: true, during: comeAndGo},
		{Name: "a CNI file grows", Races: true, during: grow},
	}
}

// PodFaults are those of cgroups, log directories and mounts.
func PodFaults() []NodeFault {
	both := map[string]int{"sandbox-oom": 2, "sandbox-crashloop": 2}
	return []NodeFault{
		{Name: "cgroups come and go", during: cgroupsComeAndGo},
		{Name: "a cgroup with garbage", Hides: true, apply: func(t testing.TB, n *Node) {
			n.write(t, cgroups+podNumber("runs", 1).uid+"/memory.max", "\x00\xffbanana")
		}},
		{Name: "a cgroup file is a FIFO", apply: func(t testing.TB, n *Node) {
			p := cgroups + podNumber("runs", 1).uid + "/memory.max"
			n.remove(t, p)
			n.mkfifo(t, p)
		}},
		{Name: "no cgroups", Exits: both, Hides: true, apply: func(t testing.TB, n *Node) { n.remove(t, "sys/fs/cgroup") }},
		{Name: "no pod cgroups", Exits: both, Hides: true, apply: func(t testing.TB, n *Node) { n.remove(t, "sys/fs/cgroup/kubepods") }},
		{Name: "no log directories", Exits: both, Hides: true, apply: func(t testing.TB, n *Node) { n.remove(t, "var/log/pods") }},
		{Name: "the log directory is a file", Exits: both, Hides: true, apply: func(t testing.TB, n *Node) {
			n.remove(t, "var/log/pods")
			n.write(t, "var/log/pods", "x")
		}},
		{Name: "2,000 log directories", apply: func(t testing.TB, n *Node) {
			for i := range 2_000 {
				n.mkdir(t, fmt.Sprintf("var/log/pods/default_gone-%d_%08d-0000-4000-8000-000000000000", i, i))
			}
		}},
		{Name: "mountinfo with garbage", apply: func(t testing.TB, n *Node) { n.write(t, "proc/self/mountinfo", "\x00\n1 2\n") }},
		{Name: "mountinfo without end of line", apply: func(t testing.TB, n *Node) { n.write(t, "proc/self/mountinfo", strings.Repeat("x", 2<<20)) }},
	}
}
