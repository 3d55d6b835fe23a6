package main

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"
	"time"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/kmsg"
	"sandbox-checker/test/faults"
)

// TestClockSteps: the wall clock was set, forward or back, by little or by much, since all that is on the node was dated. A healthy
// node stays healthy, and what is evidence without the clock stays told.
func TestClockSteps(t *testing.T) {
	t.Parallel()
	nodes := map[faults.Base]*faults.Node{}
	sockets := map[faults.Base]string{}
	for _, b := range faults.Bases {
		nodes[b] = faults.NewNode(t, shortDir(t), b)
		sockets[b] = nodes[b].Serve(t, faults.ServerFault{}).Path
	}
	const day = 24 * time.Hour
	for _, step := range []time.Duration{-60 * 365 * day, -3650 * day, -day, -time.Hour, -5 * time.Minute, -2 * time.Second,
		2 * time.Second, 5 * time.Minute, time.Hour, day, 3650 * day, 90 * 365 * day} {
		for b, n := range nodes {
			for _, check := range faults.Checks {
				var stdout, stderr bytes.Buffer
				c := &cli{out: &stdout, err: &stderr, env: func(string) string { return "" }}
				c.elsewhere = func(h *plugin.Host) {
					h.Files, h.Now = rooted{h.Files.(liveFiles), n.Root}, n.Now.Add(step)
					h.KernelLog = func(ctx context.Context) ([]byte, error) {
						return kmsg.ReadRing(ctx, filepath.Join(n.Root, kmsg.DevicePath))
					}
				}
				exit := c.run([]string{"check", check, "-r", sockets[b], "--timeout", enough.String(), "--state-dir", n.StateDir()})
				answer{exit: exit, line: stdout.String(), stderr: stderr.String()}.keepsProtocol(t, enough)
				if exit == 1 && b.Exit(check) == 0 {
					t.Errorf("%s, %s, on a node with %s: exit 1\n%s", step, check, b, stdout.String())
				}
				// A limit and a missing program need no clock.
				if b.Exit(check) == 1 && exit == 0 && (check == "cni-config" || check == "sandbox-oom" && step > 0) {
					t.Errorf("%s, %s, on a node with %s: exit 0\n%s", step, check, b, stdout.String())
				}
			}
		}
	}
}
