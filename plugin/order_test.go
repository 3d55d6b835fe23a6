package plugin

import "testing"

// Two findings that differ in their cure alone come in one order too.
func TestLineIgnoresOrderOfCures(t *testing.T) {
	t.Parallel()
	x, y, z := finding("a", "p", "c", "x"), finding("a", "p", "c", "y"), finding("a", "p", "c", "z")
	want := Line([]Finding{x, y, z})
	for _, mixed := range [][]Finding{{x, z, y}, {y, x, z}, {y, z, x}, {z, x, y}, {z, y, x}} {
		if got := Line(mixed); got != want {
			t.Errorf("another order, another line\n%s\n%s", got, want)
		}
	}
}

func TestValidateNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"stale_created", "stale created", "-stale", "stale-", "stale--created", "stale/created", "st\u00e4le"} {
		c := complete()
		c.Name = name
		if c.Validate() == nil {
			t.Errorf("%q passes for kebab case", name)
		}
	}
}
