package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

var soak = flag.Int("soak", 60, "how often, at least, TestSoak lets node-problem-detector run each check, once a second")

// An episode is a fault that comes and goes, and the conditions that must follow it.
type episode struct {
	name       string
	conditions []string
	begin, end func(t *testing.T)
}

// reasons are those of the four conditions.
var reasons = map[string]string{
	"StaleCreatedContainer": "ContainerNeverStarted", "PodSandboxStartOOM": "MemoryLimitKillsSandbox",
	"CNIConfigProblem": "PodNetworkSetupWouldFail", "PodSandboxCrashLoop": "PodSandboxesKeepFailing",
}

// TestSoak: all checks under a real node-problem-detector, once a second, while faults come and go. Each condition follows its
// faults and nothing else, and nothing grows: no state, no file, no open descriptor, no process, no memory.
func TestSoak(t *testing.T) {
	useKubepods(t)
	n := newNode(t, containerd1, "soak")
	all := n.episodes(t) // its pods are there before the detector is: it sees no later ones
	a, state := startAPIServer(t), t.TempDir()
	var npd *exec.Cmd
	d := startDetectorAs(t, func(cmd *exec.Cmd) { a.toAPI(cmd); npd = inView(cmd, "") }, n.everySecond(t, state)...)
	for condition := range reasons {
		d.waitFor(t, condition, "False")
	}

	want := map[string][]string{}
	for condition := range reasons {
		want[condition] = []string{"False"}
	}
	var sizes []footprint
	for round := 0; !d.ranEach(t, *soak) && !t.Failed(); round++ {
		e := all[round%len(all)]
		e.begin(t)
		for _, condition := range e.conditions {
			d.waitFor(t, condition, "True")
			want[condition] = append(want[condition], "True", "False")
		}
		time.Sleep(3 * time.Second) // it stays so
		e.end(t)
		for condition := range reasons {
			d.waitFor(t, condition, "False")
		}
		sizes = append(sizes, leastFootprint(t, npd.Process.Pid, n.runtime.Process.Pid, state))
		t.Logf("%s came and went: %s", e.name, sizes[len(sizes)-1])
	}
	for condition := range reasons {
		statuses, _ := a.of(condition)
		if got := slices.Compact(slices.DeleteFunc(statuses, func(s string) bool { return s == "Unknown" })); !slices.Equal(got, want[condition]) {
			t.Errorf("%s went %v, want %v", condition, got, want[condition])
		}
	}
	mustNotGrow(t, sizes)
}

// everySecond are all shipped rules, run once a second, with times that let a fault show within seconds.
func (n *node) everySecond(t *testing.T, state string) []string {
	t.Helper()
	flags := []string{"--runtime-endpoint", n.endpoint(), "--state-dir", state}
	var files []string
	for name, more := range map[string][]string{
		"stale-created.json": soon,
		"cni-config.json":    quick,
		"sandbox-oom.json":   {"--oom-window", oomWindow.String()},
		// A pod of an episode gets new sandboxes in each round: within the usual window that is a loop.
		"sandbox-crashloop.json": {"--start-grace", "3s", "--boot-grace", "1s", "--settle", "1s", "--loop-window", "30s", "--loop-newest", "10s"},
		"sandbox-events.json":    nil,
	} {
		file := shippedConfig(t, name, t.TempDir(), append(slices.Clone(flags), more...)...)
		slow, text := `"invoke_interval":"2s"`, readFile(t, file)
		if strings.Count(text, slow) != 1 {
			t.Fatalf("%s has not %s once", file, slow)
		}
		writeFile(t, file, strings.Replace(text, slow, `"invoke_interval":"1s"`, 1))
		files = append(files, file)
	}
	return files
}

// ranEach says whether each condition's rule has run so often.
func (d *detector) ranEach(t *testing.T, times int) bool {
	t.Helper()
	for _, reason := range reasons {
		if d.runs(t, reason) < times {
			return false
		}
	}
	return true
}

// episodes are the faults, each made for real and mended. Their pods run.
func (n *node) episodes(t *testing.T) []episode {
	t.Helper()
	typo, waits := n.kubePod("typo"), pod{name: "waits"}
	refused := []pod{n.kubePod("refused-a"), n.kubePod("refused-b")}
	for _, p := range append(refused, typo) {
		n.likeKubelet(t, p, 64*mib)
		n.run(t, p)
	}
	var sandbox, stale string
	return []episode{
		{"a limit that kills the sandbox", []string{"PodSandboxStartOOM"}, func(t *testing.T) {
			n.stop(t, typo)
			forgetMemory(t, typo)
			setMemoryLimit(t, typo, 1)
			n.mustKeepFailing(t, typo, 3)
		}, func(t *testing.T) {
			setMemoryLimit(t, typo, 64*mib)
			n.run(t, typo)
		}},
		{"an empty CNI directory", []string{"CNIConfigProblem"}, func(t *testing.T) { n.emptyConfDir(t) }, n.healNetwork},
		{"a container that is never started", []string{"StaleCreatedContainer"}, func(t *testing.T) {
			sandbox = n.run(t, waits)
			stale = n.create(t, sandbox, waits, 0)
			n.restart(t)
		}, func(t *testing.T) {
			n.do(t, "rm", stale)
			n.do(t, "rmp", "-f", sandbox)
		}},
		{"a CNI plugin that refuses two pods", []string{"CNIConfigProblem", "PodSandboxCrashLoop"}, func(t *testing.T) {
			for _, p := range refused {
				n.stop(t, p)
			}
			n.breakCNI(t, "exit 0")
			for _, p := range refused {
				if _, err := n.tryRun(t, p); err == nil {
					t.Error("the sandbox starts")
				}
			}
		}, func(t *testing.T) {
			n.healNetwork(t)
			for _, p := range refused {
				n.run(t, p)
			}
		}},
		{"a runtime that is down", nil, func(t *testing.T) { n.end(t, syscall.SIGKILL) }, func(t *testing.T) { n.start(t) }},
	}
}

