package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"sandbox-checker/plugin/checks"
)

// golden holds got to testdata/NAME.golden; go test -update writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("not as in %s (go test -update writes it anew)\n%s", path, got)
	}
}

func TestDemo(t *testing.T) {
	t.Parallel()
	exit, out, stderr := run(t, "demo")
	if exit != 1 || stderr != "" {
		t.Errorf("exit %d, stderr %q", exit, stderr)
	}
	golden(t, "demo-reboot", out)
	if _, named, _ := run(t, "demo", "reboot"); named != out {
		t.Errorf("demo reboot is another one\n%s", named)
	}
}

// Every demo runs on any machine and finds what it shows.
func TestDemos(t *testing.T) {
	t.Parallel()
	for name := range strings.SplitSeq(demoNames(), ", ") {
		exit, out, stderr := run(t, "demo", name)
		if exit != 1 || stderr != "" || !strings.Contains(out, "=True") || !strings.Contains(out, " cure ") {
			t.Errorf("%s: exit %d, stderr %q\n%s", name, exit, stderr, out)
		}
		// What report says of the same capture is the same.
		_, report, _ := run(t, "report", "--node", "demo/"+name+".txtar")
		if !strings.Contains(out, "\n\n"+strings.TrimSpace(report)) {
			t.Errorf("%s: report says\n%s", name, report)
		}
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	exit, out, stderr := run(t, "help")
	if exit != 0 || stderr != "" || !strings.HasSuffix(out, "\n") {
		t.Errorf("exit %d, stderr %q", exit, stderr)
	}
	golden(t, "help", out)
	for _, args := range []string{"", "-h", "--help"} {
		if exit, again, stderr := run(t, strings.Fields(args)...); exit != 0 || stderr != "" || again != out {
			t.Errorf("%q: exit %d, stderr %q\n%s", args, exit, stderr, again)
		}
	}
	var each strings.Builder
	for _, cmd := range commands() {
		exit, out, stderr := run(t, "help", cmd.name)
		if exit != 0 || stderr != "" {
			t.Errorf("help %s: exit %d, stderr %q", cmd.name, exit, stderr)
		}
		for _, args := range [][]string{{cmd.name, "--help"}, {cmd.name, "--yes", "-h"}} {
			if exit, again, stderr := run(t, args...); exit != 0 || stderr != "" || again != out {
				t.Errorf("%q: exit %d, stderr %q\n%s", args, exit, stderr, again)
			}
		}
		each.WriteString("$ sandbox-checker help " + cmd.name + "\n" + out + "\n")
	}
	golden(t, "help-commands", each.String())
	for _, chk := range checks.All() {
		exit, out, stderr := run(t, "help", chk.Name)
		if exit != 0 || stderr != "" {
			t.Errorf("help %s: exit %d, stderr %q", chk.Name, exit, stderr)
		}
		for _, part := range []string{chk.Title, chk.Condition, chk.Reason, chk.HealthyReason, "\nReads\n", "\nSays\n", "\nStays silent\n", "\nCure\n", "\nNeeds\n"} {
			if !strings.Contains(out, part) {
				t.Errorf("help %s does not say %q", chk.Name, part)
			}
		}
	}
}

// Scripts, NPD's files and remedies hold on to these names: one that goes or changes breaks somebody.
func TestPublicNames(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, cmd := range commands() {
		fmt.Fprintf(&b, "command %s\n", cmd.name)
	}
	for _, chk := range checks.All() {
		fmt.Fprintf(&b, "check %s: condition %s, reason %s, healthy reason %s\n", chk.Name, chk.Condition, chk.Reason, chk.HealthyReason)
	}
	shared := sharedFlags()
	shared.VisitAll(func(f *pflag.Flag) { b.WriteString("flag " + flagText(f)) })
	for _, cmd := range commands() {
		if cmd.flags == nil {
			continue
		}
		cmd.flags(&settings{}).VisitAll(func(f *pflag.Flag) {
			if s := shared.Lookup(f.Name); s == nil || flagText(s) != flagText(f) {
				fmt.Fprintf(&b, "flag %s %s", cmd.name, flagText(f))
			}
		})
	}
	b.WriteString(events(t))
	golden(t, "public-names", b.String())
}

// flagText is what must stay of a flag.
func flagText(f *pflag.Flag) string {
	name := "--" + f.Name
	if f.Shorthand != "" {
		name += ", -" + f.Shorthand
	}
	return fmt.Sprintf("%s: %s, default %s\n", name, f.Value.Type(), f.DefValue)
}

// events are the reasons of the events that NPD makes of the checks, a line each.
func events(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile("../../config/sandbox-events.json")
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Rules []struct {
			Reason string
			Args   []string
		}
	}
	if err := json.Unmarshal(raw, &config); err != nil || len(config.Rules) == 0 {
		t.Fatalf("%d rules, %v", len(config.Rules), err)
	}
	var b strings.Builder
	for _, r := range config.Rules {
		if len(r.Args) < 2 || r.Args[0] != "check" {
			t.Fatalf("%s runs %q, want a check", r.Reason, r.Args)
		}
		fmt.Fprintf(&b, "event %s: check %s\n", r.Reason, r.Args[1])
	}
	return b.String()
}

func TestVersion(t *testing.T) {
	t.Parallel()
	if got := versionText(); strings.Count(got, "\n") != 1 || !strings.HasSuffix(got, "\n") || !strings.HasPrefix(got, "sandbox-checker ") {
		t.Errorf("%q", got)
	}
}
