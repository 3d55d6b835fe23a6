package faults

import (
	"fmt"
	"strings"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// pod is one pod of a node.
type pod struct {
	namespace, name, uid string
}

func podNumber(name string, i int) pod {
	return pod{"default", fmt.Sprintf("%s-%d", name, i), fmt.Sprintf("%08x-1111-4222-8333-%012x", i, len(name))}
}

func (p pod) sandbox(id string, attempt uint32, ready bool, created time.Time) *runtimeapi.PodSandbox {
	s := &runtimeapi.PodSandbox{Id: id, State: runtimeapi.PodSandboxState_SANDBOX_NOTREADY, CreatedAt: created.UnixNano(),
		Metadata: &runtimeapi.PodSandboxMetadata{Name: p.name, Namespace: p.namespace, Uid: p.uid, Attempt: attempt}}
	if ready {
		s.State = runtimeapi.PodSandboxState_SANDBOX_READY
	}
	return s
}

func (p pod) container(id, sandbox string, attempt uint32, state runtimeapi.ContainerState, created time.Time) *runtimeapi.Container {
	return &runtimeapi.Container{Id: id, PodSandboxId: sandbox, State: state, CreatedAt: created.UnixNano(),
		Metadata: &runtimeapi.ContainerMetadata{Name: "main", Attempt: attempt},
		Labels: map[string]string{"io.kubernetes.pod.name": p.name, "io.kubernetes.pod.namespace": p.namespace,
			"io.kubernetes.pod.uid": p.uid, "io.kubernetes.container.name": "main"}}
}

func id(kind string, i int) string { return fmt.Sprintf("%s%061x", kind, i) }

// onNode gives a pod its cgroup and its log directory. limit is as memory.max says it.
func (n *Node) onNode(t testing.TB, p pod, limit string, started bool) {
	t.Helper()
	n.write(t, cgroups+p.uid+"/memory.max", limit+"\n")
	n.write(t, cgroups+p.uid+"/memory.current", "0\n")
	n.write(t, cgroups+p.uid+"/memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n")
	logs := fmt.Sprintf("var/log/pods/%s_%s_%s", p.namespace, p.name, p.uid)
	n.mkdir(t, logs)
	if started {
		n.mkdir(t, logs+"/main")
	}
	n.touch(t, logs, n.Now.Add(-30*time.Minute))
}

// addHealthyPods adds what a node of some age has: running pods, one that was rebooted with its leftovers, one whose
// container waits for a slow disk, and a finished one.
func (n *Node) addHealthyPods(t testing.TB) {
	t.Helper()
	booted := n.Now.Add(-Uptime)
	before, after := booted.Add(-time.Hour), booted.Add(10*time.Minute)
	rt := n.Runtime
	for i := range 10 {
		p := podNumber("runs", i)
		n.onNode(t, p, "134217728", true)
		rt.Sandboxes = append(rt.Sandboxes, p.sandbox(id("a0", i), 0, false, before), p.sandbox(id("a1", i), 1, true, after))
		rt.Containers = append(rt.Containers,
			p.container(id("b0", i), id("a0", i), 0, runtimeapi.ContainerState_CONTAINER_EXITED, before),
			p.container(id("b1", i), id("a1", i), 1, runtimeapi.ContainerState_CONTAINER_RUNNING, after))
	}
	left := podNumber("left", 20) // created before the boot, and a newer attempt runs
	n.onNode(t, left, "max", true)
	rt.Sandboxes = append(rt.Sandboxes, left.sandbox(id("a0", 20), 0, false, before), left.sandbox(id("a1", 20), 1, true, after))
	rt.Containers = append(rt.Containers,
		left.container(id("b0", 20), id("a0", 20), 0, runtimeapi.ContainerState_CONTAINER_CREATED, before),
		left.container(id("b1", 20), id("a1", 20), 1, runtimeapi.ContainerState_CONTAINER_RUNNING, after))
	slow := podNumber("slow", 21) // created in a sandbox that is up, twenty minutes ago
	n.onNode(t, slow, "max", true)
	recent := n.Now.Add(-20 * time.Minute)
	rt.Sandboxes = append(rt.Sandboxes, slow.sandbox(id("a1", 21), 0, true, recent))
	rt.Containers = append(rt.Containers, slow.container(id("b1", 21), id("a1", 21), 0, runtimeapi.ContainerState_CONTAINER_CREATED, recent))
	done := podNumber("done", 22) // finished: no cgroup any more
	rt.Sandboxes = append(rt.Sandboxes, done.sandbox(id("a1", 22), 0, false, recent))
	rt.Containers = append(rt.Containers, done.container(id("b1", 22), id("a1", 22), 0, runtimeapi.ContainerState_CONTAINER_EXITED, recent))
}

func (n *Node) addSickPods(t testing.TB) {
	t.Helper()
	rt := n.Runtime
	before := n.Now.Add(-Uptime - time.Hour)
	stale := podNumber("stale", 30)
	n.onNode(t, stale, "max", true)
	rt.Sandboxes = append(rt.Sandboxes, stale.sandbox(id("a0", 30), 0, false, before))
	rt.Containers = append(rt.Containers, stale.container(id("b0", 30), id("a0", 30), 0, runtimeapi.ContainerState_CONTAINER_CREATED, before))
	n.onNode(t, tiny, "0", false)
	for i := range 2 {
		p := podNumber("loops", 40+i)
		n.onNode(t, p, "max", true)
		for a := range 6 {
			made := n.Now.Add(-time.Duration(10-a) * time.Minute)
			rt.Sandboxes = append(rt.Sandboxes, p.sandbox(id(fmt.Sprintf("c%d", i), a), uint32(a), false, made))
		}
	}
}

// tiny is the pod that its limit kills.
var tiny = podNumber("tiny", 31)

// kernelLog is a log as /dev/kmsg gives it; on the node with sick pods with the story of a limit of 0.
func (n *Node) kernelLog(b Base) string {
	var out strings.Builder
	say := func(ago time.Duration, text string) {
		fmt.Fprintf(&out, "6,%d,%d,-;%s\n", out.Len(), kernelTime(ago), text)
	}
	say(time.Hour, "Linux version 6.12.0")
	say(50*time.Minute, "eth0: link becomes ready")
	if b == SickPods {
		const at = 2 * time.Minute
		say(at, "runc invoked oom-killer: gfp_mask=0x400cc0(GFP_KERNEL_ACCOUNT), order=1, oom_score_adj=1")
		say(at, "memory: usage 0kB, limit 0kB, failcnt 7")
		say(at, "Memory cgroup stats for /kubepods/burstable/pod"+tiny.uid+":")
		say(at, "Tasks state (memory values in pages):")
		say(at, "[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name")
		say(at, "Out of memory and no killable processes...")
	}
	return out.String()
}
