package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sandbox-checker/plugin"
)

// width is what a terminal surely has. Commands are never broken: they must work as printed.
const width = 80

// page builds the text of a report.
type page struct {
	b     strings.Builder
	color bool
}

// Terminal attributes, used only on a terminal.
const (
	bold  = "\x1b[1m"
	red   = "\x1b[1;31m"
	green = "\x1b[32m"
	plain = "\x1b[0m"
)

func (p *page) paint(attr, s string) string {
	if !p.color {
		return s
	}
	return attr + s + plain
}

// field prints "label     text", wrapped under itself.
func (p *page) field(indent int, label, text string) {
	head := strings.Repeat(" ", indent) + fmt.Sprintf("%-10s", label)
	for i, line := range wrap(printable(text), width-len(head)) {
		if i > 0 {
			head = strings.Repeat(" ", len(head))
		}
		p.b.WriteString(strings.TrimRight(head+line, " ") + "\n")
	}
}

// wrap breaks at spaces. A word that is longer than the line stands alone: a path or an id must stay whole.
func wrap(s string, n int) []string {
	lines := []string{""}
	for _, w := range strings.Fields(s) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = w
		case len(*last)+1+len(w) <= n:
			*last += " " + w
		default:
			lines = append(lines, w)
		}
	}
	return lines
}

// text is the whole report.
func (r report) text(color bool) string {
	p := &page{color: color}
	r.header(p)
	causes := slices.Clone(r.causes)
	slices.SortStableFunc(causes, func(a, b *cause) int { return a.rank() - b.rank() })
	switch n := len(causes); n {
	case 0:
		p.b.WriteString("\n" + p.paint(bold, r.nothing()) + "\n")
	case 1:
		p.b.WriteString("\n" + p.paint(bold, "1 cause") + "\n")
	default:
		p.b.WriteString("\n" + p.paint(bold, fmt.Sprintf("%d causes", n)) + "\n")
	}
	for i, c := range causes {
		p.cause(i+1, c)
	}
	r.looked(p)
	return p.b.String()
}

// nothing is said when there is no cause: silence of a check that could not look is no health.
func (r report) nothing() string {
	blind := 0
	for _, o := range r.outcomes {
		if o.result.Err != nil {
			blind++
		}
	}
	switch blind {
	case 0:
		return "no cause found"
	case len(r.outcomes):
		return "nothing could be looked at"
	}
	return fmt.Sprintf("no cause found, but %d of %d checks could not tell", blind, len(r.outcomes))
}

// notOurs says why the condition is False although something was seen.
func notOurs(asides []plugin.Finding) string {
	if slices.ContainsFunc(asides, func(f plugin.Finding) bool { return f.Root == "" }) {
		return "and no condition is about it"
	}
	return "under its cause"
}

func (r report) header(p *page) {
	n := r.node
	p.field(0, "node", join(", ", n.Name, prefixed("kernel ", n.Kernel), bootText(n)))
	p.field(0, "runtime", join(" ", n.Runtime.Name, n.Runtime.Version, prefixed("at ", n.Runtime.Socket)))
	p.field(0, "cgroups", join(", ", n.CgroupVersion, n.CgroupDriver))
	file := n.CNI.File
	if file == "" && n.CNI.Dir != "" {
		file = n.CNI.Dir + " (" + n.CNI.why + ")"
	}
	p.field(0, "CNI", join(", ", file, prefixed("plugins in ", strings.Join(n.CNI.BinDirs, " "))))
}

func bootText(n nodeHeader) string {
	if n.Booted == nil {
		return ""
	}
	up := n.Now.Sub(*n.Booted).Round(time.Minute)
	text := strings.TrimSuffix(up.String(), "0s")
	if up >= 48*time.Hour {
		text = fmt.Sprintf("%d days", int(up.Hours()/24))
	}
	return fmt.Sprintf("booted %s, up %s", n.Booted.Format("2006-01-02 15:04:05 UTC"), text)
}

