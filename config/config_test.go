package config_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	npd "k8s.io/node-problem-detector/pkg/custompluginmonitor/types"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/checks"
)

// checkTimeout is the default of check's --timeout, which has to end before NPD kills it: NPD's own words then stand where
// ours should. TestDefaultTimeout holds the two together.
const checkTimeout = 6 * time.Second

// events are the files of temporary rules: each True result is an event and no condition.
func events(path string) bool { return strings.HasSuffix(path, "-events.json") }

func files(t *testing.T) map[string]npd.CustomPluginConfig {
	t.Helper()
	paths, err := filepath.Glob("*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files: %v", err)
	}
	out := map[string]npd.CustomPluginConfig{}
	for _, p := range paths {
		raw, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		// NPD ignores keys that it does not know, so a misspelt one would go unnoticed.
		var c npd.CustomPluginConfig
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&c); err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		if dec.More() {
			t.Errorf("%s: more than one document", p)
		}
		// NPD dies of reasons and types that are not ASCII, and its events escape what is not.
		if i := slices.IndexFunc(raw, func(b byte) bool { return b > '~' || b < ' ' && b != '\n' }); i >= 0 {
			t.Errorf("%s: byte %#x at %d", p, raw[i], i)
		}
		if err := c.ApplyConfiguration(); err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		out[p] = c
	}
	return out
}

