package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"sandbox-checker/test/e2e/bench/cost"
)

// Programs are the paths of what is compared.
type Programs struct {
	Checker, Floor, Crictl, Launch string
}

// copied gives copies in dir. How a file was written decides in which pieces it lies in memory, and what it costs to start
// it: a program that the linker has just written takes a fifth longer than its copy.
func (p Programs) copied(dir string) (Programs, error) {
	for _, path := range []*string{&p.Checker, &p.Floor, &p.Crictl, &p.Launch} {
		raw, err := os.ReadFile(*path)
		if err != nil {
			return p, err
		}
		*path = filepath.Join(dir, filepath.Base(*path))
		if err := os.WriteFile(*path, raw, 0o700); err != nil {
			return p, err
		}
	}
	return p, nil
}

// Checks are the names that config/*.json run, each as a process of its own.
var Checks = []string{"stale-created", "sandbox-crashloop", "sandbox-oom", "cni-config"}

// A Case is one runtime with its pods.
type Case struct {
	Name             string
	Socket           string
	Pods, Containers int
	// Budget is the most that the four checks may cost of the pipeline's CPU. With 0 neither that nor the floor counts: such a
	// case is for memory and for the cost of one more container.
	Budget float64
	// Flags are added to each check.
	Flags []string
}

// CheckResult is one check beside the floor of the calls it makes. Where it reads the kernel's log, so does the floor, and
// FloorOfCRI does not.
type CheckResult struct {
	Name         string
	Calls        Calls
	Check, Floor Sample
	FloorOfCRI   Sample
	withLog      bool
}

// Result is what a case gave.
type Result struct {
	Case     Case
	Checks   []CheckResult
	Pipeline Sample
	Piped    Calls // of the pipeline
}

// Measure counts the calls of each command once, through a proxy in dir, and then runs all commands in turn, n times.
func (c Case) Measure(p Programs, dir string, n int) (r Result, err error) {
	r.Case = c
	proxied := filepath.Join(dir, "count.sock")
	proxy, err := NewProxy(proxied, c.Socket)
	if err != nil {
		return r, err
	}
	defer proxy.Stop()
	p, err = p.copied(dir)
	if err != nil {
		return r, err
	}
	l, err := newLauncher(p.Launch)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, l.end()) }()
	check := func(name, socket string) cost.Command {
		return append(cost.Command{p.Checker, "check", name, "-r", "unix://" + socket, "--state-dir", filepath.Join(dir, "state")}, c.Flags...)
	}
	var sets [][]cost.Command
	for _, name := range Checks {
		if _, err := l.run([]cost.Command{check(name, proxied)}); err != nil {
			return r, err
		}
		one := CheckResult{Name: name, Calls: proxy.Take(), withLog: name == "sandbox-oom"}
		r.Checks = append(r.Checks, one)
		floor := append(cost.Command{p.Floor, c.Socket}, one.Calls.Names...)
		sets = append(sets, []cost.Command{check(name, c.Socket)}, []cost.Command{floor})
		if one.withLog {
			sets = append(sets, []cost.Command{append(slices.Clone(floor), "/dev/kmsg")})
		}
	}
	if _, err := l.run(pipeline(p.Crictl, proxied)); err != nil {
		return r, err
	}
	r.Piped = proxy.Take()
	samples, err := l.inTurn(n, append(sets, pipeline(p.Crictl, c.Socket))...)
	if err != nil {
		return r, err
	}
	for i := range r.Checks {
		one := &r.Checks[i]
		one.Check, one.Floor, samples = samples[0], samples[1], samples[2:]
		if one.withLog {
			one.FloorOfCRI, one.Floor, samples = one.Floor, samples[0], samples[1:]
		}
	}
	r.Pipeline = samples[0]
	return r, nil
}

// pipeline is what people write in a shell script instead.
func pipeline(crictl, socket string) []cost.Command {
	at := cost.Command{crictl, "-r", "unix://" + socket, "-i", "unix://" + socket}
	ask := func(args ...string) cost.Command { return append(slices.Clone(at), args...) }
	return []cost.Command{ask("pods", "-o", "json"), ask("ps", "-a", "-o", "json"), ask("info"), {"dmesg"}}
}

// Round is the four checks together, run by run.
func (r Result) Round() Sample {
	out := make(Sample, len(r.Checks[0].Check))
	for _, c := range r.Checks {
		for i, one := range c.Check {
			out[i] = out[i].Plus(one)
		}
	}
	return out
}

// Ratio is of the medians of the CPU.
func Ratio(a, b Sample) float64 {
	return float64(a.Median().CPU) / float64(b.Median().CPU)
}

// The other budgets.
const (
	maxOfFloor = 1.15
	maxPeak    = 25 << 20
)

// Missed names the budgets that a case did not keep.
func (r Result) Missed() []string {
	var out []string
	miss := func(format string, args ...any) { out = append(out, r.Case.Name+": "+fmt.Sprintf(format, args...)) }
	for _, c := range r.Checks {
		if q := Ratio(c.Check, c.Floor); r.Case.Budget > 0 && q > maxOfFloor {
			miss("%s takes %.2f of its floor's CPU, the budget is %.2f", c.Name, q, maxOfFloor)
		}
		m := c.Check.Median()
		if m.Peak > maxPeak {
			miss("%s takes %d MiB, the budget is %d", c.Name, m.Peak>>20, maxPeak>>20)
		}
		if m.Forked {
			miss("%s forks", c.Name)
		}
	}
	if q := Ratio(r.Round(), r.Pipeline); r.Case.Budget > 0 && q > r.Case.Budget {
		miss("the four checks take %.2f of the pipeline's CPU, the budget is %.2f", q, r.Case.Budget)
	}
	return out
}

// PerContainer is what one more container costs a round of the four checks, between a smaller case and a larger one.
func PerContainer(small, large Result) time.Duration {
	more := large.Round().Median().CPU - small.Round().Median().CPU
	return more / time.Duration(large.Case.Containers-small.Case.Containers)
}
