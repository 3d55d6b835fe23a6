package main

import (
	"bytes"
	"context"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/kmsg"
	"sandbox-checker/test/faults"
)

// rooted is the file system of a node that lies below a directory, read by the program's own calls.
type rooted struct {
	liveFiles
	root string
}

func (r rooted) in(name string) string {
	root := strings.TrimPrefix(r.root, "/")
	if name == root || strings.HasPrefix(name, root+"/") {
		return name // a socket's path is the machine's own
	}
	return root + "/" + name
}

func (r rooted) Open(name string) (fs.File, error)          { return r.liveFiles.Open(r.in(name)) }
func (r rooted) Stat(name string) (fs.FileInfo, error)      { return r.liveFiles.Stat(r.in(name)) }
func (r rooted) Lstat(name string) (fs.FileInfo, error)     { return r.liveFiles.Lstat(r.in(name)) }
func (r rooted) ReadLink(name string) (string, error)       { return r.liveFiles.ReadLink(r.in(name)) }
func (r rooted) ReadDir(name string) ([]fs.DirEntry, error) { return r.liveFiles.ReadDir(r.in(name)) }
func (r rooted) ReadFile(name string) ([]byte, error)       { return readAll(r.Open(name)) }

func readAll(f fs.File, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var b bytes.Buffer
	_, err = b.ReadFrom(f)
	return b.Bytes(), err
}

// answer is what NPD gets of one run, and how long it took.
type answer struct {
	exit         int
	line, stderr string
	took         time.Duration
}

// lookAt runs a check on a node that lies below a directory, with the runtime at its socket.
func lookAt(t *testing.T, n *faults.Node, socket, stateDir, check string, timeout time.Duration) answer {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c := &cli{out: &stdout, err: &stderr, env: func(string) string { return "" }}
	c.elsewhere = func(h *plugin.Host) {
		h.Files = rooted{h.Files.(liveFiles), n.Root}
		h.KernelLog = func(ctx context.Context) ([]byte, error) {
			return kmsg.ReadRing(ctx, filepath.Join(n.Root, kmsg.DevicePath))
		}
	}
	start := time.Now()
	exit := c.run([]string{"check", check, "--runtime-endpoint", "unix://" + socket, "--timeout", timeout.String(),
		"--state-dir", stateDir})
	return answer{exit, stdout.String(), stderr.String(), time.Since(start)}
}

// keepsProtocol holds for every answer, whatever is wrong with the node.
func (a answer) keepsProtocol(t *testing.T, timeout time.Duration) {
	t.Helper()
	oneLine(t, a.line)
	if a.exit < 0 || a.exit > 2 || a.stderr != "" {
		t.Errorf("exit %d, stderr %q", a.exit, a.stderr)
	}
	if strings.Contains(a.line, "internal error") {
		t.Errorf("a panic: %s", a.line)
	}
	if a.took > timeout+promptly {
		t.Errorf("took %s with --timeout %s", a.took, timeout)
	}
}

// shortDir is for sockets: the names of t.TempDir are too long for them.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error { // what a test made read-only
			if err == nil && d.IsDir() {
				_ = os.Chmod(p, 0o700)
			}
			return nil
		})
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// leaks runs f and reports the goroutines that it leaves behind.
func leaks(t *testing.T, name string, f func()) {
	t.Helper()
	pprof.Do(t.Context(), pprof.Labels("looks", name), func(context.Context) { f() })
	var left string
	for end := time.Now().Add(promptly); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if left = goroutines(name); left == "" {
			return
		}
	}
	t.Errorf("goroutines left:\n%s", left)
}

// goroutines are those that were started under a label.
func goroutines(name string) string {
	var all bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&all, 1); err != nil {
		return err.Error()
	}
	var out []string
	for one := range strings.SplitSeq(all.String(), "\n\n") {
		if strings.Contains(one, `"looks":"`+name+`"`) && !strings.Contains(one, "goroutines(") {
			out = append(out, one)
		}
	}
	return strings.Join(out, "\n\n")
}

const (
	// enough is a timeout that is not reached by what does not hang.
	enough = 20 * time.Second
	// short is one for what hangs.
	short = 300 * time.Millisecond
)

// TestBases: without a fault each check says of each node what is true.
func TestBases(t *testing.T) {
	t.Parallel()
	for _, b := range faults.Bases {
		t.Run(b.String(), func(t *testing.T) {
			t.Parallel()
			n := faults.NewNode(t, shortDir(t), b)
			s := n.Serve(t, faults.ServerFault{})
			for _, check := range faults.Checks {
				got := lookAt(t, n, s.Path, n.StateDir(), check, enough)
				got.keepsProtocol(t, enough)
				if want := b.Exit(check); got.exit != want {
					t.Errorf("%s: exit %d, want %d\n%s", check, got.exit, want, got.line)
				}
			}
		})
	}
}

