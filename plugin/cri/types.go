// Package cri reads a container runtime over the Container Runtime Interface: its sandboxes, containers and status, and
// where it looks for CNI files. gRPC and its messages stop here.
//
// There are two sources with the same methods: [Client] asks a live runtime, [Recorded] replays what crictl printed.
// Both go through the same conversion, so a verdict from a capture is the verdict the node would get.
package cri

import (
	"errors"
	"time"
)

// Labels that the kubelet puts on what it makes (k8s.io/kubelet/pkg/types).
const (
	podLabels         = "io.kubernetes.pod."
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
	// Created is zero when the runtime gives no honest time: 0, or a negative number (containerd 1.6 leftovers).
	Created time.Time
}

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

func honestTime(n nanoseconds) time.Time {
	if n <= 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(n))
}

func (s *podSandbox) row() Sandbox {
	out := Sandbox{ID: s.ID, Ready: s.State != sandboxNotReady, Created: honestTime(s.CreatedAt)}
	if m := s.Metadata; m != nil {
		out.Pod, out.Attempt = Pod{Namespace: m.Namespace, Name: m.Name, UID: m.UID}, m.Attempt
	}
	return out
}

// check refuses what no runtime may list: without an id nothing can be told from anything else.
func (s *podSandbox) check() error {
	if s.ID == "" {
		return errors.New("a sandbox without an id")
	}
	return nil
}

func (c *container) check() error {
	if c.ID == "" {
		return errors.New("a container without an id")
	}
	return nil
}

func (l sandboxList) check() error {
	for i := range l.Items {
		if err := l.Items[i].check(); err != nil {
			return err
		}
	}
	return nil
}

func (l containerList) check() error {
	for i := range l.Containers {
		if err := l.Containers[i].check(); err != nil {
			return err
		}
	}
	return nil
}

func (l sandboxList) rows() []Sandbox {
	out := make([]Sandbox, 0, len(l.Items))
	for i := range l.Items {
		out = append(out, l.Items[i].row())
	}
	return out
}

func (c *container) row() Container {
	out := Container{
		ID:        c.ID,
		SandboxID: c.PodSandboxID,
		State:     c.State,
		Pod:       Pod{Namespace: c.Labels[podNamespaceLabel], Name: c.Labels[podNameLabel], UID: c.Labels[podUIDLabel]},
		Created:   honestTime(c.CreatedAt),
	}
	if m := c.Metadata; m != nil {
		out.Name, out.Attempt = m.Name, m.Attempt
	}
	return out
}

func (l containerList) rows() []Container {
	out := make([]Container, 0, len(l.Containers))
	for i := range l.Containers {
		out = append(out, l.Containers[i].row())
	}
	return out
}

// Image is the image of which sandboxes are made. Name is "" when the runtime does not tell it.
type Image struct {
	Name    string
	Present bool
}
