package checks

import (
	"context"
	"fmt"
	"time"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/boot"
	"sandbox-checker/plugin/cgroup"
	"sandbox-checker/plugin/cri"
	"sandbox-checker/plugin/kmsg"
	"sandbox-checker/plugin/state"
)

// SandboxOOM finds pods whose memory limit kills what starts their sandbox.
var SandboxOOM = plugin.Check{
	Name:          SandboxOOMName,
	Condition:     "PodSandboxStartOOM",
	Reason:        "MemoryLimitKillsSandbox",
	HealthyReason: "NoPodSandboxStartOOM",
	Title:         "memory limits that kill a pod's sandbox while it starts",
	Help: plugin.Doc{
		Short: plugin.Short{
			Reads: "CRI lists, kernel log, cgroups, log directories",
			Says:  "a memory limit kills a pod's sandbox at its start",
			Cure:  "raise the limit, write Mi and not m. Do not replace the node: the limit goes with the pod",
		},
		Without: plugin.Without{
			KernelLog: "finds by cgroups; without a finding exit 2",
			Pods:      "exit 2",
			CNI:       "works",
			History:   "works",
			Runtime:   "exit 2",
		},
		Reads: []string{
			"/dev/kmsg: the OOM killer's records of the last --oom-window",
			"/sys/fs/cgroup: the pods' memory cgroups, their limits and counters (v1 and v2)",
			"/var/log/pods: names only",
			"CRI: ListPodSandbox; ListContainers and Status when there is something to decide",
			"/run/sandbox-checker, when the clock was set on since the boot (it is written then too)",
		},
		Says: []string{
			"the kernel killed what starts a sandbox (runc, crun, conmon, pause) for the pod's own memory limit",
			"nothing could be killed, because the limit is so small that not even the sandbox's cgroup can be made: a limit typed 300m is 0.3 byte",
			"kernel memory that old kernels leak fills the pod's limit",
			"without the kernel log: the pod has had no sandbox for --start-grace, and its cgroup has a limit below 1 MiB (12 MiB on CRI-O) or counts failures",
		},
		Silent: []string{
			"an application killed by its own limit, also when pause is the process that the kernel picks",
			"a container's start or an exec probe that is killed: report tells it, the condition does not",
			"a limit above the pod: the node itself is short of memory",
			"as soon as the pod has a ready sandbox that is newer than the kernel's last word",
			"kill lines that name no cgroup: no pod is named by guess",
		},
		Cure: []string{
			"where kernel memory fills the limit, blame is the node's: update the kernel, then reboot",
			"raise the pod's memory limit; m means milli, Mi means mebibyte",
			"replacing the node does not help: the limit goes with the pod",
		},
		Needs: []string{
			"the runtime's socket (mount its directory), uid 0",
			"/sys/fs/cgroup and /var/log/pods at the same paths as on the node, read-only",
			"/dev/kmsg, which needs a privileged container; without it the cgroups are looked at, and a node without findings is exit 2",
		},
		Acts: []string{
			"a person: do what the cure says. No controller should act on PodSandboxStartOOM: as a rule the limit goes with the pod to the next node",
			"scheduler, cluster-autoscaler and Karpenter do not read it",
		},
	},
	Run: runSandboxOOM,
}

// oomView is what sandbox-oom judges.
type oomView struct {
	clock boot.Clock
	// runtimeStarted is the time of the runtime's socket.
	runtimeStarted time.Time
	// stepped is the time of the boot clock before which wall times prove nothing: the clock was set. 0 where it was not, or
	// where nothing tells.
	stepped time.Duration
	// waiting is for how long pods without a sandbox were seen so, by uid.
	waiting     map[string]time.Duration
	kernelClock time.Duration
	stories     []kmsg.Story
	logErr      error
	sandboxes   []cri.Sandbox
	containers  []cri.Container
	pods        map[string]podMemory         // by uid
	names       func() map[string]plugin.Pod // by uid; made when a pod has to be named
	logDirs     map[string]podLog
	readyUIDs   map[string]bool // made of sandboxes when it is first asked
	// minMemory is the limit below which the runtime refuses a sandbox by itself (CRI-O), 0 when it does not.
	minMemory int64
}

func runSandboxOOM(ctx context.Context, h *plugin.Host, o plugin.Options) (plugin.Result, error) {
	r := plugin.Result{Looked: "no sandbox start was killed for memory"}
	v, err := gatherOOM(ctx, h, o)
	if err != nil {
		return r, err
	}
	judged := judgeOOM(v, o)
	judged.Looked = r.Looked
	if len(judged.Findings) == 0 && v.logErr != nil {
		return judged, fmt.Errorf("kernel log: %w%s; the cgroups of the pods show nothing", v.logErr, rightFor(v.logErr))
	}
	return judged, nil
}

func gatherOOM(ctx context.Context, h *plugin.Host, o plugin.Options) (oomView, error) {
	rt, err := h.CRI()
	if err != nil {
		return oomView{}, err
	}
	v, err := gatherPods(ctx, h, rt)
	if err != nil {
		return v, err
	}
	if v.stepped > 0 { // how long ago that was only the history can tell, look by look
		h.Remember(v.clock, func(s *state.State) { _, v.stepped = runtimeStart(s, v.clock, v.runtimeStarted, v.dates) })
	}
	records, err := kernelLog(ctx, h, o.OOMWindow)
	v.logErr = err
	v.stories = recentStories(records, h.KernelClock, v.clock, o.OOMWindow)
	if len(v.stories) > 0 {
		if v.containers, err = rt.Containers(ctx); err != nil {
			return v, err
		}
	}
	return v, v.addMinMemory(ctx, rt)
}

// addMinMemory asks for the limit below which the runtime refuses a sandbox by itself, as CRI-O does. It asks only when a pod has a
// low limit and no sandbox.
func (v *oomView) addMinMemory(ctx context.Context, rt plugin.Runtime) error {
	for _, p := range v.pods {
		if m := p.memory; m != nil && m.Limit != cgroup.Unlimited && m.Limit < lowLimit {
			st, err := rt.Status(ctx)
			v.minMemory = st.MinMemory
			return err
		}
	}
	return nil
}
