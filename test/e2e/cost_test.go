package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sandbox-checker/test/e2e/bench"
)

var (
	withCost = flag.Bool("cost", false, "TestCost: measure all that the README's table has, and fail when a budget is missed")
	atLarge  = flag.Bool("cost-large", false, "TestCost with -cost: 500 pods on containerd too, which takes 5 to 15 minutes to start")
	costRuns = flag.Int("cost-runs", 20, "TestCost: how often each command is run")
)

var (
	buildFloor  = builtOnce(program{name: "floor", module: ".", pkg: "./bench/floor"})
	buildLaunch = builtOnce(program{name: "launch", module: ".", pkg: "./bench/launch"})
)

// TestCost without -cost is a trial of the measuring: few pods, two runs and no budget.
func TestCost(t *testing.T) {
	programs := bench.Programs{Checker: built(t, buildChecker), Floor: built(t, buildFloor), Crictl: built(t, buildCrictl), Launch: built(t, buildLaunch)}
	runs, real := 2, []crowd{{pods: 2, containers: 4}}
	larger := []crowd{{pods: 10, containers: 30}}
	if *withCost {
		runs, real = *costRuns, []crowd{{pods: 110, containers: 220, budget: 0.4}}
		if *atLarge {
			real = append(real, crowd{pods: 500, containers: 1500, budget: 0.3})
		}
		larger = []crowd{{pods: 110, containers: 220, budget: 0.4}, {pods: 500, containers: 1500, budget: 0.3}, {pods: 3300, containers: 10_000}}
	}
	n := newNode(t, containerd2, "cost")
	var table strings.Builder
	var missed []string
	measure := func(c bench.Case, binds map[string]string, runs int) bench.Result {
		var r bench.Result
		// Old stories in the kernel's log are read all the same: the window only says that none is recent.
		c.Flags = []string{"--oom-window", "0s"}
		dir := filepath.Join(n.dir, fmt.Sprint("m", table.Len()))
		mkdirAll(t, dir)
		err := bench.Inside(binds, func() (err error) {
			r, err = c.Measure(programs, dir, runs)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		r.Rows(&table)
		missed = append(missed, r.Missed()...)
		return r
	}
	var there crowd
	for _, c := range real {
		started := time.Now()
		n.fill(t, there, c)
		there = c
		t.Logf("%d pods and %d containers are up in %s", c.pods, c.containers, time.Since(started).Round(time.Second))
		measure(bench.Case{Name: c.String() + ", containerd", Socket: n.socket, Budget: c.budget}, n.crowdBinds(), runs)
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	answers, err := bench.Ask(ctx, n.socket)
	if err != nil {
		t.Fatal(err)
	}
	var results []bench.Result
	for _, c := range larger {
		dir := filepath.Join(n.dir, fmt.Sprint("s", c.containers))
		more := answers.Multiplied(c.pods, c.containers)
		binds := map[string]string{"/sys/fs/cgroup/memory": filepath.Join(dir, "cgroup"), filepath.Dir(podLogs): filepath.Join(dir, "log")}
		for _, d := range binds {
			mkdirAll(t, d)
		}
		if err := more.LikeKubelet(binds["/sys/fs/cgroup/memory"], filepath.Join(dir, "log", filepath.Base(podLogs))); err != nil {
			t.Fatal(err)
		}
		socket := filepath.Join(dir, "cri.sock")
		stop, err := more.Serve(socket)
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, measure(bench.Case{Name: c.String() + ", replayed", Socket: socket, Pods: c.pods, Containers: c.containers,
			Budget: c.budget}, binds, runs))
		stop()
	}
	fmt.Print(bench.Head + table.String())
	if !*withCost {
		return
	}
	first, then := bench.PerContainer(results[0], results[1]), bench.PerContainer(results[1], results[2])
	fmt.Printf("\none more container costs the four checks %s from 220 to 1,500 and %s from there to 10,000\n", first, then)
	if then > first*3/2 {
		missed = append(missed, "the cost per container grows with their number")
	}
	for _, m := range missed {
		t.Error(m)
	}
}

// A crowd is many pods that are well.
type crowd struct {
	pods, containers int
	budget           float64
}

func (c crowd) String() string { return fmt.Sprintf("%d / %d", c.pods, c.containers) }

// crowdBinds are where a check must look to see the node's crowd.
func (n *node) crowdBinds() map[string]string {
	return map[string]string{"/sys/fs/cgroup/memory": filepath.Join("/sys/fs/cgroup/memory", n.cgroup()), filepath.Dir(podLogs): filepath.Join(n.dir, "log")}
}

// fill starts what is missing to a crowd.
func (n *node) fill(t testing.TB, there, c crowd) {
	t.Helper()
	logs := filepath.Join(n.dir, "log", filepath.Base(podLogs))
	if err := bench.Fill(t.Context(), n.socket, bench.Crowd{First: there.pods, Pods: c.pods - there.pods,
		Containers: c.containers - there.containers, Image: pauseImage,
		CgroupParent: "/" + n.cgroup() + "/kubepods/burstable", Logs: logs}); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(logs); err != nil || len(entries) != c.pods {
		t.Fatalf("%d log directories, %v", len(entries), err)
	}
}
