package plugin

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"sandbox-checker/plugin/state"

	npd "k8s.io/node-problem-detector/pkg/custompluginmonitor/types"
)

// Exit statuses, as NPD's custom plugin protocol has them. Any other status, and death by a signal, is Unknown to NPD.
const (
	OK      = npd.OK
	Problem = npd.NonOK
	Unknown = npd.Unknown
)

// Options are what a user may set for the checks. The zero value is not useful: start from [Defaults].
type Options struct {
	// Grace is how long after the boot stale-created stays silent about containers of the boot before.
	Grace time.Duration
	// StaleAfter is the age from which stale-created calls a container stale without a reboot.
	StaleAfter time.Duration
	// BootGrace is how long after the boot, or after the CNI directory changed, cni-config takes a missing file for a
	// node that is still starting.
	BootGrace time.Duration
	// Settle is how long the CNI files must have been unchanged before the runtime is said to have missed them, and an agent's
	// file that has gone, an empty plugin binary or a half-written file (10 s at most) is a fault and no longer "starting".
	Settle time.Duration
	// OOMWindow is how long sandbox-oom looks back in the kernel log.
	OOMWindow time.Duration
	// StartGrace is how long a pod may be without a sandbox before that is evidence, for sandbox-oom and sandbox-crashloop.
	StartGrace time.Duration
	// LoopWindow is how far back sandbox-crashloop counts, LoopNewest how recent the newest failure must be.
	LoopWindow, LoopNewest time.Duration
	// MinPods is how many pods must loop before an unknown cause is the node's.
	MinPods int
	// CNIConfDir and CNIBinDirs are used where the runtime does not tell its own.
	CNIConfDir string
	CNIBinDirs []string
}

// Defaults are the options that config/ relies on.
func Defaults() Options {
	return Options{
		Grace:      3 * time.Minute,
		StaleAfter: 10 * time.Minute,
		BootGrace:  5 * time.Minute,
		Settle:     2 * time.Minute,
		OOMWindow:  10 * time.Minute,
		StartGrace: 3 * time.Minute,
		LoopWindow: 60 * time.Minute,
		LoopNewest: 20 * time.Minute,
		MinPods:    2,
	}
}

// Check is one question about a node. It is a constant value; package checks lists them.
type Check struct {
	// Name is the argument of `check`, in kebab case.
	Name string
	// Condition, Reason and HealthyReason are what NPD shows. They are public: remedies match them.
	Condition, Reason, HealthyReason string
	// Title is one line, no capital and no full stop.
	Title string
	// Help says what is read, when it speaks and stays silent, and the cure. See [Doc].
	Help Doc
	// Run gathers what it needs of the host and judges it. An error means that it could not look.
	Run func(context.Context, *Host, Options) (Result, error)
}

var kebab = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`) })

// Validate refuses a check that is not complete.
func (c Check) Validate() error {
	for what, s := range map[string]string{"condition": c.Condition, "reason": c.Reason,
		"healthy reason": c.HealthyReason, "title": c.Title} {
		if s == "" {
			return fmt.Errorf("check %q: no %s", c.Name, what)
		}
	}
	for what, l := range map[string][]string{"reads": c.Help.Reads, "says": c.Help.Says,
		"silent": c.Help.Silent, "cure": c.Help.Cure, "needs": c.Help.Needs, "acts": c.Help.Acts,
		"short form": c.Help.Short.Cells(), "what it does without": c.Help.Without.Cells()} {
		if len(l) == 0 || slices.Contains(l, "") {
			return fmt.Errorf("check %q: help without %s", c.Name, what)
		}
	}
	if !kebab().MatchString(c.Name) || c.Run == nil {
		return fmt.Errorf("check %q: no kebab-case name, or nothing to run", c.Name)
	}
	return nil
}

// Starting is the error of a check that cannot tell a fault from a node that is still coming up: neither an alarm nor a
// clean bill, so that a bootstrap gate stays shut.
type Starting string

func (s Starting) Error() string { return "starting: " + string(s) }

// Verdict is what NPD gets.
type Verdict struct {
	Status npd.Status
	// Line is the one line of stdout, without its newline.
	Line string
}

// Judge runs the check and turns what it says into a verdict. A panic in a check is exit status 2 with a line.
func (c Check) Judge(ctx context.Context, h *Host, o Options) (v Verdict, r Result) {
	defer func() {
		if p := recover(); p != nil {
			r.Err = fmt.Errorf("%s: internal error: %v", c.Name, p)
			v = CouldNotLook(r.Err)
		}
	}()
	r, err := c.Run(ctx, h, o)
	r.Err = err
	switch {
	case len(r.Findings) > 0:
		return Verdict{Problem, Line(r.Findings)}, r
	case err != nil:
		return CouldNotLook(err), r
	default:
		return Verdict{OK, cut(Clean("no problem: "+r.Looked), MaxLine)}, r
	}
}

// News is the verdict of an event rule: a problem only when something was not told within the last hour, in a line of its
// own. NPD turns any status but 0 of such a rule into a problem event at each run, so a check that could not look is 0.
func (h *Host) News(v Verdict, r Result) Verdict {
	if v.Status == Unknown {
		return Verdict{OK, v.Line}
	}
	c, err := h.Boot()
	if err != nil {
		return Verdict{OK, CouldNotLook(err).Line}
	}
	var news []Finding
	kept := h.Remember(c, func(s *state.State) {
		for _, f := range append(slices.Clone(r.Findings), r.Asides...) {
			if !f.Quiet && s.New(f.Key()) {
				news = append(news, f)
			}
		}
	})
	// Without a memory each run would tell all: then the first minute of each hour of the boot clock does.
	if !kept && c.Uptime%time.Hour >= time.Minute {
		return Verdict{OK, "nothing told: what was told cannot be remembered"}
	}
	if len(news) == 0 {
		return Verdict{OK, "nothing new"}
	}
	return Verdict{Problem, Line(news)}
}

// CouldNotLook is the verdict of a check that failed. NPD shows the healthy reason beside an Unknown status, so the line
// has to say by itself that nothing could be looked at.
func CouldNotLook(err error) Verdict {
	return Verdict{Unknown, cut(Clean(Why(err)), MaxLine)}
}

// Why is the error of a check in the words of the line: starting, or could not look.
func Why(err error) string {
	var starting Starting
	if errors.As(err, &starting) {
		return starting.Error()
	}
	return "could not look: " + err.Error()
}
