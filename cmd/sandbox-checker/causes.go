package main

import (
	"slices"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/checks"
)

// cause is one fault of the report, with all the pods it hits and all that follows from it.
type cause struct {
	check plugin.Check
	// aside: it is told here and in events, and is not what the condition is about.
	aside    bool
	findings []plugin.Finding
	symptoms []plugin.Finding
}

// causesOf joins the findings of all checks: those of one cause are one, and what another finding explains is listed under
// that one, not beside it.
func causesOf(outcomes []outcome) []*cause {
	var causes []*cause
	index := map[string]*cause{} // by the key of a finding
	group := map[[3]string]*cause{}
	each(outcomes, func(o outcome, f plugin.Finding, aside bool) {
		if f.Root != "" {
			return
		}
		key := [3]string{f.Check, f.Cause, f.Cure}
		if group[key] == nil {
			group[key] = &cause{check: o.check, aside: aside}
			causes = append(causes, group[key])
		}
		group[key].findings = append(group[key].findings, f)
		index[f.Key()] = group[key]
	})
	each(outcomes, func(o outcome, f plugin.Finding, aside bool) {
		if f.Root == "" {
			return
		}
		if c := index[f.Root]; c != nil {
			c.symptoms = append(c.symptoms, f)
			return
		}
		// What explains it was found for it alone.
		causes = append(causes, &cause{check: o.check, aside: aside, findings: []plugin.Finding{f}})
	})
	return causes
}

func each(outcomes []outcome, do func(outcome, plugin.Finding, bool)) {
	for _, o := range outcomes {
		for _, f := range o.result.Findings {
			do(o, f, false)
		}
		for _, f := range o.result.Asides {
			do(o, f, true)
		}
	}
}

// pods are the pods that the cause hits, each once, in the order of the findings.
func (c *cause) pods() []plugin.Pod {
	var out []plugin.Pod
	seen := map[plugin.Pod]bool{{}: true}
	for _, f := range append(append([]plugin.Finding(nil), c.findings...), c.symptoms...) {
		if !seen[f.Pod] {
			seen[f.Pod] = true
			out = append(out, f.Pod)
		}
	}
	return out
}

// conditions are what NPD shows because of the cause.
func (c *cause) conditions() []string {
	out := []string{c.check.Condition + "=True"}
	for _, s := range c.symptoms {
		chk, ok := checks.Named(s.Check)
		if text := chk.Condition + "=True"; ok && s.Blame == plugin.BlameNode && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// acts says what each consumer of these conditions would do, each thing once. Of each check the last line says who does not
// read its condition.
func (c *cause) acts() []string {
	var out, last []string
	for _, condition := range c.conditions() {
		for _, chk := range checks.All() {
			if chk.Condition+"=True" != condition {
				continue
			}
			acts := chk.Help.Acts
			for _, a := range acts[:len(acts)-1] {
				if !slices.Contains(out, a) {
					out = append(out, a)
				}
			}
			last = acts[len(acts)-1:]
		}
	}
	return append(out, last...)
}

// blame says it for a person.
func (c *cause) blame() string {
	switch f := c.findings[0]; {
	case f.CauseUnknown && c.aside:
		return "not known: too few pods to blame the node (--min-pods)"
	case f.CauseUnknown:
		return "this node, as several pods suffer; the cause is not known"
	case f.Check == checks.StaleCreatedName:
		return "nobody: its start was interrupted; replacing the node does not help"
	case f.Blame == plugin.BlamePod:
		return "this pod's own spec: replacing the node does not help"
	}
	return "this node"
}

// rank orders causes for a person: the node's first, then pods', then asides.
func (c *cause) rank() int {
	switch {
	case c.aside:
		return 2
	case c.findings[0].Blame == plugin.BlamePod:
		return 1
	}
	return 0
}
