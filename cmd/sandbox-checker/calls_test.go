package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"sandbox-checker/plugin"
	"sandbox-checker/test/faults"
)

// on runs a command on a node that lies below a directory.
func on(t *testing.T, n *faults.Node, s *faults.Server, args ...string) answer {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c := &cli{out: &stdout, err: &stderr, env: func(string) string { return "" }}
	c.elsewhere = func(h *plugin.Host) { h.Files = rooted{h.Files.(liveFiles), n.Root} }
	exit := c.run(append(args, "--runtime-endpoint", s.Path, "--state-dir", n.StateDir()))
	return answer{exit: exit, line: stdout.String(), stderr: stderr.String()}
}

// TestCallsOfEachCommand: nothing but a repair makes a call that changes something, and that one removes what it has told.
func TestCallsOfEachCommand(t *testing.T) {
	t.Parallel()
	reads := [][]string{{"report"}, {"report", "-o", "json"}, {"capture"}, {"capture", "--redact"}, {"repair", "stale-created"}}
	for _, check := range faults.Checks {
		reads = append(reads, []string{"check", check}, []string{"check", check, "--new"})
	}
	repairs := [][]string{{"repair", "stale-created", "--yes"}, {"check", "stale-created", "--enable-repair"}}
	for _, b := range faults.Bases {
		for _, args := range append(slices.Clone(reads), repairs...) {
			t.Run(b.String()+", "+strings.Join(args, " "), func(t *testing.T) {
				t.Parallel()
				n := faults.NewNode(t, shortDir(t), b)
				s := n.Serve(t, faults.ServerFault{})
				before := len(n.Runtime.Containers)
				got := on(t, n, s, args...)
				if len(s.Called()) == 0 {
					t.Errorf("no call at all: %d %s%s", got.exit, got.line, got.stderr)
				}
				want := 0
				if b == faults.SickPods && (args[0] == "repair" && len(args) == 3 || slices.Contains(args, "--enable-repair")) {
					want = 1
				}
				changes := slices.DeleteFunc(s.Called(), func(m string) bool { return slices.Contains(faults.ReadOnly, m) })
				if len(changes) != want || want == 1 && changes[0] != "RemoveContainer" || before-len(n.Runtime.Containers) != want {
					t.Errorf("calls that change something: %v, %d containers fewer", changes, before-len(n.Runtime.Containers))
				}
			})
		}
	}
}

// TestRepairOfWhatIsGone: a container that vanished between the look and the act is gone, and nothing is left to do. Each
// runtime says that in its own way.
func TestRepairOfWhatIsGone(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string]struct {
		exit int
		says string
	}{
		"status NotFound": {0, "gone "},
		"status Internal": {1, "failed "},
		"status Unknown":  {1, "failed "},
	} {
		n := faults.NewNode(t, shortDir(t), faults.SickPods)
		s := n.Serve(t, named(t, fault).At("ContainerStatus"))
		got := on(t, n, s, "repair", "stale-created", "--yes")
		if got.exit != want.exit || !strings.HasPrefix(got.line, want.says) || strings.Count(got.line, "\n") != 1 {
			t.Errorf("%s: exit %d, want %d\n%s%s", fault, got.exit, want.exit, got.line, got.stderr)
		}
		if slices.Contains(s.Called(), "RemoveContainer") {
			t.Errorf("%s: removed all the same", fault)
		}
	}
}

// TestHostileRepair: what a runtime says of a container cannot forge a line of repair, or speak to a terminal.
func TestHostileRepair(t *testing.T) {
	t.Parallel()
	n := faults.NewNode(t, shortDir(t), faults.SickPods)
	s := n.Serve(t, named(t, "status Internal").At("ContainerStatus", "RemoveContainer"))
	got := on(t, n, s, "repair", "stale-created", "--yes")
	if got.exit != 1 || strings.Count(got.line, "\n") != 1 || strings.ContainsAny(got.line, "\x1b\x07\r") {
		t.Errorf("exit %d: %q", got.exit, got.line)
	}
}
