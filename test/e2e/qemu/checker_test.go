package qemu

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// An answer is what node-problem-detector sees of one run of the plugin.
type answer struct {
	exit         int
	line, stderr string
}

// want is what a check must answer. Words are parts of the line, others must not be in it.
type want struct {
	exit   int
	words  []string
	others []string
}

// soon lets every container be too old at once.
var soon = []string{"--grace", "1s", "--stale-after", "1s"}

// check runs a check in the guest and holds its answer against the protocol and what the case wants.
func (m *machine) check(t testing.TB, w want, args ...string) answer {
	t.Helper()
	return m.checkIn(t, w, nil, args...)
}

// checkIn runs it within other words, as "unshare -m ...".
func (m *machine) checkIn(t testing.TB, w want, within []string, args ...string) answer {
	t.Helper()
	r := m.run(t, "", append(append(within, "sandbox-checker", "check"), args...)...)
	got := answer{r.Exit, r.Stdout, r.Stderr}
	got.judge(t, w, args[0])
	return got
}

func (a answer) judge(t testing.TB, w want, name string) {
	t.Helper()
	t.Logf("%s: exit %d: %s", name, a.exit, strings.TrimSpace(a.line))
	a.keepsProtocol(t)
	if a.exit != w.exit {
		t.Errorf("exit %d, want %d", a.exit, w.exit)
	}
	for _, word := range w.words {
		if !strings.Contains(a.line, word) {
			t.Errorf("the line does not say %q: %s", word, a.line)
		}
	}
	for _, word := range w.others {
		if strings.Contains(a.line, word) {
			t.Errorf("the line says %q: %s", word, a.line)
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

// capture takes a capture in the guest. Here, away from the node, it must give the same verdict: else it is no evidence.
func (m *machine) capture(t testing.TB, name string, live answer, args ...string) {
	t.Helper()
	content := m.do(t, "sandbox-checker", "capture") + "\n"
	dir := t.TempDir()
	if *keep != "" {
		dir = *keep
	}
	file := filepath.Join(dir, name+".txtar")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	checker, err := buildChecker()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(checker, append([]string{"check", args[0], "--node", file}, args[1:]...)...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if got := (answer{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}); got.exit != live.exit || got.line != live.line {
		t.Errorf("the capture says (exit %d)\n%sthe node said (exit %d)\n%s", got.exit, got.line, live.exit, live.line)
	}
}
