package e2e

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"sandbox-checker/test/e2e/internal/protocol"
)

// An answer is what node-problem-detector sees of one run of the plugin, and how long it had to wait for it.
type answer struct {
	exit   int
	line   string
	stderr string
	took   time.Duration
}

// want is what a check must answer. Words are parts of the line: its exact form is the product's own tests' matter.
type want struct {
	exit  int
	words []string
}

// ask runs the product. A run that a signal ended has exit -1.
func ask(t testing.TB, args ...string) answer {
	t.Helper()
	return askWith(t, exec.Command(built(t, buildChecker), args...))
}

func askWith(t testing.TB, cmd *exec.Cmd) answer {
	t.Helper()
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")} // no endpoint of ours must come from the environment
	started := time.Now()
	exit, line, stderr := protocol.Run(t, cmd)
	return answer{exit, line, stderr, time.Since(started)}
}

// check runs a check and holds its answer against the protocol and what the case wants.
func check(t testing.TB, w want, args ...string) answer {
	t.Helper()
	return judge(t, w, args[0], ask(t, append([]string{"check"}, args...)...))
}

func judge(t testing.TB, w want, name string, got answer) answer {
	t.Helper()
	t.Logf("%s: exit %d in %s: %s", name, got.exit, got.took.Round(time.Millisecond), strings.TrimSpace(got.line))
	got.keepsProtocol(t)
	got.holds(t, w)
	return got
}

func (a answer) holds(t testing.TB, w want) {
	t.Helper()
	if a.exit != w.exit {
		t.Errorf("exit %d, want %d", a.exit, w.exit)
	}
	protocol.Says(t, a.line, w.words...)
}

func (a answer) keepsProtocol(t testing.TB) {
	t.Helper()
	protocol.Keeps(t, a.line, a.stderr)
}
