package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/checks"
)

// checkTimeout is below the 10s of the rules in config/.
const checkTimeout = 6 * time.Second

// check answers NPD. Whatever happens, one line goes to stdout and the process ends before its deadline.
func (c *cli) check(args []string) (int, error) {
	v, err := c.verdict(args)
	if err != nil {
		return 0, err
	}
	// Whoever does not read our line must not hold us beyond the deadline.
	written := make(chan error, 1)
	go func() { written <- c.print(v.Line + "\n") }()
	select {
	case err := <-written:
		return int(v.Status), err
	case <-time.After(max(time.Until(c.deadline), writeTime)):
		return 0, errors.New("check: nobody reads stdout")
	}
}

// writeTime is left for the line when the look took all the time there was. On a node without a free CPU even a write waits.
const writeTime = time.Second

// verdict turns everything but a call for help into a verdict.
func (c *cli) verdict(args []string) (plugin.Verdict, error) {
	s := &settings{}
	flags := checkFlags(s)
	c.deadline = time.Now().Add(checkTimeout)
	rest, err := s.parse(flags, args, c)
	if errors.Is(err, pflag.ErrHelp) {
		return plugin.Verdict{}, err
	}
	if err != nil {
		return plugin.CouldNotLook(fmt.Errorf("check: %w", err)), nil
	}
	if len(rest) != 1 {
		return plugin.CouldNotLook(fmt.Errorf("check: want one name of %s", names())), nil
	}
	chk, ok := checks.Named(rest[0])
	if !ok {
		return plugin.CouldNotLook(fmt.Errorf("check %s: unknown, want one of %s", rest[0], names())), nil
	}
	if s.heal && chk.Name != checks.StaleCreatedName {
		return plugin.CouldNotLook(fmt.Errorf("check %s: --enable-repair is for %s alone", chk.Name, checks.StaleCreatedName)), nil
	}
	if s.cooldown < 0 {
		return plugin.CouldNotLook(fmt.Errorf("check: --cooldown %s: must not be negative", s.cooldown)), nil
	}
	c.deadline = time.Now().Add(s.timeout)
	var badCapture atomic.Bool
	v := within(s.timeout, func(ctx context.Context, at *step) plugin.Verdict {
		h, err := host(ctx, s, at)
		if err != nil {
			badCapture.Store(s.node != "")
			return plugin.CouldNotLook(err)
		}
		defer h.Close()
		v, r := chk.Judge(ctx, h, s.opts)
		if s.heal && s.node == "" {
			enableRepair(ctx, h, r.Findings, s.cooldown, func(what string) { s.log.Info(what) })
		}
		if s.news {
			return h.News(v, r)
		}
		return v
	})
	if badCapture.Load() {
		return v, nil // a mistyped path must not look like a healthy node
	}
	if s.news && v.Status == plugin.Unknown {
		v.Status = plugin.OK // it hung
	}
	if v.Status == plugin.Unknown && s.unknownAs == "ok" {
		v.Status = plugin.OK
	}
	return v, nil
}

func names() string {
	var out []string
	for _, c := range checks.All() {
		out = append(out, c.Name)
	}
	return strings.Join(out, ", ")
}

// within runs look and gives its verdict, or, at the deadline, one that says what hung. A look that hangs in the kernel is
// left behind: main exits.
func within(timeout time.Duration, look func(context.Context, *step) plugin.Verdict) plugin.Verdict {
	// The calls get a little less, so that as a rule they end by themselves and name their cause better.
	ctx, cancel := context.WithTimeout(context.Background(), timeout*9/10)
	defer cancel()
	at := &step{}
	done := make(chan plugin.Verdict, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- plugin.CouldNotLook(fmt.Errorf("internal error while %s: %v", at.get(), p))
			}
		}()
		done <- look(ctx, at)
	}()
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	select {
	case v := <-done:
		return v
	case <-deadline.C:
		return plugin.CouldNotLook(fmt.Errorf("%s hung for %s", at.get(), timeout))
	}
}
