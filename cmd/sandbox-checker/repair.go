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
	flags := newFlags("repair")
	s.addTo(flags, lookTimeout)
	yes := flags.Bool("yes", false, "do it")
	rest, err := s.parse(flags, args, c)
	if err != nil {
		return 0, fmt.Errorf("repair: %w", err)
	}
	if len(rest) > 1 {
		return 0, fmt.Errorf("repair: unexpected argument %q: it looks at the whole node", rest[1])
	}
	if len(rest) != 1 || rest[0] != checks.StaleCreatedName {
		return 0, fmt.Errorf("repair: want %s, the only check that can be repaired", checks.StaleCreatedName)
	}
	type outcome struct {
		text string
		left int
	}
	done, err := before(s.timeout, func(ctx context.Context, at *step) (outcome, error) {
		h := liveHost(ctx, s, at)
		defer h.Close()
		r, err := checks.StaleCreated.Run(ctx, h, s.opts)
		if err != nil {
			return outcome{}, err
		}
		text, left := repairAll(ctx, h, r.Findings, *yes)
		return outcome{text, left}, nil
	})
	if err != nil {
		return 0, fmt.Errorf("repair: %w", err)
	}
	if done.left > 0 {
		return int(plugin.Problem), c.print(done.text)
	}
	return 0, c.print(done.text)
}

// repairAll removes the containers of the findings one by one, each only if it still is what was found. It returns what it
// did and how many are left.
func repairAll(ctx context.Context, h *plugin.Host, findings []plugin.Finding, yes bool) (string, int) {
	if len(findings) == 0 {
		return "nothing to repair: no container waits that was created and never started\n", 0
	}
	var b strings.Builder
	left := 0
	for _, f := range findings {
		what := fmt.Sprintf("%s container %s %s", f.Subject(), f.Container, f.ContainerID)
		if !yes {
			left++
			fmt.Fprintf(&b, "would remove %s: %s\n", what, f.Cause)
			continue
		}
		switch err := repairOne(ctx, h, f); {
		case errors.Is(err, errGone):
			fmt.Fprintf(&b, "gone         %s: somebody else removed it\n", what)
		case errors.Is(err, errChanged):
			fmt.Fprintf(&b, "left alone   %s: %v\n", what, err)
		case err != nil:
			left++
			fmt.Fprintf(&b, "failed       %s: %v\n", what, err)
		default:
			fmt.Fprintf(&b, "removed      %s\n", what)
		}
	}
	if !yes {
		b.WriteString("nothing was changed: add --yes to do it\n")
	}
	return printableLines(b.String()), left
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

func printableLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = printable(lines[i])
	}
	return strings.Join(lines, "\n")
}

// enableRepair is the automatic repair of check stale-created: at most once in the cool-down, so that a pod which comes
// back stale again and again is seen by a person.
func enableRepair(ctx context.Context, h *plugin.Host, findings []plugin.Finding, cooldown time.Duration, log func(string)) {
	clock, err := h.Boot()
	if err != nil || len(findings) == 0 {
		return
	}
	due := false
	h.Remember(clock, func(s *state.State) { due = s.Repair(cooldown) })
	if !due {
		log("repair: still cooling down")
		return
	}
	text, _ := repairAll(ctx, h, findings, true)
	log("repair: " + strings.TrimSpace(text))
}
