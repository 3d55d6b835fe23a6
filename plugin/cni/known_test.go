package cni

import (
	"strings"
	"testing"
)

// The words say all that a row has: every type, binary, path, key and agent of the table stands in its line.
func TestKnownSaysTheTable(t *testing.T) {
	t.Parallel()
	lines := Known()
	for i, r := range table() {
		want := append([]string{r.typ + ": ", r.agent}, r.runs...)
		for _, w := range r.needs {
			want = append(append(want, w.def, w.key, w.unless), w.or...)
		}
		for _, s := range want {
			if !strings.Contains(lines[i], s) {
				t.Errorf("%s: does not say %q: %s", r.typ, s, lines[i])
			}
		}
		if (r.more != nil) != (r.also != "") {
			t.Errorf("%s: more and also go together", r.typ)
		}
	}
}
