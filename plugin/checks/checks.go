// Package checks holds the checks, one file each for gathering and judging, and their list.
package checks

import "sandbox-checker/plugin"

// The names of the checks.
const (
	StaleCreatedName = "stale-created"
	SandboxOOMName   = "sandbox-oom"
	CNIConfigName    = "cni-config"
)

// All are the checks in the order of report. Adding one is a file and a word here.
func All() []plugin.Check {
	return []plugin.Check{StaleCreated, SandboxOOM, CNIConfig}
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
