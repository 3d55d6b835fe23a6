package e2e

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
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
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	started := time.Now()
	err := cmd.Run()
	took := time.Since(started)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return answer{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String(), took}
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
	for _, word := range w.words {
		if !strings.Contains(a.line, word) {
			t.Errorf("the line does not say %q: %s", word, a.line)
		}
	}
}

// keepsProtocol holds for every answer: node-problem-detector feeds the line to a format string, cuts it at 256 bytes
// and writes all of stderr to its own log each minute.
func (a answer) keepsProtocol(t testing.TB) {
	t.Helper()
	body, ended := strings.CutSuffix(a.line, "\n")
	if !ended || body == "" || strings.Contains(body, "\n") {
		t.Errorf("stdout is not one line: %q", a.line)
	}
	if len(body) > 256 {
		t.Errorf("the line has %d bytes: %s", len(body), body)
	}
	for _, r := range body {
		if r < ' ' || r > '~' || strings.ContainsRune(`%"\`, r) {
			t.Errorf("the line has %q: %s", r, body)
			break
		}
	}
	if a.stderr != "" {
		t.Errorf("stderr is not empty: %s", a.stderr)
	}
}
