// Package bench measures what whole processes cost, in turn and on one machine: the checks, the pipeline of shell commands
// that people write instead, and the smallest program that makes the same CRI calls (floor/).
//
// TestCost of the package above runs it; its README has the table.
package bench
