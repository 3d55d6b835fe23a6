// Sandbox-checker is a custom plugin for node-problem-detector: it looks at its own node and says which pods cannot get a
// sandbox, why, and what to do. `sandbox-checker help` lists the commands.
package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"sandbox-checker/plugin"
)

func main() {
	// net/http writes what it thinks of odd answers to the default log, and NPD takes all of stderr into its own.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	c := &cli{out: os.Stdout, err: os.Stderr, env: os.Getenv}
	if len(os.Args) > 1 && os.Args[1] == "check" {
		frugal()
	}
	os.Exit(c.run(os.Args[1:]))
}

// frugal lets a check end before the garbage collector begins, which it does at 12 MiB: above the need of a node with 500 pods.
func frugal() { debug.SetGCPercent(300) }

// cli is one run of the program. Nothing below it touches the process: exit status 1 means a sick node, so only main exits.
//
// What goes where: `check` writes exactly one line to stdout, errors included, because that is what NPD shows. The other
// commands write their result to stdout and errors to stderr, as "sandbox-checker: ERROR".
type cli struct {
	out, err io.Writer
	env      func(string) string
	// deadline is when check must have ended.
	deadline time.Time
	// elsewhere makes a host show another place than this node's root; only tests set it.
	elsewhere func(*plugin.Host)
}

type command struct {
	name, usage, about string
	run                func(*cli, []string) (int, error)
	// flags are all that it takes, as it parses them; nil when it takes none.
	flags func(*settings) *pflag.FlagSet
}

// commands are in the order of help.
func commands() []command {
	return []command{
		{"check", "check NAME [flags]", "answer NPD: one line, and exit 0 (no problem), 1 (problem) or 2 (could not look)", (*cli).check, checkFlags},
		{"report", "report [-o text|json] [--node FILE]", "run all checks and print what they found, why, and the cure; exits with the worst", (*cli).report, reportFlags},
		{"capture", "capture [-o FILE] [--redact]", "write all that the checks see of this node into one text file", (*cli).capture, captureFlags},
		{"repair", "repair stale-created [--yes]", "list the containers that keep pods Pending; with --yes remove them; exits with 0 when none is left", (*cli).repair, repairFlags},
		{"demo", "demo [NAME]", "report on a recorded incident: works on any machine", (*cli).demo, nil},
		{"install", "install DIR", "copy this program into DIR", (*cli).install, nil},
		{"help", "help [CHECK|COMMAND]", "this text, or what a check reads, says and needs, or the flags of a command", (*cli).help, nil},
		{"version", "version", "print the version", (*cli).version, nil},
	}
}

// run returns the exit status.
func (c *cli) run(args []string) int {
	if len(args) == 0 {
		args = []string{"help"}
	}
	name := args[0]
	if name == "-h" || name == "--help" {
		name = "help"
	}
	if name == "--version" {
		name = "version"
	}
	if err := descriptorsLeft(); err != nil {
		return c.refuse(err)
	}
	for _, cmd := range commands() {
		if cmd.name != name {
			continue
		}
		if slices.ContainsFunc(args[1:], func(a string) bool { return a == "-h" || a == "--help" }) {
			args = []string{"help", name}
			cmd.run = (*cli).help
		}
		status, err := cmd.run(c, args[1:])
		if errors.Is(err, pflag.ErrHelp) {
			status, err = 0, c.print(usage())
		}
		if err != nil {
			c.complain(err)
			return int(plugin.Unknown)
		}
		return status
	}
	// A slip in the arguments of an NPD rule lands here, and NPD shows stdout alone.
	return c.refuse(fmt.Errorf("unknown command %s: see sandbox-checker help", name))
}

// refuse tells on stdout why nothing was done.
func (c *cli) refuse(why error) int {
	if err := c.print(plugin.CouldNotLook(why).Line + "\n"); err != nil {
		c.complain(err)
	}
	return int(plugin.Unknown)
}

// complain writes an error to stderr. When stderr fails too there is nobody left to tell.
func (c *cli) complain(err error) { _, _ = fmt.Fprintf(c.err, "sandbox-checker: %v\n", err) }

// print writes the result. A result that could not be written is an error: a full disk must not look like a healthy node. Whoever
// closes stdout wants the exit status alone, as with /dev/null, which Go's runtime opens in its place.
func (c *cli) print(s string) error {
	if _, err := io.WriteString(c.out, s); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}