// stop takes a pod's sandboxes away, its cgroup and its logs stay.
func (n *node) stop(t *testing.T, p pod) {
	t.Helper()
	for _, id := range n.sandboxesOf(p) {
		n.do(t, "rmp", "-f", id)
	}
}

// forgetMemory makes a pod's cgroup anew, without the charges that its dead processes left: under them no limit can be set.
// memory.force_empty leaves what the kernel has allocated for them, and that may stay for long.
func forgetMemory(t *testing.T, p pod) {
	t.Helper()
	var err error
	if !eventually(10*time.Second, func() bool { err = os.Remove(memoryCgroup(p)); return err == nil }) {
		t.Fatalf("remove the cgroup of the pod: %v", err)
	}
	mkdirAll(t, memoryCgroup(p))
}

// footprint is what could grow.
type footprint struct {
	npdFiles, runtimeFiles int // open descriptors, sockets among them
	npdMemory              int // KiB, resident
	children               int // of node-problem-detector, dead ones too
	stateFiles             []string
	stateBytes             int64
}

func (f footprint) String() string {
	return fmt.Sprintf("node-problem-detector has %d open files, %d children and %d KiB; the runtime has %d open files; the state %v has %d bytes",
		f.npdFiles, f.children, f.npdMemory, f.runtimeFiles, f.stateFiles, f.stateBytes)
}

// leastFootprint looks a few times: while a plugin runs it has pipes, and the runtime a connection.
func leastFootprint(t *testing.T, npd, runtime int, state string) footprint {
	t.Helper()
	least := footprintOf(t, npd, runtime, state)
	for range 20 {
		time.Sleep(70 * time.Millisecond)
		now := footprintOf(t, npd, runtime, state)
		least.npdFiles, least.children = min(least.npdFiles, now.npdFiles), min(least.children, now.children)
		least.runtimeFiles = min(least.runtimeFiles, now.runtimeFiles)
	}
	return least
}

func footprintOf(t *testing.T, npd, runtime int, state string) footprint {
	t.Helper()
	f := footprint{npdFiles: openFiles(t, npd), runtimeFiles: openFiles(t, runtime)}
	for line := range strings.Lines(readFile(t, fmt.Sprintf("/proc/%d/status", npd))) {
		_, _ = fmt.Sscanf(line, "VmRSS: %d kB", &f.npdMemory) // one line is
	}
	f.children = len(strings.Fields(readFile(t, fmt.Sprintf("/proc/%d/task/%d/children", npd, npd))))
	entries, err := os.ReadDir(state)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		f.stateFiles = append(f.stateFiles, e.Name())
		if st, err := os.Stat(filepath.Join(state, e.Name())); err == nil {
			f.stateBytes += st.Size()
		}
	}
	return f
}

func openFiles(t *testing.T, pid int) int {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// mustNotGrow compares the last third of the rounds with the first. What a run is just doing may add a little to either.
func mustNotGrow(t *testing.T, all []footprint) {
	t.Helper()
	third := len(all) / 3
	if third == 0 {
		t.Fatalf("%d rounds: too few to tell", len(all))
	}
	for what, one := range map[string]struct {
		size  func(footprint) int
		slack int
	}{
		"open files of node-problem-detector": {func(f footprint) int { return f.npdFiles }, 6},
		"open files of the runtime":           {func(f footprint) int { return f.runtimeFiles }, 6},
		"children of node-problem-detector":   {func(f footprint) int { return f.children }, 6},
		"KiB of node-problem-detector":        {func(f footprint) int { return f.npdMemory }, 10 << 10},       // its heap breathes
		"bytes of state":                      {func(f footprint) int { return int(f.stateBytes) }, 16 << 10}, // of each pod it keeps 24 sandboxes
		"files of state":                      {func(f footprint) int { return len(f.stateFiles) }, 0},
	} {
		first, last := 0, 0
		for i := range third {
			first, last = max(first, one.size(all[i])), max(last, one.size(all[len(all)-1-i]))
		}
		if last > first+one.slack {
			t.Errorf("%s: %d in the first third of the rounds, %d in the last", what, first, last)
		}
	}
}
