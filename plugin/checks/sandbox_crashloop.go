package checks

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/cgroup"
	"sandbox-checker/plugin/cri"
	"sandbox-checker/plugin/kmsg"
	"sandbox-checker/plugin/state"
)

// SandboxCrashLoop finds pods whose sandbox is made again and again, and asks why and whose fault it is.
var SandboxCrashLoop = plugin.Check{
	Name:          SandboxCrashLoopName,
	Condition:     "PodSandboxCrashLoop",
	Reason:        "PodSandboxesKeepFailing",
	HealthyReason: "NoPodSandboxCrashLoop",
	Title:         "pods whose sandbox fails again and again for a reason of this node",
	Help: plugin.Doc{
		Short: plugin.Short{
			Reads: "CRI lists, cgroups, log directories, and what the others read",
			Says:  "pods make sandbox after sandbox for a reason of this node, and which",
			Cure:  "the cure of the cause; if it stays, taint the node, then replace it",
		},
		Without: plugin.Without{
			KernelLog: "works; AppArmor, userspace OOM killers and limits that only the log tells stay unknown",
			Pods:      "exit 2",
			CNI:       "works; causes of the CNI stay unknown",
			History:   "works; slow loops are found later or not",
			Runtime:   "exit 2",
		},
		Reads: []string{
			"CRI: ListPodSandbox; when a pod loops also Status, PodSandboxStatus and ImageStatus",
			"/sys/fs/cgroup: the pods' cgroups; /var/log/pods: names, and whether a pod's directory is empty",
			"when a pod has no sandbox: /dev/kmsg, and what cni-config and sandbox-oom read",
			"/run/sandbox-checker: the sandboxes seen before (it is written too)",
		},
		Says: []string{
			"died after start: three new sandboxes of a pod within --loop-window, the newest within --loop-newest; or attempts of 10 and more in quick succession; or five sandboxes of one pod at once",
			"cannot be made: the pod has a cgroup and an empty log directory, and no ready sandbox for --start-grace. Most runtimes list nothing of it",
			"killed by its limit: three OOM stories of the pod's sandbox start",
			"never came back after a reboot or a runtime restart; told only together with a known cause",
			"the cause, in this order: the pod's own memory limit, what cni-config finds, the sandbox image gone, AppArmor denying runc, a userspace OOM killer, a cgroup driver mismatch, else unknown",
		},
		Silent: []string{
			"one step of every pod after a reboot or a runtime restart; finished pods; sandboxes kept by garbage collection",
			"a pod that waits for a volume: it has no log directory yet",
			"a pod that its own memory limit kills: sandbox-oom tells it, and no node is to blame",
			"fewer than --min-pods pods while the cause is unknown, also when the CNI is not mounted here and may be the cause: report and events tell them",
		},
		Cure: []string{
			"the cure of the cause that is named",
			"when it is unknown: kubectl describe pod; its FailedCreatePodSandBox event has the runtime's error",
			"if the node stays so, taint it, then replace it",
		},
		Needs: []string{
			"the runtime's socket (mount its directory), uid 0",
			"/sys/fs/cgroup and /var/log/pods at the same paths as on the node, read-only; what cni-config needs",
			"/run/sandbox-checker, writable: without it there is no history, and a slow loop is found later or not",
			"/dev/kmsg for three of the causes; without it they stay unknown",
		},
		Acts: []string{
			"node-readiness-controller, when a rule names PodSandboxCrashLoop: taints the node, so that new pods go elsewhere",
			"NodeHealthCheck or MachineHealthCheck, when they name it: replace the node after their own waiting time",
			"scheduler, cluster-autoscaler and Karpenter do not read it: they act on the taint",
		},
	},
	Run: runSandboxCrashLoop,
}

// loopView is what sandbox-crashloop judges.
type loopView struct {
	oomView
	grouped map[string][]cri.Sandbox // by pod, made of sandboxes when it is first asked
	history map[string][]state.Seen
	starts  []float64
	// firstLook is when the history begins, by the boot clock.
	firstLook float64
	// The causes that were looked for, filled in only when a pod loops.
	cni       []plugin.Finding
	cniErr    error // why it could not be told whether the CNI is the cause
	image     cri.Image
	status    cri.Status
	hostNet   map[string]bool // by sandbox id; only of pods that loop
	logRead   bool
	apparmor  bool
	userspace map[string]bool // uids whose cgroup a userspace OOM killer killed
}

