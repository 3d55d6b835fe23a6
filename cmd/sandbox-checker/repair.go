package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/checks"
	"sandbox-checker/plugin/cri"
	"sandbox-checker/plugin/state"
)

// repair removes what stale-created finds. Without --yes it only says what it would do. Its exit status is 0 when nothing
// stale is left, 1 when something is, 2 when it could not look.
func (c *cli) repair(args []string) (int, error) {
	s := &settings{}
	rest, err := s.parse(repairFlags(s), args, c)
	if err != nil {
		return 0, fmt.Errorf("repair: %w", err)
	}
	if len(rest) > 1 {
		return 0, fmt.Errorf("repair: unexpected argument %q: it looks at the whole node", rest[1])
	}
	if len(rest) != 1 || rest[0] != checks.StaleCreatedName {
		return 0, fmt.Errorf("repair: want %s, the only check that can be repaired", checks.StaleCreatedName)
	}
	left, err := before(s.timeout, func(ctx context.Context, at *step) (int, error) {
		h := liveHost(ctx, s, at)
		defer h.Close()
		r, err := checks.StaleCreated.Run(ctx, h, s.opts)
		if err != nil {
			return 0, err
		}
		return repairAll(ctx, h, r.Findings, s.yes, c.print)
	})
	if err != nil {
		return 0, fmt.Errorf("repair: %w", err)
	}
	if left > 0 {
		return int(plugin.Problem), nil
	}
	return 0, nil
}

// repairAll removes the containers of the findings one by one, each only if it still is what was found. It says what it did
// with each at once, so that nothing is lost when it is stopped half-way, and returns how many are left.
func repairAll(ctx context.Context, h *plugin.Host, findings []plugin.Finding, yes bool, say func(string) error) (int, error) {
	if len(findings) == 0 {
		return 0, say("nothing to repair: no container waits that was created and never started\n")
	}
	left := 0
	for _, f := range findings {
		text, remains := repairAndTell(ctx, h, f, yes)
		if remains {
			left++
		}
		if err := say(printable(text) + "\n"); err != nil {
			return left, err
		}
	}
	if !yes {
		return left, say("nothing was changed: add --yes to do it\n")
	}
	return left, nil
}

// repairAndTell gives the line for one container, and whether it is still stale.
func repairAndTell(ctx context.Context, h *plugin.Host, f plugin.Finding, yes bool) (line string, remains bool) {
	what := fmt.Sprintf("%s container %s %s", f.Subject(), f.Container, f.ContainerID)
	if !yes {
		return fmt.Sprintf("would remove %s: %s", what, f.Cause), true
	}
	switch err := repairOne(ctx, h, f); {
	case errors.Is(err, errGone):
		return fmt.Sprintf("gone         %s: somebody else removed it", what), false
	case errors.Is(err, errChanged):
		return fmt.Sprintf("left alone   %s: %v", what, err), false
	case err != nil:
		return fmt.Sprintf("failed       %s: %v", what, err), true
	}
	return "removed      " + what, false
}

// errChanged: the container is no longer what was found, so it is no longer ours to remove.
var errChanged = errors.New("it has changed since it was looked at")

// errGone: there is nothing left to remove, which is what repair is for.
var errGone = errors.New("it is gone")

// repairOne reads the container's and the sandbox's status just before it acts.
func repairOne(ctx context.Context, h *plugin.Host, f plugin.Finding) error {
	client, ok := h.Runtime.(*cri.Client)
	if !ok {
		return errors.New("no live runtime")
	}
	now, err := client.Standing(ctx, f.ContainerID, f.SandboxID)
	if err != nil {
		return err
	}
	if err := stillStale(f, now); err != nil {
		return err
	}
	return client.Remove(ctx, f.ContainerID)
}

// stillStale is an error when the container is not what was found. One that has left CREATED is no longer stale; one whose
// sandbox alone has changed may still be, so it is left and counted.
func stillStale(f plugin.Finding, now cri.Standing) error {
	switch {
	case now.Gone:
		return errGone
	case now.State != cri.Created:
		return errChanged
	case now.SandboxReady != f.SandboxReady:
		return errors.New("its sandbox has changed since it was looked at: run repair again")
	}
	return nil
}

// enableRepair is the automatic repair of check stale-created: at most once in the cool-down, so that a pod which comes
// back stale again and again is seen by a person.
func enableRepair(ctx context.Context, h *plugin.Host, findings []plugin.Finding, cooldown time.Duration, log func(string)) {
	clock, err := h.Boot()
	if err != nil || len(findings) == 0 {
		return
	}
	due := false
	kept := h.Remember(clock, func(s *state.State) { due = s.Repair(cooldown) })
	if !kept && cooldown > 0 {
		log("repair: not done: the cool-down cannot be kept in the state directory") // it would be done at every run
		return
	}
	if !due {
		log("repair: still cooling down")
		return
	}
	_, _ = repairAll(ctx, h, findings, true, func(line string) error { // a log does not fail
		log("repair: " + strings.TrimSpace(line))
		return nil
	})
}
