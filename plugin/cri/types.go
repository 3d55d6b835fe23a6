// Package cri reads a container runtime over the Container Runtime Interface: its sandboxes, containers and status, and
// where it looks for CNI files. gRPC and the generated types stop here.
//
// There are two sources with the same methods: [Client] asks a live runtime, [Recorded] replays what crictl printed.
// Both go through the same conversion, so a verdict from a capture is the verdict the node would get.
package cri

import (
	"time"

	"sandbox-checker/plugin/cri/wire"
)

// Labels that the kubelet puts on what it makes (k8s.io/kubelet/pkg/types).
const (
	podNameLabel      = "io.kubernetes.pod.name"
	podNamespaceLabel = "io.kubernetes.pod.namespace"
	podUIDLabel       = "io.kubernetes.pod.uid"
)

// Pod names a pod as its sandbox's metadata or the kubelet's labels do.
type Pod struct {
	Namespace, Name, UID string
}

// Sandbox is one row of ListPodSandbox.
type Sandbox struct {
	ID      string
	Pod     Pod
	Attempt uint32
	// Ready is any state but SANDBOX_NOTREADY. A state that this version does not know proves no fault, and a container in
	// such a sandbox is not ours to remove.
	Ready bool
	// StateUnknown: the state is one that only a later CRI has.
	StateUnknown bool
	// Created is zero when the runtime gives no honest time: 0, or a negative number (containerd 1.6 leftovers).
	Created time.Time
}

// State is a container's state as CRI names it.
type State int32

// The states of CRI's ContainerState. A later CRI may add more: they are none of these.
const (
	Created State = State(wire.ContainerState_CONTAINER_CREATED)
	Running State = State(wire.ContainerState_CONTAINER_RUNNING)
	Exited  State = State(wire.ContainerState_CONTAINER_EXITED)
	Unknown State = State(wire.ContainerState_CONTAINER_UNKNOWN)
)

// Container is one row of ListContainers.
type Container struct {
	ID, SandboxID string
	Name          string
	Attempt       uint32
	State         State
	// Pod comes from the kubelet's labels and is empty for containers that others made.
	Pod Pod
	// Created is zero when the runtime gives no honest time, as after a power cut before the disk caught up.
	Created time.Time
}

func honestTime(ns int64) time.Time {
	if ns <= 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}

// sandboxRow is what a sandbox of a list has, be it read for a check or for a capture.
type sandboxRow interface {
	GetId() string
	GetMetadata() *wire.PodSandboxMetadata
	GetState() wire.PodSandboxState
	GetCreatedAt() int64
}

func sandboxesOf[S sandboxRow](items []S) []Sandbox {
	out := make([]Sandbox, 0, len(items))
	for _, s := range items {
		m := s.GetMetadata()
		out = append(out, Sandbox{
			ID:           s.GetId(),
			Pod:          Pod{Namespace: m.GetNamespace(), Name: m.GetName(), UID: m.GetUid()},
			Attempt:      m.GetAttempt(),
			Ready:        s.GetState() != wire.PodSandboxState_SANDBOX_NOTREADY,
			StateUnknown: s.GetState() != wire.PodSandboxState_SANDBOX_NOTREADY && s.GetState() != wire.PodSandboxState_SANDBOX_READY,
			Created:      honestTime(s.GetCreatedAt()),
		})
	}
	return out
}

func containersOf(items []*wire.Container) []Container {
	out := make([]Container, 0, len(items))
	for _, c := range items {
		l := c.GetLabels()
		out = append(out, Container{
			ID:        c.GetId(),
			SandboxID: c.GetPodSandboxId(),
			Name:      c.GetMetadata().GetName(),
			Attempt:   c.GetMetadata().GetAttempt(),
			State:     State(c.GetState()),
			Pod:       Pod{Namespace: l[podNamespaceLabel], Name: l[podNameLabel], UID: l[podUIDLabel]},
			Created:   honestTime(c.GetCreatedAt()),
		})
	}
	return out
}

// hostNetwork reads linux.namespaces.options.network of a sandbox's status; NODE is the host's network.
func hostNetwork(s *wire.PodSandboxStatus) bool {
	return s.GetLinux().GetNamespaces().GetOptions().GetNetwork() == wire.NamespaceMode_NODE
}

// Image is the image of which sandboxes are made. Name is "" when the runtime does not tell it.
type Image struct {
	Name    string
	Present bool
}
