// Package faults makes nodes that misbehave, for tests alone: a container runtime on a real socket that hangs, lies and hangs
// up ([Serve]), and the files, kernel log, state and clock of a node with something wrong about each ([Node]). [Combine] picks
// some of all kinds by a seed.
//
// What each of them must lead to is known beforehand: see [Outcome].
package faults

// Outcome is what a fault does to the verdict of a check that meets it.
type Outcome int

const (
	// Refused: the check cannot look. Exit 2, never 0 or 1.
	Refused Outcome = iota
	// Harmless: the verdict is the one without the fault.
	Harmless
	// Either: it is a matter of time whether the check can look, so it is 2 or the verdict without the fault.
	Either
	// Lies: the answer is well formed and untrue, such as a list without its entries. What is there may not be found. What is
	// not there must not be.
	Lies
)

// Allows says whether an exit status is right where it would be without without the fault.
func (o Outcome) Allows(exit, without int) bool {
	switch o {
	case Refused:
		return exit == 2
	case Either:
		return exit == 2 || exit == without
	case Lies:
		return exit == 2 || exit == 0 || exit == without
	}
	return exit == without
}
