// Package checks holds the checks, one file each for gathering and judging, and their list.
package checks

import (
	"regexp"
	"slices"
	"sync"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/cri"
)

// The names of the checks.
const (
	StaleCreatedName     = "stale-created"
	SandboxCrashLoopName = "sandbox-crashloop"
	SandboxOOMName       = "sandbox-oom"
	CNIConfigName        = "cni-config"
)

// All are the checks in the order of report. Adding one is a file and a word here.
func All() []plugin.Check {
	return []plugin.Check{StaleCreated, SandboxCrashLoop, SandboxOOM, CNIConfig}
}

// Named returns the check of that name.
func Named(name string) (plugin.Check, bool) {
	for _, c := range All() {
		if c.Name == name {
			return c, true
		}
	}
	return plugin.Check{}, false
}

// maxInspected bounds how many sandboxes a capture asks for.
const maxInspected = 100

// WantsSandboxStatus names the sandboxes whose status the checks may ask for, so that a capture has it: those of created
// containers, and those of pods without a ready sandbox.
func WantsSandboxStatus(sandboxes []cri.Sandbox, containers []cri.Container) []string {
	var ids []string
	want := func(id string) {
		if len(ids) < maxInspected && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for _, c := range containers {
		if c.State == cri.Created {
			want(c.SandboxID)
		}
	}
	ready := map[string]bool{}
	for _, s := range sandboxes {
		ready[s.Pod.UID] = ready[s.Pod.UID] || s.Ready
	}
	for _, s := range sandboxes {
		if !ready[s.Pod.UID] {
			want(s.ID)
		}
	}
	return ids
}

// dnsName is what Kubernetes takes for names of pods and namespaces.
var dnsName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`) })

// kubectlPod is a command that a person may copy, "" when the name is none of Kubernetes': it could hold anything.
func kubectlPod(verb string, p plugin.Pod) string {
	if !dnsName().MatchString(p.Namespace) || !dnsName().MatchString(p.Name) {
		return ""
	}
	return "kubectl -n " + p.Namespace + " " + verb + " pod " + p.Name
}
