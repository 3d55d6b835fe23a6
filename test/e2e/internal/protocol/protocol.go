// Package protocol holds a run of the product against what node-problem-detector takes from a custom plugin: the exit status,
// one line on stdout, and nothing else.
package protocol

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
)

// lineLimit is where the shipped configurations let node-problem-detector cut a line, in bytes.
const lineLimit = 256

// Run runs the product to its end and gives what node-problem-detector sees of it. A run that a signal ended has exit -1. One
// that does not start ends the test.
func Run(t testing.TB, cmd *exec.Cmd) (exit int, line, stderr string) {
	t.Helper()
	var out, complaint strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &complaint
	var ended *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), complaint.String()
}

// Keeps fails the test where a check's output breaks what holds for every answer: node-problem-detector feeds the line to a
// format string, cuts it at a limit and writes all of stderr to its own log each time.
func Keeps(t testing.TB, line, stderr string) {
	t.Helper()
	body, ended := strings.CutSuffix(line, "\n")
	if !ended || body == "" || strings.Contains(body, "\n") {
		t.Errorf("stdout is not one line: %q", line)
	}
	if len(body) > lineLimit {
		t.Errorf("the line has %d bytes: %s", len(body), body)
	}
	for _, r := range body {
		if r < ' ' || r > '~' || strings.ContainsRune(`%"\`, r) {
			t.Errorf("the line has %q: %s", r, body)
			break
		}
	}
	if stderr != "" {
		t.Errorf("stderr is not empty: %s", stderr)
	}
}

// Says fails the test for each of words that the line has not. Its exact form is the product's own tests' matter.
func Says(t testing.TB, line string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(line, word) {
			t.Errorf("the line does not say %q: %s", word, line)
		}
	}
}
