package state

import (
	"testing"
	"time"
)

// TestShort: of an id as much is kept as tells sandboxes apart, also where an earlier version kept it whole.
func TestShort(t *testing.T) {
	t.Parallel()
	id := sandboxID(1, 7)
	for _, raw := range []string{`{"version":1,"boot_id":"` + boot + `","seen":{"` + uid(1) + `":[{"id":"` + id + `","attempt":7,"at":60}]}}`, ""} {
		s := parse([]byte(raw), boot, 2*time.Minute)
		s.See(uid(1), id, 7, 0)
		s.See(uid(1), "short", 8, 0)
		if got := s.Seen[uid(1)]; len(got) != 2 || got[0].ID != id[:16] || got[0].ID != Short(id) || got[1].ID != "short" {
			t.Errorf("%q: %+v", raw, got)
		}
	}
}
