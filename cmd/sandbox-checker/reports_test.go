package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sandbox-checker/plugin/checks"
)

// reported are captures of different faults: each check, each blame, mixed faults, and nothing readable.
var reported = []string{
	"demo/reboot.txtar", "demo/300m-docker.txtar", "demo/300m-containerd.txtar",
	"testdata/reports/mixed-node.txtar", "testdata/reports/nothing-readable.txtar",
	cases + "stale-created/c06-containerd-restarted-by-toolkit.txtar",
	cases + "sandbox-crashloop/seen-8-power-cut-no-subnet-env.txtar",
	cases + "sandbox-crashloop/cause-image-gone.txtar",
	cases + "sandbox-crashloop/c49-talos-oom-controller.txtar",
	cases + "sandbox-crashloop/cause-unknown-two-pods.txtar",
	cases + "sandbox-crashloop/cause-unknown-one-pod.txtar",
	cases + "sandbox-crashloop/cause-two-pods-two-causes.txtar",
	cases + "sandbox-crashloop/healthy.txtar",
	cases + "sandbox-crashloop/healthy-no-kernel-log.txtar",
	cases + "cni-config/own-token-expired.txtar",
	cases + "cni-config/own-addresses-leaked.txtar",
	cases + "sandbox-oom/c61-el7-kernel-memory-fills-the-limit.txtar",
}

const cases = "../../plugin/checks/testdata/"

// TestReports holds text and JSON of each to the golden files.
func TestReports(t *testing.T) {
	t.Parallel()
	for _, path := range reported {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			exit, text := runReport(t, path, "text")
			golden(t, "reports/"+name+".text", fmt.Sprintf("%sexit %d\n", text, exit))
			again, data := runReport(t, path, "json")
			golden(t, "reports/"+name+".json", data)
			if again != exit {
				t.Errorf("exit %d as text, %d as JSON", exit, again)
			}
			narrow(t, text)
		})
	}
}

// narrow holds lines to the width of a terminal, but for a command, or one word that stands alone after its label.
func narrow(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(strings.TrimRight(line, "\n")) <= width || len(words) <= 2 || isCommand(strings.Join(words[1:], " ")) {
			continue
		}
		t.Errorf("wider than %d columns: %q", width, line)
	}
}

func runReport(t *testing.T, path, format string) (exit int, text string) {
	t.Helper()
	var out, errs bytes.Buffer
	c := &cli{out: &out, err: &errs, env: func(string) string { return "" }}
	exit = c.run([]string{"report", "--node", path, "-o", format})
	if errs.Len() > 0 {
		t.Errorf("stderr: %s", &errs)
	}
	return exit, out.String()
}

// TestMixedNode: three faults at once are three causes, each with its own pods.
func TestMixedNode(t *testing.T) {
	t.Parallel()
	var r jsonReport
	_, text := runReport(t, "testdata/reports/mixed-node.txtar", "json")
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{
		checks.StaleCreatedName: {"batch/train-0"},
		checks.SandboxOOMName:   {"default/busybox-deploy-7c9f8d6b5-q4zrt"},
		checks.CNIConfigName:    {"shop/cart-0"},
	}
	if len(r.Causes) != len(want) {
		t.Errorf("%d causes, want %d", len(r.Causes), len(want))
	}
	for _, c := range r.Causes {
		var got []string
		for _, p := range c.Pods {
			got = append(got, p.Namespace+"/"+p.Name)
		}
		for _, s := range c.Symptoms {
			if name := s.Pod.Namespace + "/" + s.Pod.Name; len(got) == 0 || got[len(got)-1] != name {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != strings.Join(want[c.Check], " ") {
			t.Errorf("%s: pods %v, want %v", c.Check, got, want[c.Check])
		}
	}
}

// TestRedactedReport: a redacted capture of the mixed node gives the same report, but for the names.
func TestRedactedReport(t *testing.T) {
	t.Parallel()
	const mixed = "testdata/reports/mixed-node.txtar"
	f, _, err := replayed(mixed)
	if err != nil {
		t.Fatal(err)
	}
	f.HideSecrets()
	if err := f.Redact("node-1"); err != nil {
		t.Fatal(err)
	}
	text := f.Format()
	for _, name := range []string{"train-0", "busybox-deploy", "cart-0", "web-7d4b9", "node-1", "shop"} {
		if bytes.Contains(text, []byte(name)) {
			t.Errorf("%q is left in the redacted capture", name)
		}
	}
	path := filepath.Join(t.TempDir(), "redacted.txtar")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	names := strings.NewReplacer("host-1", "node-1", "namespace-1", "batch", "namespace-2", "shop",
		"pod-1", "busybox-deploy-7c9f8d6b5-q4zrt", "pod-2", "cart-0", "pod-3", "train-0")
	exit, got := runReport(t, path, "json")
	wantExit, want := runReport(t, mixed, "json")
	if got = names.Replace(got); got != want || exit != wantExit {
		t.Errorf("the redacted report is exit %d\n%s\nwant %d\n%s", exit, got, wantExit, want)
	}
}
