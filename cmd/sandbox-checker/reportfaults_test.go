package main

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/kmsg"
	"sandbox-checker/test/faults"
)

// reportAt is the report, as JSON, on a node that lies below a directory.
func reportAt(t *testing.T, n *faults.Node, socket string, timeout time.Duration) (int, jsonReport) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c := &cli{out: &stdout, err: &stderr, env: func(string) string { return "" }}
	c.elsewhere = func(h *plugin.Host) {
		h.Files = rooted{h.Files.(liveFiles), n.Root}
		h.KernelLog = func(ctx context.Context) ([]byte, error) {
			return kmsg.ReadRing(ctx, filepath.Join(n.Root, kmsg.DevicePath))
		}
	}
	exit := c.run([]string{"report", "-o", "json", "--runtime-endpoint", "unix://" + socket, "--timeout", timeout.String(), "--state-dir", n.StateDir()})
	var r jsonReport
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil || stderr.Len() > 0 {
		t.Errorf("exit %d: %v: %q, stderr %q", exit, err, stdout.String(), stderr.String())
	}
	return exit, r
}

// TestReportSaysWhatChecksSay: whichever calls of the runtime fail, and however, the report says of each check what the check
// says by itself: what it finds, or that it could not look and why.
func TestReportSaysWhatChecksSay(t *testing.T) {
	t.Parallel()
	calls := map[string][]string{
		"none": {"no such call"}, "sandboxes": {"ListPodSandbox"}, "containers": {"ListContainers"}, "lists": {"ListPodSandbox", "ListContainers"},
		"status": {"Status"}, "version": {"Version"}, "details": {"PodSandboxStatus", "ImageStatus"}, "all but status": {"Version", "ListPodSandbox", "ListContainers", "PodSandboxStatus", "ImageStatus"}, "all": nil,
	}
	for _, fault := range []string{"status Unavailable", "RST in mid message", "random bytes", "hangs before the answer"} {
		for which, methods := range calls {
			if fault == "hangs before the answer" && which != "lists" && which != "status" {
				continue // each takes as long as its deadline
			}
			t.Run(fault+"/"+which, func(t *testing.T) {
				t.Parallel()
				f := named(t, fault).At(methods...)
				var all sync.WaitGroup // what hangs ends by its deadline
				for _, b := range faults.Bases {
					n := faults.NewNode(t, shortDir(t), b)
					s := n.Serve(t, f)
					all.Go(func() { sameAsChecks(t, n, s.Path, f.Hangs) })
				}
				all.Wait()
			})
		}
	}
}

func sameAsChecks(t *testing.T, n *faults.Node, socket string, hangs bool) {
	t.Helper()
	timeout, reportTimeout := enough, enough
	if hangs {
		timeout, reportTimeout = 5*time.Second, 10*time.Second
	}
	_, r := reportAt(t, n, socket, reportTimeout)
	if len(r.Checks) != len(faults.Checks) {
		t.Errorf("%s: %d checks", n.Base, len(r.Checks))
	}
	var all sync.WaitGroup
	defer all.Wait()
	for _, c := range r.Checks {
		all.Go(func() { sameAsCheck(t, n, socket, c, timeout) })
	}
}

func sameAsCheck(t *testing.T, n *faults.Node, socket string, c jsonCheck, timeout time.Duration) {
	t.Helper()
	alone := lookAt(t, n, socket, n.StateDir(), c.Name, timeout)
	want := map[int]string{0: "False", 1: "True", 2: "Unknown"}[alone.exit]
	if c.Status != want || want != "Unknown" && c.Line != strings.TrimSpace(alone.line) {
		t.Errorf("%s on a node with %s: report says %s: %s\ncheck says %s: %s", c.Name, n.Base, c.Status, c.Line, want, alone.line)
	}
	if (want == "Unknown") != (c.Error != "") {
		t.Errorf("%s on a node with %s: %s with error %q", c.Name, n.Base, c.Status, c.Error)
	}
}
