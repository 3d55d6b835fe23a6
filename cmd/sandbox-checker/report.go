package main

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/capture"
)

// report runs all checks for a person. Its exit status is the worst of theirs: 1 before 2 before 0.
func (c *cli) report(args []string) (int, error) {
	s := &settings{}
	flags := newFlags("report")
	s.addTo(flags, lookTimeout)
	s.addNode(flags)
	rest, err := s.parse(flags, args, c)
	if err != nil {
		return 0, fmt.Errorf("report: %w", err)
	}
	if len(rest) > 0 {
		return 0, fmt.Errorf("report: unexpected argument %q", rest[0])
	}
	outcomes, err := before(s.timeout, func(ctx context.Context, at *step) ([]outcome, error) {
		if s.node == "" {
			out, _ := lookOnce(ctx, s, at)
			return out, nil
		}
		h, err := host(ctx, s, at)
		if err != nil {
			return nil, err
		}
		return judgeAll(ctx, h, s.opts), nil
	})
	if err != nil {
		return 0, fmt.Errorf("report: %w", err)
	}
	return worst(outcomes), c.print(reportText(outcomes))
}

func worst(outcomes []outcome) int {
	status := plugin.OK
	for _, o := range outcomes {
		if o.verdict.Status == plugin.Problem {
			return int(plugin.Problem)
		}
		status = max(status, o.verdict.Status)
	}
	return int(status)
}

func reportText(outcomes []outcome) string {
	var b strings.Builder
	for _, o := range outcomes {
		if len(o.result.Findings) == 0 {
			fmt.Fprintf(&b, "%s: %s\n", o.check.Name, o.verdict.Line)
		} else {
			fmt.Fprintf(&b, "%s: %s=True\n", o.check.Name, o.check.Condition)
		}
		for _, f := range o.result.Findings {
			writeFinding(&b, f)
		}
		for _, f := range o.result.Asides {
			fmt.Fprintf(&b, "\n  (told here and in events, not in the condition)")
			writeFinding(&b, f)
		}
		for _, h := range o.result.Held {
			fmt.Fprintf(&b, "  note      %s\n", printable(h))
		}
	}
	return b.String()
}

// blameWords say it for a person.
var blameWords = map[plugin.Blame]string{
	plugin.BlameNode: "this node",
	plugin.BlamePod:  "this pod alone; replacing the node does not help",
}

func writeFinding(b *strings.Builder, f plugin.Finding) {
	fmt.Fprintf(b, "\n  %s\n", printable(f.Subject()))
	if f.Container != "" {
		fmt.Fprintf(b, "  container %s\n", printable(f.Container))
	}
	fmt.Fprintf(b, "  cause     %s\n", printable(f.Cause))
	for i, e := range f.Evidence {
		head := "          "
		if i == 0 {
			head = "evidence  "
		}
		fmt.Fprintf(b, "  %s%s: %s\n", head, printable(e.Source), printable(e.Text))
	}
	fmt.Fprintf(b, "  blame     %s\n", blameWords[f.Blame])
	for i, s := range f.Steps {
		head := "          "
		if i == 0 {
			head = "cure      "
		}
		fmt.Fprintf(b, "  %s%s\n", head, printable(s))
	}
	b.WriteByte('\n')
}

// printable keeps escape sequences of hostile names and files away from a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) {
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
	outcomes := judgeAll(context.Background(), h, plugin.Defaults())
	return worst(outcomes), c.print(f.About + "\n\n" + reportText(outcomes))
}

func demoNames() string {
	// The directory is part of the program: it cannot fail to be read.
	files, _ := fs.Glob(demos, "demo/*.txtar")
	for i, f := range files {
		files[i] = strings.TrimSuffix(strings.TrimPrefix(f, "demo/"), ".txtar")
	}
	return strings.Join(files, ", ")
}
