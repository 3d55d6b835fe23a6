package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/state"
)

// settings are the flags of check, report, capture and repair: first those that they share, then what some alone take.
type settings struct {
	endpoint string
	timeout  time.Duration
	logLevel string
	stateDir string
	opts     plugin.Options
	node     string

	unknownAs  string
	news, heal bool
	cooldown   time.Duration
	output     string
	redact     bool
	yes        bool

	log *slog.Logger
	// at is where a look is, for the progress that a person sees.
	at atomic.Pointer[step]
	// elsewhere is the cli's.
	elsewhere func(*plugin.Host)
}

// newFlags returns an empty flag set that reports errors and nothing else.
func newFlags(name string) *pflag.FlagSet {
	fs := pflag.NewFlagSet(name, pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.SortFlags = false
	return fs
}

func (s *settings) addTo(fs *pflag.FlagSet, timeout time.Duration) {
	s.opts = plugin.Defaults()
	fs.StringVarP(&s.endpoint, "runtime-endpoint", "r", "", "the runtime's socket (env CONTAINER_RUNTIME_ENDPOINT); without it the known sockets are tried")
	fs.DurationVar(&s.timeout, "timeout", timeout, "the process ends within this time (30s for report, capture and repair); keep it below the timeout of the NPD rule")
	fs.StringVar(&s.logLevel, "log-level", "off", "what goes to stderr: off, info or debug")
	fs.DurationVar(&s.opts.Grace, "grace", s.opts.Grace, "stale-created: silent for this long after the boot")
	fs.DurationVar(&s.opts.StaleAfter, "stale-after", s.opts.StaleAfter, "stale-created: age of a stale container when no reboot explains it")
	fs.DurationVar(&s.opts.BootGrace, "boot-grace", s.opts.BootGrace, "cni-config: what is missing is still starting for this long after the boot or the directory's last change")
	fs.DurationVar(&s.opts.Settle, "settle", s.opts.Settle, "cni-config: how long good files must be unchanged before the runtime is said to have missed them, and an agent's file that has gone, an empty binary or a half-written file (10s at most) is still starting")
	fs.DurationVar(&s.opts.OOMWindow, "oom-window", s.opts.OOMWindow, "sandbox-oom: how long it looks back in the kernel log")
	fs.DurationVar(&s.opts.StartGrace, "start-grace", s.opts.StartGrace, "sandbox-oom and sandbox-crashloop: how long a pod may be without a sandbox before that is evidence")
	fs.DurationVar(&s.opts.LoopWindow, "loop-window", s.opts.LoopWindow, "sandbox-crashloop: how far back it counts")
	fs.DurationVar(&s.opts.LoopNewest, "loop-newest", s.opts.LoopNewest, "sandbox-crashloop: how recent the newest failure must be")
	fs.IntVar(&s.opts.MinPods, "min-pods", s.opts.MinPods, "sandbox-crashloop: how many pods must loop before an unknown cause is called a fault of the node")
	fs.StringVar(&s.stateDir, "state-dir", state.Dir, "where sandboxes seen and findings told are remembered")
	fs.StringVar(&s.opts.CNIConfDir, "cni-conf-dir", "", "CNI configuration directory, where the runtime does not tell its own")
	fs.StringSliceVar(&s.opts.CNIBinDirs, "cni-bin-dir", nil, "CNI bin directory, where the runtime does not tell its own; may be repeated")
}

// addNode adds --node, for the commands that can replay a capture.
func (s *settings) addNode(fs *pflag.FlagSet) {
	fs.StringVar(&s.node, "node", "", "check and report: replay this capture file instead of looking at this node")
}

// sharedFlags are those that more than one command takes.
func sharedFlags() *pflag.FlagSet {
	s, fs := &settings{}, newFlags("")
	s.addTo(fs, checkTimeout)
	s.addNode(fs)
	return fs
}

// own are the flags that the command alone takes.
func (cmd command) own() *pflag.FlagSet {
	own, shared := newFlags(cmd.name), sharedFlags()
	if cmd.flags == nil {
		return own
	}
	cmd.flags(&settings{}).VisitAll(func(f *pflag.Flag) {
		if shared.Lookup(f.Name) == nil {
			own.AddFlag(f)
		}
	})
	return own
}

func checkFlags(s *settings) *pflag.FlagSet {
	fs := newFlags("check")
	s.addTo(fs, checkTimeout)
	s.addNode(fs)
	fs.StringVar(&s.unknownAs, "unknown-as", "unknown", "exit status when it could not look: unknown (2) or ok (0)")
	fs.BoolVar(&s.news, "new", false, "for NPD's events: exit 1 only for what was not told within the last hour, and 0 when it could not look")
	fs.BoolVar(&s.heal, "enable-repair", false, "stale-created: remove what it finds, as repair --yes does")
	fs.DurationVar(&s.cooldown, "cooldown", 10*time.Minute, "stale-created: the time between two automatic repairs")
	return fs
}

func reportFlags(s *settings) *pflag.FlagSet {
	fs := newFlags("report")
	s.addTo(fs, lookTimeout)
	s.addNode(fs)
	fs.StringVarP(&s.output, "output", "o", "text", "text or json")
	return fs
}

func captureFlags(s *settings) *pflag.FlagSet {
	fs := newFlags("capture")
	s.addTo(fs, lookTimeout)
	fs.StringVarP(&s.output, "output", "o", "", "the file to write, instead of stdout")
	fs.BoolVar(&s.redact, "redact", false, "take out whose node it is; credentials are always replaced")
	return fs
}

func repairFlags(s *settings) *pflag.FlagSet {
	fs := newFlags("repair")
	s.addTo(fs, lookTimeout)
	fs.BoolVar(&s.yes, "yes", false, "remove them; without it they are only listed")
	return fs
}

// longestTimeout is far above any sense. gRPC sends a call's time in no more than eight digits.
const longestTimeout = 24 * time.Hour

// parse reads args and checks every value; it returns what is no flag.
func (s *settings) parse(fs *pflag.FlagSet, args []string, c *cli) ([]string, error) {
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if f := fs.Lookup("node"); f != nil && f.Changed && s.node == "" {
		return nil, errors.New("--node: want a file")
	}
	s.elsewhere = c.elsewhere
	if s.endpoint == "" {
		s.endpoint = c.env("CONTAINER_RUNTIME_ENDPOINT")
	}
	if s.timeout <= 0 || s.timeout > longestTimeout {
		return nil, fmt.Errorf("--timeout %s: must be above 0 and at most %s", s.timeout, longestTimeout)
	}
	for name, d := range map[string]time.Duration{"grace": s.opts.Grace, "stale-after": s.opts.StaleAfter,
		"boot-grace": s.opts.BootGrace, "settle": s.opts.Settle, "oom-window": s.opts.OOMWindow, "start-grace": s.opts.StartGrace,
		"loop-window": s.opts.LoopWindow, "loop-newest": s.opts.LoopNewest} {
		if d < 0 {
			return nil, fmt.Errorf("--%s %s: must not be negative", name, d)
		}
	}
	for flag, dirs := range map[string][]string{"state-dir": {s.stateDir}, "cni-conf-dir": {s.opts.CNIConfDir}, "cni-bin-dir": s.opts.CNIBinDirs} {
		for _, d := range dirs {
			if d != "" && !strings.HasPrefix(d, "/") {
				return nil, fmt.Errorf("--%s %q: must be absolute", flag, d)
			}
		}
	}
	if s.opts.MinPods < 1 {
		return nil, fmt.Errorf("--min-pods %d: must be at least 1", s.opts.MinPods)
	}
	if s.unknownAs != "" && s.unknownAs != "unknown" && s.unknownAs != "ok" {
		return nil, fmt.Errorf("--unknown-as %q: want unknown or ok", s.unknownAs)
	}
	return fs.Args(), s.openLog(c)
}

func (s *settings) openLog(c *cli) error {
	levels := map[string]slog.Level{"off": slog.LevelError + 100, "info": slog.LevelInfo, "debug": slog.LevelDebug}
	l, ok := levels[s.logLevel]
	if !ok {
		return fmt.Errorf("--log-level %q: want off, info or debug", s.logLevel)
	}
	s.log = slog.New(slog.NewTextHandler(c.err, &slog.HandlerOptions{Level: l}))
	return nil
}
