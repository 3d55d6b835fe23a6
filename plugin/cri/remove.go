package cri

import (
	"context"
	"errors"
	"fmt"

	"sandbox-checker/plugin/cri/wire"
)

// Standing is what a container and its sandbox are right now.
type Standing struct {
	State        State
	SandboxReady bool
	// Gone: the runtime has the container no more. The others then say nothing.
	Gone bool
}

// Standing reads a sandbox's state (ListPodSandbox) and then, as late as can be, its container's (ContainerStatus): CRI cannot
// remove on a condition, so what starts after this answer is removed. A sandbox that is gone is not ready.
func (c *Client) Standing(ctx context.Context, containerID, sandboxID string) (Standing, error) {
	sandboxes, err := c.Sandboxes(ctx)
	if err != nil {
		return Standing{}, err
	}
	ans, err := call[wire.ContainerStatusResponse](ctx, c, runtimeService, "ContainerStatus", &wire.ContainerStatusRequest{ContainerId: containerID})
	if e, ok := errors.AsType[callError](err); ok && e.notFound() {
		return Standing{State: noState, Gone: true}, nil
	}
	if err != nil {
		return Standing{}, err
	}
	st := Standing{State: noState}
	if one := ans.GetStatus(); one != nil {
		st.State = State(one.GetState())
	}
	for _, s := range sandboxes {
		if s.ID == sandboxID {
			st.SandboxReady = s.Ready
		}
	}
	return st, nil
}

// Remove removes a container (RemoveContainer). It is the only call of this program that changes a node. A container that is
// gone already is no error, as in CRI's own words.
func (c *Client) Remove(ctx context.Context, containerID string) error {
	if containerID == "" {
		return fmt.Errorf("remove: no container id")
	}
	_, err := call[wire.RemoveContainerResponse](ctx, c, runtimeService, "RemoveContainer", &wire.RemoveContainerRequest{ContainerId: containerID})
	if e, ok := errors.AsType[callError](err); ok && e.notFound() {
		return nil
	}
	return err
}
