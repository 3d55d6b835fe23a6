// Package plugin is the vocabulary of sandbox-checker: a check asks a question about a host and answers with findings,
// which become the one line and the exit status that node-problem-detector (NPD) reads.
//
// A finding is never an error and an error is never a finding: an error says that the check could not look.
package plugin

import (
	"cmp"
	"slices"
	"strings"
)

// Blame says who has to change something.
type Blame string

const (
	// BlameNode: any pod would suffer here; tainting or replacing the node helps.
	BlameNode Blame = "node"
	// BlamePod: the fault is in the pod and would follow it; replacing nodes only spreads it.
	BlamePod Blame = "pod"
)

// Pod names a pod. Name and Namespace may be empty when only the UID is known.
type Pod struct {
	Namespace, Name, UID string
}

// String is "namespace/name", or the uid when the name is not known.
func (p Pod) String() string {
	switch {
	case p.Name == "":
		return "pod " + p.UID
	case p.Namespace == "":
		return p.Name
	default:
		return p.Namespace + "/" + p.Name
	}
}

// Evidence is one observation and where it was made: a CRI field, a file, a kernel record.
type Evidence struct {
	Source, Text string
}

// Finding is one fault that a check found. It is a value: equal facts give equal findings, whenever they are looked at,
// so no field that reaches the line may hold an age, a time or a moving count.
type Finding struct {
	Check string
	Blame Blame
	// Pod and Container are empty for a fault of the node; Object then names the file, directory or socket at fault.
	Pod       Pod
	Container string
	// ContainerID is for repair and report; no line shows it.
	ContainerID string
	// SandboxID is the container's sandbox and SandboxReady what it was, for repair to compare.
	SandboxID    string
	SandboxReady bool
	Object       string
	// Cause and Cure are the words of the one line: no capital, no full stop.
	Cause, Cure string
	// CauseUnknown: Cause says what happens, and nothing says why.
	CauseUnknown bool
	Evidence     []Evidence
	// Root is the key of the finding that explains this one, "" when it is a cause itself.
	Root string
	// Quiet: report tells it, events do not.
	Quiet bool
	// Steps are the cure in full, one command or sentence each. One is enough, but for those that begin with "then ".
	Steps []string
}

// Subject is what the line begins with: the pod, or the object at fault.
func (f Finding) Subject() string {
	if f.Object != "" && f.Pod == (Pod{}) {
		return f.Object
	}
	return f.Pod.String()
}

// Key names the finding for events: the same fault of the same thing has the same key, however its words change.
func (f Finding) Key() string {
	return strings.Join([]string{f.Check, f.Pod.UID, f.Container, f.Object}, "|")
}

// Result is what a check saw.
type Result struct {
	Findings []Finding
	// Asides are faults that are told in report and in events, but are not what the condition is about.
	Asides []Finding
	// Looked says in a few words what was looked at, for the line of a healthy node.
	Looked string
	// Err is why the check could not look, or not everywhere.
	Err error
	// Held are notes on what was seen and deliberately not called a fault.
	Held []string
}

// sorted returns the findings in the order of the line, whatever order the runtime listed things in.
func sorted(fs []Finding) []Finding {
	out := slices.Clone(fs)
	slices.SortFunc(out, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(a.Subject(), b.Subject()),
			cmp.Compare(a.Container, b.Container),
			cmp.Compare(a.Cause, b.Cause),
			cmp.Compare(a.Pod.UID, b.Pod.UID),
			cmp.Compare(a.Cure, b.Cure))
	})
	return out
}
