package checks_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/capture"
	"sandbox-checker/plugin/checks"
	"sandbox-checker/plugin/cri"
)

const raised = "testdata/" + checks.SandboxCrashLoopName + "/limit-raised-before-the-next-try.txtar"

// bothWithSandbox lists one sandbox of each of the two pods, made this long before the look.
func bothWithSandbox(t *testing.T, state string, ago time.Duration) *capture.File {
	t.Helper()
	f := read(t, raised)
	var items []string
	for i, uid := range []string{"000062aa-5ce2-7011-1aa8-b39793bddc1b", "000062aa-5ce2-7011-1aa8-b39793bddc1c"} {
		items = append(items, fmt.Sprintf(`{"id": "%064d", "metadata": {"name": "typo-%d", "uid": %q, "namespace": "default", "attempt": 9},
			"state": %q, "createdAt": "%d"}`, i+1, i+1, uid, state, f.Now.Add(-ago).UnixNano()))
	}
	f.CRI.Pods = []byte(`{"items": [` + strings.Join(items, ",") + `]}`)
	return f
}

// TestLimitRaised: a limit that was raised explains what failed before, and nothing after. The last kill was 31 s before the look.
func TestLimitRaised(t *testing.T) {
	t.Parallel()
	waited := later(t, read(t, raised), 4*time.Minute)
	waited.KernelClock += 4 * time.Minute
	stillLow := read(t, raised)
	for path := range stillLow.Content {
		if strings.HasSuffix(path, "/memory.limit_in_bytes") {
			stillLow.Content[path] = []byte("0\n")
		}
	}
	neverHit := withoutPart(read(t, raised), "/dev/kmsg")
	for path := range neverHit.Content {
		if strings.HasSuffix(path, "/memory.failcnt") {
			neverHit.Content[path] = []byte("0\n")
		}
	}
	for _, c := range []struct {
		name string
		f    *capture.File
		exit int
		told int // pods in findings and asides
		held int
	}{
		{"no try since", read(t, raised), 0, 0, 2},
		{"none for the whole grace", waited, 1, 2, 0},
		{"a try since that failed", bothWithSandbox(t, "SANDBOX_NOTREADY", 10*time.Second), 1, 2, 0},
		{"only tries before the kill", bothWithSandbox(t, "SANDBOX_NOTREADY", 40*time.Second), 0, 0, 2},
		{"a try since that worked", bothWithSandbox(t, "SANDBOX_READY", 10*time.Second), 0, 0, 0},
		{"not raised", stillLow, 0, 2, 0},
		{"without the kernel log", withoutPart(read(t, raised), "/dev/kmsg"), 0, 0, 2},
		{"without the kernel log, a limit never hit", neverHit, 1, 2, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v, r := lookWith(t, c.f, nil, checks.SandboxCrashLoopName, plugin.Defaults())
			if int(v.Status) != c.exit || len(r.Findings)+len(r.Asides) != c.told || len(r.Held) != c.held {
				t.Errorf("exit %d, %d told, held %q, want %d, %d, %d: %s", v.Status, len(r.Findings)+len(r.Asides), r.Held, c.exit, c.told, c.held, v.Line)
			}
			if strings.Contains(v.Line, "killed at start, cause unknown") {
				t.Errorf("a kill by the limit is a known cause: %s", v.Line)
			}
		})
	}
}

// removedMeanwhile answers with created containers only once.
type removedMeanwhile struct {
	plugin.Runtime
	asked int
	err   error
}

func (r *removedMeanwhile) CreatedContainers(ctx context.Context) ([]cri.Container, error) {
	if r.asked++; r.asked > 1 {
		return nil, r.err
	}
	return r.Runtime.CreatedContainers(ctx)
}

// TestRemovedWhileLooking: a container that is gone, or no longer created, when all lists are read is no fault; where that
// cannot be asked nothing is known.
func TestRemovedWhileLooking(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"containerd-1.6-kill-all-lost-sandbox", "containerd-1.6-stop-reboot", "containerd-1.6-runtime-restart"} {
		for err, exit := range map[error]int{nil: 0, context.DeadlineExceeded: 2} {
			f := read(t, "testdata/"+checks.StaleCreatedName+"/"+name+".txtar")
			if v, _ := lookWith(t, f, nil, checks.StaleCreatedName, plugin.Defaults()); v.Status != plugin.Problem {
				t.Fatalf("%s proves nothing: %s", name, v.Line)
			}
			h := hostWith(t, f, nil)
			rt := &removedMeanwhile{Runtime: h.Runtime, err: err}
			h.Runtime = rt
			if v, _ := checks.StaleCreated.Judge(context.Background(), h, plugin.Defaults()); int(v.Status) != exit {
				t.Errorf("%s: exit %d, want %d: %s", name, v.Status, exit, v.Line)
			}
		}
	}
}

// TestAskedAgainOnlyToTell: where there is nothing to tell the created containers are listed once.
func TestAskedAgainOnlyToTell(t *testing.T) {
	t.Parallel()
	f := read(t, "testdata/"+checks.StaleCreatedName+"/containerd-1.6-stale-created-before.txtar")
	if !bytes.Contains(f.CRI.Containers, []byte("CONTAINER_CREATED")) {
		t.Fatal("no created container: this proves nothing")
	}
	h := hostWith(t, f, nil)
	rt := &removedMeanwhile{Runtime: h.Runtime}
	h.Runtime = rt
	if v, _ := checks.StaleCreated.Judge(context.Background(), h, plugin.Defaults()); v.Status != plugin.OK || rt.asked != 1 {
		t.Errorf("exit %d, listed %d times: %s", v.Status, rt.asked, v.Line)
	}
}
