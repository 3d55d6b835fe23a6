package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"sandbox-checker/test/faults"
)

// TestAutomaticRepairNeedsItsMemory: what cannot be remembered would be done at every run, so it is not done. With no
// cool-down there is nothing to remember.
func TestAutomaticRepairNeedsItsMemory(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(t *testing.T, dir string)
		flags []string
		want  int
	}{
		"good":                       {func(*testing.T, string) {}, nil, 1},
		"a file":                     {asFile, nil, 0},
		"a link":                     {asLink, nil, 0},
		"a file and no cool-down":    {asFile, []string{"--cooldown", "0s"}, 1},
		"good, a negative cool-down": {func(*testing.T, string) {}, []string{"--cooldown=-5s"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := faults.NewNode(t, shortDir(t), faults.SickPods)
			s := n.Serve(t, faults.ServerFault{})
			if err := os.RemoveAll(n.StateDir()); err != nil {
				t.Fatal(err)
			}
			c.spoil(t, n.StateDir())
			on(t, n, s, append([]string{"check", "stale-created", "--enable-repair"}, c.flags...)...)
			removed := 0
			for _, call := range s.Called() {
				if !slices.Contains(faults.ReadOnly, call) {
					removed++
				}
			}
			if removed != c.want {
				t.Errorf("%d containers removed, want %d", removed, c.want)
			}
		})
	}
}

func asFile(t *testing.T, dir string) {
	t.Helper()
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func asLink(t *testing.T, dir string) {
	t.Helper()
	elsewhere := filepath.Join(filepath.Dir(dir), "elsewhere")
	if err := os.Mkdir(elsewhere, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, dir); err != nil {
		t.Fatal(err)
	}
}

// TestInstallTakesNoFlags: a mistyped flag is no directory.
func TestInstallTakesNoFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, arg := range []string{"--foo", "-v", "--dir=x", "-"} {
		var stdout, stderr bytes.Buffer
		c := &cli{out: &stdout, err: &stderr, env: func(string) string { return "" }}
		if exit := c.run([]string{"install", arg}); exit != 2 {
			t.Errorf("install %s: exit %d: %s%s", arg, exit, stdout.String(), stderr.String())
		}
	}
	left, err := os.ReadDir(".")
	if err != nil || len(left) > 0 {
		t.Errorf("made %v (%v)", left, err)
	}
}
