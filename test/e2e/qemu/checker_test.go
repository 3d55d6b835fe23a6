package qemu

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sandbox-checker/test/e2e/internal/protocol"
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

// slowly gives a check time: on a busy host each of its calls can take seconds in the guest.
var slowly = []string{"--timeout", "1m"}

// checkIn runs it within other words, as "unshare -m ...".
func (m *machine) checkIn(t testing.TB, w want, within []string, args ...string) answer {
	t.Helper()
	r := m.run(t, "", slices.Concat(within, []string{"sandbox-checker", "check"}, args, slowly)...)
	got := answer{r.Exit, r.Stdout, r.Stderr}
	got.judge(t, w, args[0])
	return got
}

func (a answer) judge(t testing.TB, w want, name string) {
	t.Helper()
	t.Logf("%s: exit %d: %s", name, a.exit, strings.TrimSpace(a.line))
	protocol.Keeps(t, a.line, a.stderr)
	if a.exit != w.exit {
		t.Errorf("exit %d, want %d", a.exit, w.exit)
	}
	protocol.Says(t, a.line, w.words...)
	for _, word := range w.others {
		if strings.Contains(a.line, word) {
			t.Errorf("the line says %q: %s", word, a.line)
		}
	}
}

// capture takes a capture in the guest. Here, away from the node, it must give the same verdict: else it is no evidence.
func (m *machine) capture(t testing.TB, name string, live answer, args ...string) {
	t.Helper()
	content := m.do(t, "sandbox-checker", "capture") + "\n"
	dir := t.TempDir()
	if *captures != "" {
		dir = *captures
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, name+".txtar")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	checker, err := buildChecker()
	if err != nil {
		t.Fatal(err)
	}
	exit, line, _ := protocol.Run(t, exec.Command(checker, append([]string{"check", args[0], "--node", file}, args[1:]...)...))
	if exit != live.exit || line != live.line {
		t.Errorf("the capture says (exit %d)\n%sthe node said (exit %d)\n%s", exit, line, live.exit, live.line)
	}
}
