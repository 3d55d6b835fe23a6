package main

import (
	"errors"
	"testing"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/cri"
)

// Exit 0 says that nothing stale is left: only a container that has left CREATED may be passed over without a count.
func TestStillStale(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		now           cri.Standing
		remove, ended bool // ended: it has left CREATED, or is gone
	}{
		"as it was found":      {cri.Standing{State: cri.Created}, true, false},
		"it is gone":           {cri.Standing{State: -1, Gone: true}, false, true},
		"it runs":              {cri.Standing{State: cri.Running}, false, true},
		"it has exited":        {cri.Standing{State: cri.Exited}, false, true},
		"its sandbox is ready": {cri.Standing{State: cri.Created, SandboxReady: true}, false, false},
	} {
		err := stillStale(plugin.Finding{}, tc.now)
		if (err == nil) != tc.remove || (errors.Is(err, errChanged) || errors.Is(err, errGone)) != tc.ended {
			t.Errorf("%s: %v", name, err)
		}
	}
}
