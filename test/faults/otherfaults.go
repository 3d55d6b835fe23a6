package faults

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// KernelLogFaults are those of /dev/kmsg.
func KernelLogFaults() []NodeFault {
	oom := map[string]int{"sandbox-oom": 2}
	with := func(name string, exits map[string]int, make func(t testing.TB, n *Node)) NodeFault {
		return NodeFault{Name: name + " as the kernel log", Exits: exits, apply: func(t testing.TB, n *Node) {
			n.remove(t, "dev/kmsg")
			make(t, n)
		}}
	}
	return []NodeFault{
		with("nothing", oom, func(testing.TB, *Node) {}),
		with("an empty file", oom, func(t testing.TB, n *Node) { n.write(t, "dev/kmsg", "") }),
		with("a directory", oom, func(t testing.TB, n *Node) { n.mkdir(t, "dev/kmsg") }),
		with("a FIFO without a writer", oom, func(t testing.TB, n *Node) { n.mkfifo(t, "dev/kmsg") }),
		with("a link to itself", oom, func(t testing.TB, n *Node) { n.link(t, "kmsg", "dev/kmsg") }),
		with("64 MiB of zeros", oom, func(t testing.TB, n *Node) { n.truncate(t, "dev/kmsg", 64<<20) }),
		with("one line of 8 MiB", nil, func(t testing.TB, n *Node) { n.write(t, "dev/kmsg", "6,1,2,-;"+strings.Repeat("%s", 4<<20)) }),
		with("hostile text", nil, func(t testing.TB, n *Node) {
			n.write(t, "dev/kmsg", n.kernelLog(n.Base)+"6,1,2,-;"+hostileText+"4,2,9223372036854775807,-;x invoked oom-killer: \x1b[2J\n")
		}),
		with("a story that is cut", nil, func(t testing.TB, n *Node) {
			log := n.kernelLog(SickPods)
			n.write(t, "dev/kmsg", log[:len(log)-60])
		}),
		with("100,000 stories of nobody", nil, func(t testing.TB, n *Node) {
			one := strings.ReplaceAll(n.kernelLog(SickPods), tiny.uid, "00000000-0000-4000-8000-ffffffffffff")
			n.write(t, "dev/kmsg", n.kernelLog(n.Base)+strings.Repeat(one, 5_000))
		}),
		{Name: "a kernel log that grows", during: func(n *Node, done <-chan struct{}) { growing(n.path("dev/kmsg"), "6,9,9,-;more\n", done) }},
	}
}

// StateFaults are those of the state directory. They cost history, never a verdict.
func StateFaults() []NodeFault {
	in := func(name string, make func(t testing.TB, n *Node, dir string)) NodeFault {
		return NodeFault{Name: "state: " + name, apply: func(t testing.TB, n *Node) { make(t, n, "run/sandbox-checker") }}
	}
	return []NodeFault{
		in("a file in its place", func(t testing.TB, n *Node, dir string) { n.write(t, dir, "x") }),
		in("links to itself", func(t testing.TB, n *Node, dir string) { n.link(t, "sandbox-checker", dir) }),
		in("links elsewhere", func(t testing.TB, n *Node, dir string) { n.mkdir(t, "tmp/else"); n.link(t, "../tmp/else", dir) }),
		in("read-only", func(t testing.TB, n *Node, dir string) { n.mkdir(t, dir); n.chmod(t, dir, 0o500) }),
		in("open to all", func(t testing.TB, n *Node, dir string) { n.mkdir(t, dir); n.chmod(t, dir, 0o777) }),
		in("cut", func(t testing.TB, n *Node, dir string) {
			n.write(t, dir+"/state.json", `{"version": 1, "boot_id": "67b6`)
		}),
		in("deep", func(t testing.TB, n *Node, dir string) { n.write(t, dir+"/state.json", strings.Repeat("[", 1<<20)) }),
		in("of another boot", func(t testing.TB, n *Node, dir string) {
			n.write(t, dir+"/state.json", `{"version": 1, "boot_id": "x", "seen": {"a": [{"id": "b", "attempt": 9, "at": 1}]}}`)
		}),
		in("is a FIFO", func(t testing.TB, n *Node, dir string) { n.mkdir(t, dir); n.mkfifo(t, dir+"/state.json") }),
		in("is a directory", func(t testing.TB, n *Node, dir string) { n.mkdir(t, dir+"/state.json/x") }),
		in("new one is a FIFO", func(t testing.TB, n *Node, dir string) { n.mkdir(t, dir); n.mkfifo(t, dir+"/state.json.new") }),
		in("lock is a FIFO", func(t testing.TB, n *Node, dir string) { n.mkdir(t, dir); n.mkfifo(t, dir+"/lock") }),
		in("lock is held", func(t testing.TB, n *Node, dir string) { n.hold(t, dir+"/lock") }),
	}
}

// ClockFaults are those of what tells the time.
func ClockFaults() []NodeFault {
	none := func(e int) map[string]int {
		return map[string]int{"sandbox-oom": e, "sandbox-crashloop": e, "cni-config": e, "stale-created": e}
	}
	uptime := func(name, text string, exits map[string]int) NodeFault {
		return NodeFault{Name: name, Exits: exits, Hides: true, apply: func(t testing.TB, n *Node) { n.write(t, "proc/uptime", text) }}
	}
	return []NodeFault{
		uptime("no uptime", "", none(2)),
		uptime("an uptime below zero", "-5.00 1.00\n", none(2)),
		uptime("an uptime that is no number", "NaN 1.00\n", none(2)),
		uptime("an uptime of a minute", "60.00 1.00\n", nil),
		uptime("an uptime of 90 years", "2838240000.00 1.00\n", nil),
		{Name: "no btime", Hides: true, apply: func(t testing.TB, n *Node) { n.write(t, "proc/stat", "cpu 1\n") }},
		{Name: "btime of 1970", Hides: true, apply: func(t testing.TB, n *Node) { n.write(t, "proc/stat", "btime 1\n") }},
		{Name: "btime in the future", Hides: true, apply: func(t testing.TB, n *Node) {
			n.write(t, "proc/stat", fmt.Sprintf("btime %d\n", n.Now.Add(1000*time.Hour).Unix()))
		}},
		{Name: "no boot id", apply: func(t testing.TB, n *Node) { n.remove(t, "proc/sys") }},
		{Name: "file times in the future", Hides: true, apply: func(t testing.TB, n *Node) { n.touchAll(t, n.Now.Add(50*365*24*time.Hour)) }},
		{Name: "file times of 1970", Hides: true, apply: func(t testing.TB, n *Node) { n.touchAll(t, time.Unix(0, 0)) }},
	}
}
