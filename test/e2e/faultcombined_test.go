package e2e

import (
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sandbox-checker/test/faults"
)

var (
	combinations = flag.Int("faults", 1000, "how many random combinations of faults TestFaultCombinations tries")
	firstSeed    = flag.Uint64("faults-seed", 1, "the first of them")
)

// atTheLatest is what a run may take: its own deadline, and what a busy machine needs to start a process.
const atTheLatest = 10 * time.Second

// TestFaultCombinations: the program itself, confined to nodes on which everything may be wrong at once: the runtime, the files,
// the kernel log, the state and the clock. There is no wrong exit 1, no missed deadline, no second line and no file left.
// A seed that fails is tried again by -faults 1 -faults-seed SEED.
func TestFaultCombinations(t *testing.T) {
	program := built(t, buildChecker)
	var mu sync.Mutex
	exits, tried := map[int]int{}, 0
	busy := make(chan struct{}, 6) // many of them wait for a deadline
	var wg sync.WaitGroup
	for i := range *combinations {
		busy <- struct{}{}
		wg.Go(func() {
			defer func() { <-busy }()
			exit, ran := faultCombination(t, program, faults.Combine(*firstSeed+uint64(i)))
			if !ran {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			exits[exit]++
			tried++
		})
	}
	wg.Wait()
	t.Logf("exit statuses of %d combinations: %v", tried, exits)
	if tried >= 1000 && (exits[0] == 0 || exits[1] == 0 || exits[2] == 0) {
		t.Error("an exit status never came up: the combinations prove little")
	}
}

// faultCombination tries one. It is not run where -run asks for other names, and not to its end where the node could not be made.
func faultCombination(t *testing.T, program string, c faults.Combination) (exit int, ran bool) {
	t.Run(c.String(), func(t *testing.T) {
		root := confinement(t, program)
		c.Make(t, root)
		got := askWith(t, confined(root, "check", c.Check, "--runtime-endpoint", "unix://"+faults.Socket, "--timeout", "500ms"))
		got.keepsProtocol(t)
		if !c.Allows(got.exit) || strings.Contains(got.line, "internal error") {
			t.Errorf("exit %d: %s", got.exit, got.line)
		}
		if got.took > atTheLatest {
			t.Errorf("took %s", got.took)
		}
		mustLeaveNothing(t, root)
		exit, ran = got.exit, true
	})
	return exit, ran
}

// confinement is the root directory of a node, with the program in it.
func confinement(t *testing.T, program string) string {
	t.Helper()
	root := socketDir(t)
	if err := os.Link(program, filepath.Join(root, "sandbox-checker")); err != nil {
		t.Fatal(err)
	}
	return root
}

// confined is a run of the program that sees root as its own.
func confined(root string, args ...string) *exec.Cmd {
	return &exec.Cmd{Path: "/sandbox-checker", Args: append([]string{"sandbox-checker"}, args...), Dir: "/",
		SysProcAttr: &syscall.SysProcAttr{Chroot: root}}
}

// mustLeaveNothing: no temporary file outlives a run.
func mustLeaveNothing(t *testing.T, root string) {
	t.Helper()
	_ = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error { // what comes and goes is no matter
		name := filepath.Base(p)
		if err == nil && d.Type().IsRegular() && (name == "state.json.new" || strings.HasPrefix(name, ".sandbox-checker-")) {
			t.Errorf("left behind: %s", p)
		}
		return nil
	})
}