// join joins what is known; "unknown" when nothing is.
func join(sep string, parts ...string) string {
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	if len(parts) == 0 {
		return "unknown"
	}
	return strings.Join(parts, sep)
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

// maxShown bounds pods and their evidence; the JSON has all.
const maxShown = 5

func (p *page) cause(n int, c *cause) {
	f := c.findings[0]
	title := f.Cause
	if f.Pod == (plugin.Pod{}) {
		title = f.Object + ": " + title
	}
	p.b.WriteString("\n")
	for i, line := range wrap(printable(fmt.Sprintf("%d. %s", n, title)), width) {
		if i > 0 {
			line = "   " + line
		}
		p.b.WriteString(p.paint(red, line) + "\n")
	}
	p.pods(c)
	for i, g := range c.findings[:min(len(c.findings), maxShown)] {
		for j, e := range g.Evidence {
			label := ""
			if i == 0 && j == 0 {
				label = "why"
			}
			source := e.Source
			if j == 0 && len(c.findings) > 1 && g.Pod != (plugin.Pod{}) {
				source = g.Pod.String() + ", " + source
			}
			p.field(3, label, source+": "+e.Text)
		}
	}
	p.symptoms(c)
	p.field(3, "blame", c.blame())
	p.steps(c)
	condition := strings.Join(c.conditions(), ", ")
	if c.aside {
		condition = c.check.Condition + " does not tell this: it is in reports and events alone"
	}
	p.field(3, "condition", condition)
	if c.aside {
		return
	}
	label := "acts"
	for _, a := range c.acts() {
		p.field(3, label, a)
		label = ""
	}
}

func (p *page) pods(c *cause) {
	pods := c.pods()
	var names []string
	for _, pod := range pods[:min(len(pods), maxShown)] {
		names = append(names, pod.String())
	}
	if more := len(pods) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	if c.findings[0].Pod == (plugin.Pod{}) {
		names = append(names, "every new pod of this node")
	}
	text := strings.Join(names, ", ")
	if ctr := c.findings[0].Container; ctr != "" {
		text += " (container " + ctr + ")"
	}
	p.field(3, "pods", text)
}

// symptoms are what the cause explains of other checks.
func (p *page) symptoms(c *cause) {
	for i, s := range c.symptoms[:min(len(c.symptoms), maxShown)] {
		label := ""
		if i == 0 {
			label = "explains"
		}
		text := s.Check + " of " + s.Pod.String()
		if len(s.Evidence) > 0 {
			text += ": " + s.Evidence[0].Text
		}
		p.field(3, label, text)
	}
}

// steps prints the ways to a cure, one of which is enough for a pod, and commands whole. What is the same for several pods
// stands once.
func (p *page) steps(c *cause) {
	seen := map[string]bool{}
	label := "cure"
	for _, f := range c.findings[:min(len(c.findings), maxShown)] {
		for _, s := range f.Steps {
			if seen[s] {
				continue
			}
			seen[s] = true
			p.step(label, s)
			label = "or"
		}
		label = "and"
		if len(seen) == 0 {
			label = "cure"
		}
	}
}

func (p *page) step(label, s string) {
	if rest, ok := strings.CutPrefix(s, "then "); ok {
		label, s = "then", rest
	}
	if !isCommand(s) {
		p.field(3, label, s)
		return
	}
	p.b.WriteString(fmt.Sprintf("   %-10s%s", label, p.paint(green, printable(s))) + "\n")
}

func isCommand(s string) bool {
	name, _, _ := strings.Cut(s, " ")
	return name == "crictl" || name == "kubectl" || name == "sandbox-checker"
}

// looked says for each check without a finding what it looked at, or why it could not.
func (r report) looked(p *page) {
	p.b.WriteString("\n")
	for _, o := range r.outcomes {
		var text string
		switch {
		case len(o.result.Findings) > 0:
			text = o.check.Condition + " is True, see above"
		case len(o.result.Asides) > 0:
			text = o.check.Condition + " is False: what it saw is told above, " + notOurs(o.result.Asides)
		case o.result.Err != nil:
			text = strings.ReplaceAll(plugin.Why(o.result.Err), "\n", "; ")
		default:
			text = "no problem: " + o.result.Looked
		}
		p.wide(o.check.Name, text)
		for _, held := range o.result.Held {
			p.wide("", "note: "+held)
		}
	}
}

// wide is a field whose label is a check's name.
func (p *page) wide(label, text string) {
	const col = 19
	for i, line := range wrap(printable(text), width-col) {
		if i > 0 {
			label = ""
		}
		fmt.Fprintf(&p.b, "%-*s%s\n", col, label, line)
	}
}
