package checks_test

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/checks"
)

// TestUnknownSandboxState: a state that only a later CRI has proves no fault of the containers in such a sandbox, be it
// replayed by its name or by its number.
func TestUnknownSandboxState(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/stale-created/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	sick := 0
	for _, file := range files {
		f := read(t, file)
		if _, r := lookWith(t, f, nil, checks.StaleCreatedName, plugin.Defaults()); len(r.Findings) > 0 {
			sick++
		}
		for _, state := range []string{`"SANDBOX_PAUSED"`, "77"} {
			later := *f
			later.CRI.Pods = slices.Clone(f.CRI.Pods)
			for _, known := range []string{`"SANDBOX_READY"`, `"SANDBOX_NOTREADY"`} {
				later.CRI.Pods = bytes.ReplaceAll(later.CRI.Pods, []byte(known), []byte(state))
			}
			if bytes.Equal(later.CRI.Pods, f.CRI.Pods) {
				continue // no sandbox is listed
			}
			if _, r := lookWith(t, &later, nil, checks.StaleCreatedName, plugin.Defaults()); len(r.Findings) > 0 {
				t.Errorf("%s, %s: %s", file, state, r.Findings[0].Cause)
			}
		}
	}
	if sick == 0 {
		t.Error("no capture has a finding: this proves nothing")
	}
}
