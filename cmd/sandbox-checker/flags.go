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

// settings are the flags that check, report and capture share.
type settings struct {
	endpoint  string
	timeout   time.Duration
	logLevel  string
	unknownAs string
	node      string
	stateDir  string
	opts      plugin.Options
	log       *slog.Logger
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
	fs.DurationVar(&s.timeout, "timeout", timeout, "the process ends within this time; keep it below the timeout of the NPD rule")
	fs.StringVar(&s.logLevel, "log-level", "off", "what goes to stderr: off, info or debug")
	fs.DurationVar(&s.opts.Grace, "grace", s.opts.Grace, "stale-created: silent for this long after the boot")
	fs.DurationVar(&s.opts.StaleAfter, "stale-after", s.opts.StaleAfter, "stale-created: age of a stale container when no reboot explains it")
	fs.DurationVar(&s.opts.BootGrace, "boot-grace", s.opts.BootGrace, "cni-config: what is missing is still starting for this long after the boot or the directory's last change")
	fs.DurationVar(&s.opts.Settle, "settle", s.opts.Settle, "cni-config: how long good files must be unchanged before the runtime is said to have missed them")
	fs.DurationVar(&s.opts.OOMWindow, "oom-window", s.opts.OOMWindow, "sandbox-oom: how long it looks back in the kernel log")
	fs.DurationVar(&s.opts.StartGrace, "start-grace", s.opts.StartGrace, "sandbox-oom: how long a pod may be without a sandbox before its cgroup alone is evidence")
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