func runSandboxCrashLoop(ctx context.Context, h *plugin.Host, o plugin.Options) (plugin.Result, error) {
	r := plugin.Result{Looked: "no pod makes sandbox after sandbox"}
	v, err := gatherLoops(ctx, h, o)
	if err != nil {
		return r, err
	}
	loops := v.loops(o)
	if len(loops) == 0 {
		return r, nil
	}
	if err := v.gatherCauses(ctx, h, o, loops); err != nil {
		return r, err
	}
	judged := judgeLoops(v, o, loops)
	if judged.Looked == "" {
		judged.Looked = r.Looked
	}
	return judged, nil
}

func gatherLoops(ctx context.Context, h *plugin.Host, o plugin.Options) (*loopView, error) {
	o.OOMWindow = o.LoopWindow
	v := &loopView{hostNet: map[string]bool{}, userspace: map[string]bool{}}
	rt, err := h.CRI()
	if err != nil {
		return nil, err
	}
	if v.oomView, err = gatherPods(ctx, h, rt); err != nil {
		return nil, err
	}
	v.remember(h)
	if !v.anyWaits() {
		return v, nil // every pod has its sandbox: nothing of the kernel's is needed
	}
	v.readKernelLog(ctx, h, o)
	return v, v.addMinMemory(ctx, rt)
}

// anyWaits says whether some pod with a cgroup has no ready sandbox.
func (v *loopView) anyWaits() bool {
	for uid := range v.pods {
		if !v.ready(uid) {
			return true
		}
	}
	return false
}

// readKernelLog takes the stories and the two other causes that stand in it. Without the log they stay unknown.
func (v *loopView) readKernelLog(ctx context.Context, h *plugin.Host, o plugin.Options) {
	v.logRead = true
	records, err := kernelLog(ctx, h, max(o.OOMWindow, o.LoopWindow))
	if err != nil {
		v.logErr = err
		return
	}
	v.stories = recentStories(records, h.KernelClock, v.clock, o.OOMWindow)
	for _, r := range records {
		if sinceRecord(r, h.KernelClock, v.clock) > o.LoopWindow {
			continue
		}
		v.apparmor = v.apparmor || !r.User && kmsg.DeniesRunc(r.Text)
		if uid := killedByUserspace(r.Text); uid != "" {
			v.userspace[uid] = true
		}
	}
}

// killedByUserspace is the uid of the pod whose cgroup a userspace OOM killer killed, "" for any other text.
func killedByUserspace(text string) string {
	path, ok := kmsg.UserspaceKill(text)
	if !ok {
		return ""
	}
	place, _ := cgroup.PlaceOf(path)
	return place.UID
}

// gatherCauses asks what only matters when a pod loops.
func (v *loopView) gatherCauses(ctx context.Context, h *plugin.Host, o plugin.Options, loops []loop) error {
	rt, err := h.CRI()
	if err != nil {
		return err
	}
	if v.status, err = rt.Status(ctx); err != nil {
		return err
	}
	if !v.logRead {
		v.readKernelLog(ctx, h, o)
	}
	if len(v.stories) > 0 && v.containers == nil {
		if v.containers, err = rt.Containers(ctx); err != nil {
			return err
		}
	}
	cni, err := runCNIConfig(ctx, h, o)
	var starting plugin.Starting
	if errors.As(err, &starting) {
		return starting // too early for any cause
	}
	v.cni = cni.Findings
	if len(v.cni) == 0 {
		v.cniErr = err // the cause stays unknown
	}
	for _, l := range loops {
		if l.sandboxID == "" {
			continue
		}
		if host, err := rt.HostNetwork(ctx, l.sandboxID); err == nil {
			v.hostNet[l.sandboxID] = host
		}
	}
	if len(v.cni) == 0 {
		// A runtime that cannot tell leaves the cause unknown.
		v.image, _ = rt.SandboxImage(ctx, v.anySandbox())
	}
	return nil
}

func (v *loopView) anySandbox() string {
	if len(v.sandboxes) == 0 {
		return ""
	}
	return v.sandboxes[0].ID
}

// driverMismatch compares who names the pod's cgroup, the kubelet, with who names the sandboxes', the runtime. Only the
// looping pod's own cgroup tells: others may be left of an earlier setting.
func (v *loopView) driverMismatch(uid string) string {
	p, ok := v.pods[uid]
	if v.status.CgroupDriver == "" || !ok {
		return ""
	}
	kubelet := "cgroupfs"
	if strings.HasSuffix(p.dir, ".slice") {
		kubelet = "systemd"
	}
	if kubelet == v.status.CgroupDriver {
		return ""
	}
	return fmt.Sprintf("cgroup driver mismatch, kubelet %s and runtime %s", kubelet, v.status.CgroupDriver)
}
