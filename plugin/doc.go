package plugin

// Doc is a check's documentation, written once: help prints it, the tables of README.md and the pages of deploy/runbooks
// are made of it.
type Doc struct {
	// Reads are paths and calls, Says what makes it speak, Silent the look-alikes, Cure what helps, Needs what must be
	// mounted or allowed, Acts who does what about the condition.
	Reads, Says, Silent, Cure, Needs, Acts []string
	// Knows is what the check knows beforehand of the things that it looks at, nil where that is nothing. A function,
	// since only help needs it.
	Knows func() []string
	// Short is the check's row in a table.
	Short Short
	// Without is what is left of the check on a node that does not let it see everything.
	Without Without
}

// Short is a check in one line.
type Short struct{ Reads, Says, Cure string }

// Cells are reads, says, cure.
func (s Short) Cells() []string { return []string{s.Reads, s.Says, s.Cure} }

// Without says for each thing that a pod of NPD may lack what the check then does: "works", "exit 2", or what is lost.
type Without struct {
	// KernelLog is /dev/kmsg, which needs a privileged container.
	KernelLog string
	// Pods is /sys/fs/cgroup or /var/log/pods.
	Pods string
	// CNI is the CNI configuration and the bin directories.
	CNI string
	// History is /run/sandbox-checker, writable.
	History string
	// Runtime is the runtime's socket.
	Runtime string
}

// Lacks are the fields of [Without] in words, in the order of its cells.
var Lacks = []string{
	"the kernel log, which needs privileged",
	"/sys/fs/cgroup or /var/log/pods",
	"CNI directories and binaries",
	"/run/sandbox-checker, writable",
	"the runtime's socket",
}

// Cells are the fields in the order of [Lacks].
func (w Without) Cells() []string {
	return []string{w.KernelLog, w.Pods, w.CNI, w.History, w.Runtime}
}
