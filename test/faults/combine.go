package faults

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Combination is some faults at once on one node, and the check that meets them.
type Combination struct {
	Seed   uint64
	Base   Base
	Check  string
	Server ServerFault
	Node   []NodeFault
}

// ServerFaults are all faults of a runtime.
func ServerFaults() []ServerFault {
	return slices.Concat(connFaults(), callFaults(), contentFaults())
}

// Combine picks faults by a seed: the same ones for the same seed.
func Combine(seed uint64) Combination {
	r := rand.New(rand.NewPCG(seed, 0x5ca1ab1e)) //nolint:gosec // it must be the same again
	c := Combination{Seed: seed, Base: pick(r, Bases), Check: pick(r, Checks)}
	if r.IntN(3) > 0 {
		c.Server = pick(r, ServerFaults())
		if len(c.Server.Methods) == 0 && c.Server.conn == nil && c.Server.wrap == nil && r.IntN(2) == 0 {
			c.Server.after = r.IntN(4) // some calls get through
		}
	}
	for _, kind := range [][]NodeFault{CNIFaults(), PodFaults(), KernelLogFaults(), StateFaults(), ClockFaults()} {
		if r.IntN(5) < 2 {
			f := pick(r, kind)
			if !slices.ContainsFunc(c.Node, func(have NodeFault) bool { return have.Name == f.Name }) {
				c.Node = append(c.Node, f)
			}
		}
	}
	return c
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

func (c Combination) String() string {
	names := []string{c.Server.Name}
	for _, f := range c.Node {
		names = append(names, f.Name)
	}
	names = slices.DeleteFunc(names, func(s string) bool { return s == "" })
	return fmt.Sprintf("seed %d: %s on a node with %s, with %s", c.Seed, c.Check, c.Base, strings.Join(names, " + "))
}

// Allows says whether an exit status is right. 1 is so only where the node is sick; 0 only where it is not, or where the faults
// hide what it has.
func (c Combination) Allows(exit int) bool {
	sick := c.Base.Exit(c.Check) == 1
	switch exit {
	case 2:
		return true
	case 1:
		return sick
	case 0:
		hidden := c.Server.Outcome == Lies || slices.ContainsFunc(c.Node, func(f NodeFault) bool { return f.Hides })
		return !sick || hidden
	}
	return false
}

// Make writes the node below root with all its faults and starts its runtime.
func (c Combination) Make(t testing.TB, root string) (*Node, *Server) {
	t.Helper()
	n := NewNode(t, root, c.Base)
	s := n.Serve(t, c.Server)
	for _, f := range c.Node {
		f.Apply(t, n)
	}
	return n, s
}
