// Package guest is what a suite and its program inside a virtual machine say to each other: one request and one reply a
// connection, both JSON.
package guest

// A Request asks for one run of a program, as root.
type Request struct {
	Args    []string
	Stdin   string
	Seconds int // after which it is killed
}

// A Reply tells how a program ended. Name is the check's, where the program was one. Error says why it did not run to its end
// by itself; Exit is then -1.
type Reply struct {
	Name   string
	Exit   int
	Stdout string
	Stderr string
	Error  string
}
