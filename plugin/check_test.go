package plugin

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func complete() Check {
	var help Doc
	for _, part := range reflect.ValueOf(&help).Elem().Fields() { // every part is wanted
		if part.Kind() == reflect.Slice {
			part.Set(reflect.ValueOf([]string{"x"}))
			continue
		}
		if part.Kind() == reflect.Struct {
			for _, cell := range part.Fields() {
				cell.SetString("x")
			}
		}
	}
	return Check{
		Name: "stale-created", Condition: "C", Reason: "R", HealthyReason: "H", Title: "t",
		Help: help,
		Run:  func(context.Context, *Host, Options) (Result, error) { return Result{Looked: "nothing waits"}, nil },
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	found := []Finding{finding("default", "never", "never started", "")}
	for name, tc := range map[string]struct {
		run  func(context.Context, *Host, Options) (Result, error)
		want Verdict
	}{
		"healthy": {
			func(context.Context, *Host, Options) (Result, error) { return Result{Looked: "3 pods"}, nil },
			Verdict{OK, "no problem: 3 pods"},
		},
		"problem": {
			func(context.Context, *Host, Options) (Result, error) { return Result{Findings: found}, nil },
			Verdict{Problem, "default/never: never started"},
		},
		// What was seen is true, whatever else could not be.
		"findings beat an error": {
			func(context.Context, *Host, Options) (Result, error) {
				return Result{Findings: found}, errors.New("no answer in time")
			},
			Verdict{Problem, "default/never: never started"},
		},
		"error": {
			func(context.Context, *Host, Options) (Result, error) {
				return Result{Looked: "3 pods"}, errors.New("/run/x.sock: \"connection\nrefused\" 100%")
			},
			Verdict{Unknown, "could not look: /run/x.sock: connection refused 100?"},
		},
		"starting": {
			func(context.Context, *Host, Options) (Result, error) {
				return Result{}, fmt.Errorf("cni: %w", Starting("no configuration yet"))
			},
			Verdict{Unknown, "starting: no configuration yet"},
		},
		"panic": {
			func(context.Context, *Host, Options) (Result, error) {
				none := map[string]map[string]int{}
				none["x"]["y"] = 1
				return Result{Findings: found}, nil
			},
			Verdict{Unknown, "could not look: stale-created: internal error: assignment to entry in nil map"},
		},
		"panic with a value of its own": {
			func(context.Context, *Host, Options) (Result, error) { panic("50%\n") },
			Verdict{Unknown, "could not look: stale-created: internal error: 50?"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := complete()
			c.Run = tc.run
			got, _ := c.Judge(context.Background(), &Host{}, Defaults())
			if got != tc.want {
				t.Errorf("got %d %q\nwant %d %q", got.Status, got.Line, tc.want.Status, tc.want.Line)
			}
		})
	}
}

func TestJudgeCutsEveryLine(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long ", 500)
	for name, run := range map[string]func(context.Context, *Host, Options) (Result, error){
		"healthy":  func(context.Context, *Host, Options) (Result, error) { return Result{Looked: long}, nil },
		"error":    func(context.Context, *Host, Options) (Result, error) { return Result{}, errors.New(long) },
		"starting": func(context.Context, *Host, Options) (Result, error) { return Result{}, Starting(long) },
		"panic":    func(context.Context, *Host, Options) (Result, error) { panic(long) },
	} {
		c := complete()
		c.Run = run
		v, _ := c.Judge(context.Background(), &Host{}, Defaults())
		wellFormed(t, v.Line)
		if !strings.HasSuffix(v.Line, "..") {
			t.Errorf("%s: does not show that it was cut: %q", name, v.Line)
		}
	}
}

// The exit statuses are NPD's protocol, not ours to number.
func TestStatuses(t *testing.T) {
	t.Parallel()
	if OK != 0 || Problem != 1 || Unknown != 2 {
		t.Errorf("statuses %d %d %d, want 0 1 2", OK, Problem, Unknown)
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	if err := complete().Validate(); err != nil {
		t.Errorf("a complete check is refused: %v", err)
	}
	for what, spoil := range map[string]func(*Check){
		"condition":      func(c *Check) { c.Condition = "" },
		"reason":         func(c *Check) { c.Reason = "" },
		"healthy reason": func(c *Check) { c.HealthyReason = "" },
		"title":          func(c *Check) { c.Title = "" },
		"reads":          func(c *Check) { c.Help.Reads = nil },
		"says":           func(c *Check) { c.Help.Says = nil },
		"silent":         func(c *Check) { c.Help.Silent = nil },
		"cure":           func(c *Check) { c.Help.Cure = nil },
		"needs":          func(c *Check) { c.Help.Needs = nil },
		"short form":     func(c *Check) { c.Help.Short.Cure = "" },
		"it does":        func(c *Check) { c.Help.Without.CNI = "" },
		"to run":         func(c *Check) { c.Run = nil },
		"no kebab-case":  func(c *Check) { c.Name = "StaleCreated" },
		"kebab-case":     func(c *Check) { c.Name = "" },
	} {
		c := complete()
		spoil(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("without %s: %v", what, err)
		}
	}
}