// TestServerFaults: each way of a runtime to misbehave, met by each check on a healthy node and on one with sick pods.
func TestServerFaults(t *testing.T) {
	t.Parallel()
	nodes := map[faults.Base]*faults.Node{}
	for _, b := range []faults.Base{faults.Healthy, faults.SickPods} {
		nodes[b] = faults.NewNode(t, shortDir(t), b)
	}
	t.Run("all", func(t *testing.T) {
		for _, f := range faults.ServerFaults() {
			t.Run(f.Name, func(t *testing.T) {
				t.Parallel()
				var looks []func()
				for _, n := range nodes {
					for _, check := range faults.Checks {
						dir := shortDir(t)
						s := n.ServeIn(t, dir, f)
						looks = append(looks, func() { serverFault(t, f, n, s, dir, check) })
					}
				}
				leaks(t, t.Name(), func() {
					var wg sync.WaitGroup // most of them wait for a deadline
					for _, look := range looks {
						wg.Go(look)
					}
					wg.Wait()
				})
			})
		}
	})
}

func serverFault(t *testing.T, f faults.ServerFault, n *faults.Node, s *faults.Server, dir, check string) {
	t.Helper()
	timeout := enough
	if f.Hangs {
		timeout = short
	}
	got := lookAt(t, n, s.Path, dir, check, timeout)
	got.keepsProtocol(t, timeout)
	if !f.Met(s.Called()) {
		f.Outcome = faults.Harmless
	}
	if want := n.Base.Exit(check); !f.Outcome.Allows(got.exit, want) && (!f.Hangs || got.exit != 2) {
		t.Errorf("%s on a node with %s: exit %d, without the fault %d\n%s", check, n.Base, got.exit, want, got.line)
	}
}

// TestNodeFaults: each thing that can be wrong with a node's files, its kernel log, its state and its clock.
func TestNodeFaults(t *testing.T) {
	t.Parallel()
	pods := []faults.Base{faults.Healthy, faults.SickPods}
	for _, kind := range []struct {
		faults []faults.NodeFault
		bases  []faults.Base
	}{
		{faults.CNIFaults(), []faults.Base{faults.Healthy, faults.SickNetwork}},
		{faults.PodFaults(), pods},
		{faults.KernelLogFaults(), pods},
		{faults.StateFaults(), pods},
		{faults.ClockFaults(), faults.Bases},
	} {
		for _, f := range kind.faults {
			t.Run(f.Name, func(t *testing.T) {
				t.Parallel()
				for _, b := range kind.bases {
					n := faults.NewNode(t, shortDir(t), b)
					s := n.Serve(t, faults.ServerFault{})
					f.Apply(t, n)
					leaks(t, t.Name(), func() { nodeFault(t, f, n, s.Path) })
				}
			})
		}
	}
}

func nodeFault(t *testing.T, f faults.NodeFault, n *faults.Node, socket string) {
	t.Helper()
	b := n.Base
	for _, check := range faults.Checks {
		got := lookAt(t, n, socket, n.StateDir(), check, enough)
		got.keepsProtocol(t, enough)
		want, other := f.Exits[check]
		switch {
		case f.Races && got.exit == 2:
		case b == faults.Healthy && other && got.exit != want:
			t.Errorf("%s: exit %d, want %d\n%s", check, got.exit, want, got.line)
		case b == faults.Healthy && !other && got.exit != 0:
			t.Errorf("%s: exit %d on a healthy node\n%s", check, got.exit, got.line)
		case got.exit == 1 && b.Exit(check) == 0:
			t.Errorf("%s: exit 1 on a node with %s\n%s", check, b, got.line)
		case got.exit == 0 && b.Exit(check) == 1 && !f.Hides:
			t.Errorf("%s: exit 0 on a node with %s\n%s", check, b, got.line)
		}
	}
}

var (
	seeds     = flag.Int("faults", 100, "how many random combinations of faults TestCombinations tries")
	firstSeed = flag.Uint64("faults-seed", 1, "the first of them")
)

// TestCombinations: faults of all kinds at once. No wrong exit 1, no missed deadline, no second line, nothing left.
// A seed that fails is tried again by -faults 1 -faults-seed SEED.
func TestCombinations(t *testing.T) { // not in parallel: it counts what is open
	before := openFiles(t)
	t.Run("seeds", func(t *testing.T) {
		busy := make(chan struct{}, 8)
		var wg sync.WaitGroup
		for i := range *seeds {
			busy <- struct{}{}
			wg.Go(func() {
				defer func() { <-busy }()
				combination(t, faults.Combine(*firstSeed+uint64(i)))
			})
		}
		wg.Wait()
	})
	if after := openFiles(t); after > before {
		t.Errorf("%d files are open, and %d were before", after, before)
	}
}

func combination(t *testing.T, c faults.Combination) {
	t.Run(c.String(), func(t *testing.T) {
		n, s := c.Make(t, shortDir(t))
		var got answer
		leaks(t, t.Name(), func() { got = lookAt(t, n, s.Path, n.StateDir(), c.Check, short) })
		got.keepsProtocol(t, short)
		if !c.Allows(got.exit) {
			t.Errorf("exit %d\n%s", got.exit, got.line)
		}
		t.Logf("exit %d: %s", got.exit, got.line)
	})
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
