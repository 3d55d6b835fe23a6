package main

import (
	"context"
	"sync"
	"time"

	"sandbox-checker/plugin/cri"
)

// answered is a runtime of which some calls fail: each of the three that the checks rest on was asked once, all at one moment,
// and its answer or its error is kept. The rest is asked live.
type answered struct {
	*cri.Client
	status     kept[cri.Status]
	sandboxes  kept[[]cri.Sandbox]
	containers kept[[]cri.Container]
}

type kept[T any] struct {
	val T
	err error
}

func (k *kept[T]) ask(ctx context.Context, call func(context.Context) (T, error)) {
	k.val, k.err = call(ctx)
}

// askEach asks a runtime call by call. One that hangs leaves the others their answers.
func askEach(ctx context.Context, c *cri.Client) *answered {
	a := &answered{Client: c}
	var all sync.WaitGroup
	all.Go(func() { a.status.ask(ctx, c.Status) })
	all.Go(func() { a.sandboxes.ask(ctx, c.Sandboxes) })
	all.Go(func() { a.containers.ask(ctx, c.Containers) })
	all.Wait()
	return a
}

// Status gives what was answered.
func (a *answered) Status(context.Context) (cri.Status, error) { return a.status.val, a.status.err }

// Sandboxes gives what was answered.
func (a *answered) Sandboxes(context.Context) ([]cri.Sandbox, error) {
	return a.sandboxes.val, a.sandboxes.err
}

// Containers gives what was answered.
func (a *answered) Containers(context.Context) ([]cri.Container, error) {
	return a.containers.val, a.containers.err
}

// CreatedContainers picks them out of what was answered.
func (a *answered) CreatedContainers(context.Context) ([]cri.Container, error) {
	var out []cri.Container
	for _, c := range a.containers.val {
		if c.State == cri.Created {
			out = append(out, c)
		}
	}
	return out, a.containers.err
}

// part is a context that ends when a share of what is left of ctx's time has gone.
func part(ctx context.Context, share float64) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Duration(float64(time.Until(end))*share))
}
