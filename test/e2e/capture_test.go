package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// capture writes what the product sees of the node to a file and gives its path.
func (n *node) capture(t testing.TB, flags ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "node.txtar")
	got := ask(t, append([]string{"capture", "-o", file, "--runtime-endpoint", n.endpoint()}, flags...)...)
	if got.exit != 0 {
		t.Fatalf("capture: exit %d: %s%s", got.exit, got.line, got.stderr)
	}
	return file
}

// checkCapture: a capture must say what the node said, or it is no use as evidence.
func (n *node) checkCapture(t *testing.T, live answer, name string, flags ...string) {
	t.Helper()
	got := check(t, want{exit: live.exit}, append([]string{name, "--node", n.capture(t)}, flags...)...)
	if got.line != live.line {
		t.Errorf("the capture says\n%sthe node said\n%s", got.line, live.line)
	}
}

// TestCaptureKeepsSecrets: a CNI file may hold a credential. A capture is made to be sent to others.
func TestCaptureKeepsSecrets(t *testing.T) {
	n := newNode(t, containerd1, "secrets")
	const secret = "ZXlKaGJHY2lPaUpTVXpJ"
	n.writeConf(t, "10-pods.conflist", conflist(map[string]any{
		"type": "bridge", "bridge": run.name, "ipam": hostLocal(),
		"kubernetes": map[string]any{"k8s_auth_token": secret, "password": secret},
	}))
	content := readFile(t, n.capture(t))
	if strings.Contains(content, secret) {
		t.Error("the capture holds the secret of a CNI file")
	}
	if !strings.Contains(content, n.conf("10-pods.conflist")) {
		t.Error("the capture does not hold the CNI file: this proves nothing")
	}
}
