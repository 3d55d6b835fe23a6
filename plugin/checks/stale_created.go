package checks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/boot"
	"sandbox-checker/plugin/cri"
	"sandbox-checker/plugin/state"
)

// StaleCreated finds containers that were created and never started, and that nothing will start any more.
var StaleCreated = plugin.Check{
	Name:          StaleCreatedName,
	Condition:     "StaleCreatedContainer",
	Reason:        "ContainerNeverStarted",
	HealthyReason: "NoStaleCreatedContainer",
	Title:         "containers that were created, never started, and keep their pod Pending for ever",
	Help: plugin.Doc{
		Short: plugin.Short{
			Reads: "CRI lists, boot clock",
			Says:  "a container was created before this boot, before a runtime restart or in a lost sandbox, and never started",
			Cure:  "`sandbox-checker repair stale-created`, or delete the pod. Do not replace the node: a reboot causes this",
		},
		Without: plugin.Without{
			KernelLog: "works",
			Pods:      "works",
			CNI:       "works",
			History:   "works",
			Runtime:   "exit 2",
		},
		Reads: []string{
			"CRI: ListContainers (state CREATED); only when there are some also ListContainers, ListPodSandbox, Status and PodSandboxStatus",
			"/proc/uptime, /proc/stat (btime)",
			"/run/sandbox-checker: when the runtime's socket and the sandboxes of created containers were first seen (it is written too)",
			"the time of the runtime's socket, which is when the runtime started",
			"what cni-config reads, when there is a candidate",
		},
		Says: []string{
			"before this boot: the container was created before the boot, its sandbox is dead, and the node is up for longer than --grace",
			"lost sandbox: its sandbox is dead, the pod has no other, and it is older than --stale-after",
			"runtime restart: it was created before the runtime last started, is older than --stale-after, and its sandbox lives",
		},
		Silent: []string{
			"a leftover beside a newer attempt of the same container, or beside a newer ready sandbox",
			"a created container in a ready sandbox that this runtime process made: slow images and slow disks",
			"CONTAINER_UNKNOWN: the kubelet ends it by itself",
			"while the runtime says NetworkReady=false, or cni-config finds a problem and the pod is on the pod network: the kubelet cannot act then",
			"times that prove nothing: 0, negative, in the future, a higher attempt dated before a lower one, or a socket dated after it was first seen",
		},
		Cure: []string{
			"sandbox-checker repair stale-created shows what it would remove, and with --yes removes it: the kubelet then starts the pod at once",
			"or crictl rm ID, or delete the pod",
			"replacing the node does not help: a reboot causes this",
		},
		Needs: []string{"the runtime's socket (mount its directory), uid 0"},
		Acts: []string{
			"a person: repair the pod. No controller should act on StaleCreatedContainer: replacing the node is a reboot, and a reboot causes it",
			"scheduler, cluster-autoscaler and Karpenter do not read it",
		},
	},
	Run: runStaleCreated,
}

// createdView is what stale-created judges: the pods that hold a created container, and the clocks.
type createdView struct {
	clock          boot.Clock
	runtimeStarted time.Time // zero when it cannot be known
	// stepped is the time of the boot clock before which wall times tell no age: the clock was set. 0 where it was not.
	stepped time.Duration
	// ofThisBoot are the sandboxes, by id, that were dated within this boot when they were first seen.
	ofThisBoot map[string]bool
	sandboxes  []cri.Sandbox
	containers []cri.Container
}

func runStaleCreated(ctx context.Context, h *plugin.Host, o plugin.Options) (plugin.Result, error) {
	r := plugin.Result{Looked: "no container waits that was created and never started"}
	rt, err := h.CRI()
	if err != nil {
		return r, err
	}
	noteSocketAhead(h, rt)
	created, err := rt.CreatedContainers(ctx)
	if err != nil {
		return r, err
	}
	if len(created) == 0 {
		return r, nil
	}
	v, err := gatherCreated(ctx, h, rt)
	if err != nil {
		return r, err
	}
	stale := judgeCreated(v, o)
	if len(stale) == 0 {
		return r, nil
	}
	// A pod that was deleted between the lists looks like one whose sandbox was lost.
	if created, err = rt.CreatedContainers(ctx); err != nil {
		return r, err
	}
	stale = slices.DeleteFunc(stale, func(s staleContainer) bool {
		return !slices.ContainsFunc(created, func(c cri.Container) bool { return c.ID == s.finding.ContainerID })
	})
	if len(stale) == 0 {
		return r, nil
	}
	return holdBack(ctx, h, rt, o, stale)
}

func gatherCreated(ctx context.Context, h *plugin.Host, rt plugin.Runtime) (createdView, error) {
	var v createdView
	var err error
	if v.clock, err = h.Boot(); err != nil {
		return v, err
	}
	// Containers first: a sandbox made in between is then only missing as "newer", never as the container's own.
	if v.containers, err = rt.Containers(ctx); err != nil {
		return v, err
	}
	if v.sandboxes, err = rt.Sandboxes(ctx); err != nil {
		return v, err
	}
	made := socketMade(h, rt)
	h.Remember(v.clock, func(s *state.State) {
		v.runtimeStarted, v.stepped = runtimeStart(s, v.clock, made, v.dates)
		v.rememberSandboxes(s)
	})
	return v, nil
}

// holdBack drops the findings that the kubelet could do nothing about because the network is down: removing the container
// would not help, and the network's own condition tells the cause.
func holdBack(ctx context.Context, h *plugin.Host, rt plugin.Runtime, o plugin.Options, stale []staleContainer) (plugin.Result, error) {
	r := plugin.Result{Looked: "no container waits that the kubelet could start"}
	st, err := rt.Status(ctx)
	if err != nil {
		return r, err
	}
	if st.Network.Present && !st.Network.OK {
		r.Held = append(r.Held, fmt.Sprintf("%d created containers wait while the runtime says NetworkReady=false", len(stale)))
		return r, nil
	}
	sick := networkSick(ctx, h, o)
	for _, s := range stale {
		if sick {
			// Not knowing the pod's network counts as the pod network: most pods are on it.
			if host, err := rt.HostNetwork(ctx, s.sandboxID); err != nil || !host {
				r.Held = append(r.Held, fmt.Sprintf("%s waits for the pod network", s.finding.Subject()))
				continue
			}
			s.finding.Evidence = append(s.finding.Evidence, plugin.Evidence{Source: "CRI PodSandboxStatus",
				Text: "host network: the network that does not work is not what the pod waits for"})
		}
		r.Findings = append(r.Findings, s.finding)
	}
	return r, nil
}

func networkSick(ctx context.Context, h *plugin.Host, o plugin.Options) bool {
	r, err := runCNIConfig(ctx, h, o)
	var starting plugin.Starting
	return len(r.Findings) > 0 || errors.As(err, &starting)
}
