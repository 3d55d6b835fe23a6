package main

import (
	"context"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/sys/unix"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/capture"
)

// report is all that one look saw, correlated.
type report struct {
	node     nodeHeader
	outcomes []outcome
	causes   []*cause
}

func newReport(ctx context.Context, h *plugin.Host, o plugin.Options, version []byte) report {
	out := judgeAll(ctx, h, o)
	return report{node: headerOf(ctx, h, o, version), outcomes: out, causes: causesOf(out)}
}

// report runs all checks for a person. Its exit status is the worst of theirs: 1 before 2 before 0.
func (c *cli) report(args []string) (int, error) {
	s := &settings{}
	rest, err := s.parse(reportFlags(s), args, c)
	if err != nil {
		return 0, fmt.Errorf("report: %w", err)
	}
	if len(rest) > 0 {
		return 0, fmt.Errorf("report: unexpected argument %q", rest[0])
	}
	if s.output != "text" && s.output != "json" {
		return 0, fmt.Errorf("report: --output %q: want text or json", s.output)
	}
	stop := c.showProgress(s)
	r, err := before(s.timeout, func(ctx context.Context, at *step) (report, error) {
		s.at.Store(at)
		if s.node == "" {
			r, _ := lookOnce(ctx, s, at)
			return r, nil
		}
		f, h, err := replayed(s.node)
		if err != nil {
			return report{}, err
		}
		return newReport(ctx, h, s.opts, f.CRI.Version), nil
	})
	stop()
	if err != nil {
		return 0, fmt.Errorf("report: %w", err)
	}
	r.askAt(s.endpoint)
	return r.exit(), c.show(r, s.output)
}

// askAt puts the socket that the report was told to ask into the commands that it prints.
func (r report) askAt(endpoint string) {
	if endpoint == "" {
		return
	}
	for _, c := range r.causes {
		for i := range c.findings {
			steps := slices.Clone(c.findings[i].Steps)
			for j, s := range steps {
				if name, rest, ok := strings.Cut(s, " "); ok && (name == "crictl" || name == "sandbox-checker") {
					if name == "crictl" {
						steps[j] = "crictl -r " + endpoint + " " + rest
					} else {
						steps[j] = s + " -r " + endpoint
					}
				}
			}
			c.findings[i].Steps = steps
		}
	}
}

func (c *cli) show(r report, format string) error {
	if format == "json" {
		text, err := r.json()
		if err != nil {
			return err
		}
		return c.print(text)
	}
	return c.print(r.text(isTerminal(c.out) && c.env("NO_COLOR") == ""))
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

func (r report) exit() int {
	status := plugin.OK
	for _, o := range r.outcomes {
		if o.verdict.Status == plugin.Problem {
			return int(plugin.Problem)
		}
		status = max(status, o.verdict.Status)
	}
	return int(status)
}

// printable keeps escape sequences of hostile names and files away from a terminal, and signs that nobody sees: they hide text or
// turn its direction.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

//go:embed demo/*.txtar
var demos embed.FS

const firstDemo = "reboot"

// demo reports on an embedded capture.
func (c *cli) demo(args []string) (int, error) {
	name := firstDemo
	if len(args) > 1 {
		return 0, fmt.Errorf("demo: want one name of %s", demoNames())
	}
	if len(args) == 1 {
		name = args[0]
	}
	raw, err := demos.ReadFile("demo/" + name + ".txtar")
	if err != nil {
		return 0, fmt.Errorf("demo %q: unknown, want one of %s", name, demoNames())
	}
	f, err := capture.Parse(raw)
	if err != nil {
		return 0, fmt.Errorf("demo %s: %w", name, err)
	}
	h, err := f.Host()
	if err != nil {
		return 0, fmt.Errorf("demo %s: %w", name, err)
	}
	r := newReport(context.Background(), h, plugin.Defaults(), f.CRI.Version)
	if err := c.print(f.About + "\n\n"); err != nil {
		return 0, err
	}
	if err := c.show(r, "text"); err != nil {
		return 0, err
	}
	return r.exit(), c.print("\ndemos: " + demoNames() + "\n")
}

func demoNames() string {
	// The directory is part of the program: it cannot fail to be read.
	files, _ := fs.Glob(demos, "demo/*.txtar")
	for i, f := range files {
		files[i] = strings.TrimSuffix(strings.TrimPrefix(f, "demo/"), ".txtar")
	}
	return strings.Join(files, ", ")
}
