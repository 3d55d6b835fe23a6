package checks_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/capture"
	"sandbox-checker/plugin/checks"
	"sandbox-checker/plugin/state"
)

// sandboxRow is a row of crictl pods -o json.
type sandboxRow struct {
	ID       string `json:"id"`
	Metadata struct {
		Name      string `json:"name"`
		UID       string `json:"uid"`
		Namespace string `json:"namespace"`
		Attempt   int    `json:"attempt"`
	} `json:"metadata"`
	State     string            `json:"state"`
	CreatedAt string            `json:"createdAt"`
	Labels    map[string]string `json:"labels"`
}

// withRows is the capture with each row of its sandboxes replaced by others.
func withRows(t *testing.T, f *capture.File, replace func(row sandboxRow) []sandboxRow) *capture.File {
	t.Helper()
	var list, out struct {
		Items []sandboxRow `json:"items"`
	}
	if err := json.Unmarshal(f.CRI.Pods, &list); err != nil {
		t.Fatal(err)
	}
	for _, row := range list.Items {
		out.Items = append(out.Items, replace(row)...)
	}
	raw, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	g := *f
	g.CRI.Pods = raw
	return &g
}

// noLoopAt judges looks in turn, with what is remembered between them, and again each one alone.
func noLoopAt(t *testing.T, looks ...*capture.File) {
	t.Helper()
	store := &state.Memory{}
	for i, f := range looks {
		for name, s := range map[string]state.Store{"remembered": store, "alone": nil} {
			if v, r := lookWith(t, f, s, checks.SandboxCrashLoopName, plugin.Defaults()); v.Status != plugin.OK || len(r.Asides) > 0 {
				t.Errorf("look %d, %s: %d asides, %s", i+1, name, len(r.Asides), v.Line)
			}
		}
	}
}

// TestDeletedBeforeTheImageCame: the log directories of pods that pulled their image are old and empty. When such pods are deleted
// their sandboxes are not ready, and their cgroups stay until the volumes are unmounted.
func TestDeletedBeforeTheImageCame(t *testing.T) {
	t.Parallel()
	pulls := crashloopCaptures(t)["look-alike-pulls-its-image"]
	noLoopAt(t, pulls, withRows(t, later(t, pulls, time.Minute), func(row sandboxRow) []sandboxRow {
		if strings.HasPrefix(row.Metadata.Name, "big-") {
			row.State = "SANDBOX_NOTREADY"
		}
		return []sandboxRow{row}
	}))
}

// TestFailedOnceAndStays: kubelet 1.15 never tries again. The pod is told, as an event, when it was seen without a sandbox for long.
func TestFailedOnceAndStays(t *testing.T) {
	t.Parallel()
	store, f := &state.Memory{}, crashloopCaptures(t)["c04-sandbox-failed-once"]
	for _, c := range []struct {
		after time.Duration
		told  int
	}{{0, 0}, {time.Minute, 0}, {plugin.Defaults().StartGrace, 1}} {
		v, r := lookWith(t, later(t, f, c.after), store, checks.SandboxCrashLoopName, plugin.Defaults())
		if v.Status != plugin.OK || len(r.Asides) != c.told {
			t.Errorf("after %s: exit %d, %d told, want 0, %d", c.after, v.Status, len(r.Asides), c.told)
		}
	}
}

// TestLoopsOfTheBootBefore: sandboxes that failed before the reboot are listed until garbage collection takes them away. The pods
// have got theirs since.
func TestLoopsOfTheBootBefore(t *testing.T) {
	t.Parallel()
	f := crashloopCaptures(t)["look-alike-reboot-30-pods"] // it is 270 s up
	for _, dated := range []bool{true, false} {
		for old := range 7 {
			t.Run(fmt.Sprintf("%d, dated %t", old, dated), func(t *testing.T) {
				t.Parallel()
				at := func(uptime time.Duration) *capture.File { return later(t, f, uptime-270*time.Second) }
				noLoopAt(t,
					withRows(t, at(60*time.Second), func(row sandboxRow) []sandboxRow { return leftovers(row, old, dated) }),
					withRows(t, at(160*time.Second), func(row sandboxRow) []sandboxRow { return append(leftovers(row, old, dated), anew(t, f, row)...) }),
					withRows(t, at(220*time.Second), func(row sandboxRow) []sandboxRow { return anew(t, f, row) }))
			})
		}
	}
}

// leftovers are the pod's sandboxes of the boot before. containerd 1.6 has no date of those that it failed to make.
func leftovers(row sandboxRow, n int, dated bool) []sandboxRow {
	if row.State != "SANDBOX_NOTREADY" {
		return nil
	}
	var out []sandboxRow
	made, _ := strconv.ParseInt(row.CreatedAt, 10, 64)
	for i := range n {
		one := row
		one.ID, one.Metadata.Attempt = fmt.Sprintf("%02d%s", i, row.ID[2:]), row.Metadata.Attempt+i
		one.CreatedAt = strconv.FormatInt(made-int64(time.Duration(n-i)*time.Second), 10)
		if !dated {
			one.CreatedAt = "0"
		}
		out = append(out, one)
	}
	return out
}

// anew is the pod's sandbox of this boot, 100 s after it.
func anew(t *testing.T, f *capture.File, row sandboxRow) []sandboxRow {
	t.Helper()
	if row.State != "SANDBOX_READY" {
		return nil
	}
	row.Metadata.Attempt += 10
	row.CreatedAt = strconv.FormatInt(f.Now.Add(-170*time.Second).UnixNano(), 10)
	return []sandboxRow{row}
}
