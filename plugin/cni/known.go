package cni

import "strings"

// Known is the table in words, a line a plugin type: what it needs beyond its own binary, and who makes that.
func Known() []string {
	var out []string
	for _, r := range table() {
		out = append(out, r.words())
	}
	return out
}

func (r row) words() string {
	var parts []string
	if len(r.runs) > 0 {
		parts = append(parts, "the binary "+strings.Join(r.runs, ", "))
	}
	if r.also != "" {
		parts = append(parts, r.also)
	}
	for _, w := range r.needs {
		parts = append(parts, w.words())
	}
	if r.ownIPAM && r.also == "" {
		parts = append(parts, "its ipam is no binary")
	}
	if r.noBinary {
		parts = append(parts, "it is no binary itself")
	}
	if len(parts) == 0 {
		parts = []string{"nothing more"}
	}
	s := r.typ + ": " + strings.Join(parts, "; ")
	if r.agent != "" {
		s += ". Look at " + r.agent
	}
	return s
}

func (w where) words() string {
	s := w.def
	switch {
	case w.def == "" && w.kind == Kubeconfig:
		s = "the kubeconfig that " + w.key + " names"
	case w.def == "":
		s = "the file that " + w.key + " names"
	case w.key != "":
		s += " (" + w.key + " moves it)"
	}
	if w.kind == Socket {
		s = "socket " + s
	}
	if len(w.or) > 0 {
		s += " or " + strings.Join(w.or, ", ")
	}
	if w.unless != "" {
		s += ", not with " + w.unless
	}
	return s
}