// A file that NPD refuses ends all of NPD's monitoring on the node.
func TestNPDAccepts(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for p, c := range files(t) {
		for _, r := range c.Rules {
			if !filepath.IsAbs(r.Path) || filepath.Base(r.Path) != "sandbox-checker" {
				t.Errorf("%s: path %q depends on NPD's directory and PATH", p, r.Path)
			}
			r.Path = program // NPD looks whether it is there
		}
		if err := c.Validate(); err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
}

// What NPD does not check: most of it makes NPD panic, stall or do nothing, and some of it only later.
func TestGlobals(t *testing.T) {
	t.Parallel()
	sources := map[string]string{}
	for p, c := range files(t) {
		g := c.PluginGlobalConfig
		if *g.MaxOutputLength != plugin.MaxLine {
			t.Errorf("%s: max_output_length %d, the line has %d", p, *g.MaxOutputLength, plugin.MaxLine)
		}
		if *g.Concurrency != 1 {
			t.Errorf("%s: concurrency %d: 0 never runs a rule, and more compete for the CPU", p, *g.Concurrency)
		}
		if *g.InvokeInterval <= 0 {
			t.Errorf("%s: invoke_interval %s: NPD panics", p, g.InvokeInterval)
		}
		if *g.Timeout >= *g.InvokeInterval {
			t.Errorf("%s: timeout %s, not below the interval %s: runs are dropped", p, g.Timeout, g.InvokeInterval)
		}
		for _, r := range c.Rules {
			if r.Timeout == nil || *r.Timeout >= *g.Timeout || *r.Timeout <= checkTimeout {
				t.Errorf("%s: rule timeout %v, want one between --timeout %s and the global %s", p, r.TimeoutString, checkTimeout, g.Timeout)
			}
			// NPD takes any other word for permanent and then skips a check of its own.
			if want := map[bool]string{true: "temporary", false: "permanent"}[events(p)]; string(r.Type) != want {
				t.Errorf("%s: rule type %q, want %s", p, r.Type, want)
			}
		}
		// Events and metrics are told apart by the source.
		if other, taken := sources[c.Source]; c.Source == "" || taken {
			t.Errorf("%s: source %q, also of %q", p, c.Source, other)
		}
		sources[c.Source] = p
		if !*c.EnableMetricsReporting {
			t.Errorf("%s: no metrics", p)
		}
	}
}

// Two rules for one condition flap, and two conditions in one file publish a False that nobody looked for.
func TestOneConditionAFile(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for p, c := range files(t) {
		if events(p) {
			if len(c.DefaultConditions) != 0 {
				t.Errorf("%s: conditions beside events", p)
			}
			continue
		}
		if len(c.DefaultConditions) != 1 || len(c.Rules) != 1 {
			t.Errorf("%s: %d conditions, %d rules", p, len(c.DefaultConditions), len(c.Rules))
			continue
		}
		cond := c.DefaultConditions[0]
		if cond.Type != c.Rules[0].Condition || cond.Status != "" || !cond.Transition.IsZero() {
			t.Errorf("%s: condition %+v, rule %+v", p, cond, c.Rules[0])
		}
		if other, taken := seen[cond.Type]; taken {
			t.Errorf("%s and %s set %s", p, other, cond.Type)
		}
		seen[cond.Type] = p
		if cond.Message == "" || cond.Message != plugin.Clean(cond.Message) || len(cond.Message) > plugin.MaxLine {
			t.Errorf("%s: message %q", p, cond.Message)
		}
		// Without it every restart of NPD heals the node for a minute.
		if !*c.PluginGlobalConfig.SkipInitialStatus {
			t.Errorf("%s: no skip_initial_status", p)
		}
	}
}

// follows are the conditions whose message must stay true while they last: they name pods. For the others a new message
// would reset lastTransitionTime, by which remedies wait.
var follows = map[string]bool{checks.StaleCreatedName: true, checks.SandboxOOMName: true}

func TestChecksAndFiles(t *testing.T) {
	t.Parallel()
	all := files(t)
	for _, chk := range checks.All() {
		p := chk.Name + ".json"
		c, ok := all[p]
		if !ok {
			t.Errorf("check %s has no file %s", chk.Name, p)
			continue
		}
		cond, rule := c.DefaultConditions[0], c.Rules[0]
		if cond.Type != chk.Condition || cond.Reason != chk.HealthyReason || rule.Reason != chk.Reason {
			t.Errorf("%s: condition %s, healthy reason %s, reason %s; the check has %s, %s, %s", p,
				cond.Type, cond.Reason, rule.Reason, chk.Condition, chk.HealthyReason, chk.Reason)
		}
		if got := *c.PluginGlobalConfig.EnableMessageChangeBasedConditionUpdate; got != follows[chk.Name] {
			t.Errorf("%s: enable_message_change_based_condition_update %v, want %v", p, got, follows[chk.Name])
		}
		if len(rule.Args) < 2 || rule.Args[1] != chk.Name {
			t.Errorf("%s: runs %v", p, rule.Args)
		}
	}
	for p, c := range all {
		for _, r := range c.Rules {
			arguments(t, p, r.Args)
		}
		// Kubernetes takes reasons of this form only.
		for _, r := range c.Rules {
			if r.Reason == "" || strings.ContainsFunc(r.Reason, func(c rune) bool { return c < '0' || c > 'z' || c > '9' && c < 'A' || c > 'Z' && c < 'a' }) {
				t.Errorf("%s: reason %q", p, r.Reason)
			}
		}
	}
}

// arguments are literal: NPD expands nothing.
func arguments(t *testing.T, p string, args []string) {
	t.Helper()
	if len(args) < 2 || args[0] != "check" {
		t.Errorf("%s: args %q, want check NAME", p, args)
		return
	}
	if _, ok := checks.Named(args[1]); !ok {
		t.Errorf("%s: no check %q", p, args[1])
	}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	timeout := flags.Duration("timeout", checkTimeout, "")
	news := flags.Bool("new", false, "")
	if err := flags.Parse(args[2:]); err != nil || *timeout != checkTimeout {
		t.Errorf("%s: args %q: %v; the rule's timeout is made for the default --timeout", p, args, err)
	}
	// Without --new a temporary rule makes an event each minute, and one of the problem's name when it cannot look.
	if *news != events(p) {
		t.Errorf("%s: args %q: --new is for events, and for them alone", p, args)
	}
	for _, a := range args[2:] {
		name, _, _ := strings.Cut(a, "=")
		known := strings.Contains(publicNames(t), "\nflag "+name+":") || strings.Contains(publicNames(t), "\nflag check "+name+":")
		if strings.HasPrefix(a, "-") && !known {
			t.Errorf("%s: check has no flag %s", p, name)
		}
	}
}

// publicNames is the list that the command is held to.
func publicNames(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile("../cmd/sandbox-checker/testdata/public-names.golden")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestDefaultTimeout(t *testing.T) {
	t.Parallel()
	if want := "flag --timeout: duration, default " + checkTimeout.String() + "\n"; !strings.Contains(publicNames(t), want) {
		t.Errorf("no line %q", want)
	}
}
