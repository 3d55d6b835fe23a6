package e2e

import (
	"path/filepath"
	"testing"
	"time"
)

const (
	askedTimeout = "2s"
	// mustEnd leaves a second for starting a process on a busy machine, and is below the timeout of a check that was given none.
	mustEnd = 3 * time.Second
)

var socketCases = []struct {
	name   string
	socket socket
	checks []string
	says   string
}{
	{"absent", absent, checkNames, "no such file"},
	{"regular file", regularFile, checkNames, "not a socket"},
	{"refusing", refusing, checkNames, "refused"},
	{"silent", silent, checkNames, "no answer"},
	{"garbage", garbage, checkNames, "gRPC"},
	{"hanging up", hangsUp, checkNames, ""}, // how far a client gets until then is chance
	{"unimplemented", unimplemented, checkNames, "CRI"},
	{"oversized", oversized, []string{"stale-created"}, "MiB"}, // cni-config lists no containers
}

// TestRuntimeDoesNotAnswer: a check that could not look says so, names the socket, and ends in time. It never claims a
// fault of the node, and never health.
func TestRuntimeDoesNotAnswer(t *testing.T) {
	for _, c := range socketCases {
		for _, name := range c.checks {
			t.Run(c.name+" for "+name, func(t *testing.T) {
				path := filepath.Join(socketDir(t), "cri.sock")
				c.socket(t, path)
				got := check(t, want{2, []string{path, c.says}},
					name, "--runtime-endpoint", "unix://"+path, "--timeout", askedTimeout)
				if got.took > mustEnd {
					t.Errorf("took %s with --timeout %s", got.took, askedTimeout)
				}
			})
		}
	}
}

var misuses = []struct {
	name string
	args []string
	says string
}{
	{"unknown flag", []string{"check", "stale-created", "--nonsense"}, "nonsense"},
	{"timeout that is no duration", []string{"check", "stale-created", "--timeout", "banana"}, "banana"},
	{"unknown check", []string{"check", "stale-createt"}, "stale-createt"},
	{"no check", []string{"check"}, "check"},
}

// TestMisuse: under node-problem-detector the line is all that anybody sees of a typing error.
func TestMisuse(t *testing.T) {
	for _, c := range misuses {
		t.Run(c.name, func(t *testing.T) { mustBeUnknown(t, ask(t, c.args...), c.says) })
	}
}

var badCaptures = []struct{ name, content, says string }{
	{"empty", "", "capture"},
	{"binary", "\x7fELF\x02\x01\x01\x00\x00\xff\xfe-- now --\n", "capture"},
	{"unknown section", "sandbox-checker capture 1\n-- now --\n2026-03-02T09:00:00Z\n-- cri/podz.json --\n{}\n", "cri/podz.json"},
}

func TestBadCapture(t *testing.T) {
	for _, c := range badCaptures {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "node.txtar")
			writeFile(t, file, c.content)
			mustBeUnknown(t, ask(t, "check", "stale-created", "--node", file), file, c.says)
		})
	}
	t.Run("missing", func(t *testing.T) {
		mustBeUnknown(t, ask(t, "check", "stale-created", "--node", "/nowhere/node.txtar"), "/nowhere/node.txtar")
	})
}

func mustBeUnknown(t *testing.T, got answer, says ...string) {
	t.Helper()
	t.Logf("exit %d: %s%s", got.exit, got.line, got.stderr)
	got.keepsProtocol(t)
	got.holds(t, want{2, says})
}
