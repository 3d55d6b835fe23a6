package main

import (
	"encoding/json"

	"sandbox-checker/plugin"
)

// reportVersion is the version of the JSON, which REPORT.md describes. A field is never renamed or removed within a version.
const reportVersion = 1

type jsonReport struct {
	Version int         `json:"version"`
	Node    nodeHeader  `json:"node"`
	Checks  []jsonCheck `json:"checks"`
	Causes  []jsonCause `json:"causes"`
}

type jsonCheck struct {
	Name      string `json:"name"`
	Condition string `json:"condition"`
	// Status is True, False or Unknown, as the condition's.
	Status string   `json:"status"`
	Line   string   `json:"line"`
	Error  string   `json:"error,omitempty"`
	Notes  []string `json:"notes,omitempty"`
}

type jsonCause struct {
	Check     string `json:"check"`
	Condition string `json:"condition"`
	// InCondition is false for what is told in reports and events alone.
	InCondition bool         `json:"in_condition"`
	Blame       plugin.Blame `json:"blame"`
	// CauseUnknown: blame is then no more than a guess from the number of pods.
	CauseUnknown bool           `json:"cause_unknown,omitempty"`
	Object       string         `json:"object,omitempty"`
	Cause        string         `json:"cause"`
	Cure         string         `json:"cure"`
	Steps        []string       `json:"steps"`
	Pods         []jsonPod      `json:"pods"`
	Evidence     []jsonEvidence `json:"evidence"`
	Symptoms     []jsonSymptom  `json:"symptoms"`
}

type jsonPod struct {
	Namespace   string `json:"namespace,omitempty"`
	Name        string `json:"name,omitempty"`
	UID         string `json:"uid,omitempty"`
	Container   string `json:"container,omitempty"`
	ContainerID string `json:"container_id,omitempty"`
}

type jsonEvidence struct {
	PodUID string `json:"pod_uid,omitempty"`
	Source string `json:"source"`
	Text   string `json:"text"`
}

type jsonSymptom struct {
	Check string  `json:"check"`
	Pod   jsonPod `json:"pod"`
	Cause string  `json:"cause"`
}

// json is the report for a script. It is the same for the same facts: lists keep the order of the findings.
func (r report) json() (string, error) {
	out := jsonReport{Version: reportVersion, Node: r.node, Checks: []jsonCheck{}, Causes: []jsonCause{}}
	for _, o := range r.outcomes {
		c := jsonCheck{Name: o.check.Name, Condition: o.check.Condition, Status: conditionStatus(o.verdict), Line: o.verdict.Line, Notes: o.result.Held}
		if o.result.Err != nil {
			c.Error = o.result.Err.Error()
		}
		out.Checks = append(out.Checks, c)
	}
	for _, c := range r.causes {
		out.Causes = append(out.Causes, c.json())
	}
	raw, err := json.MarshalIndent(out, "", "  ")
	return string(raw) + "\n", err
}

// conditionStatus is the status that NPD gives the condition.
func conditionStatus(v plugin.Verdict) string {
	switch v.Status {
	case plugin.OK:
		return "False"
	case plugin.Problem:
		return "True"
	default:
		return "Unknown"
	}
}

func (c *cause) json() jsonCause {
	f := c.findings[0]
	out := jsonCause{Check: c.check.Name, Condition: c.check.Condition, InCondition: !c.aside, Blame: f.Blame, CauseUnknown: f.CauseUnknown,
		Object: f.Object, Cause: f.Cause, Cure: f.Cure, Steps: append([]string{}, f.Steps...),
		Pods: []jsonPod{}, Evidence: []jsonEvidence{}, Symptoms: []jsonSymptom{}}
	for _, g := range c.findings {
		if g.Pod != (plugin.Pod{}) {
			out.Pods = append(out.Pods, podJSON(g))
		}
		for _, e := range g.Evidence {
			out.Evidence = append(out.Evidence, jsonEvidence{g.Pod.UID, e.Source, e.Text})
		}
	}
	for _, s := range c.symptoms {
		out.Symptoms = append(out.Symptoms, jsonSymptom{s.Check, podJSON(s), s.Cause})
	}
	return out
}

func podJSON(f plugin.Finding) jsonPod {
	return jsonPod{f.Pod.Namespace, f.Pod.Name, f.Pod.UID, f.Container, f.ContainerID}
}
