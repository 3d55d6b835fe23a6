package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"time"

	"sandbox-checker/test/e2e/bench/cost"
)

// A launcher is the small process that starts what is measured.
type launcher struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
}

func newLauncher(path string) (*launcher, error) {
	cmd := exec.Command(path)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &launcher{cmd, in, json.NewDecoder(out)}, cmd.Start()
}

// run runs commands one after the other.
func (l *launcher) run(cmds []cost.Command) (cost.Cost, error) {
	if err := json.NewEncoder(l.in).Encode(cmds); err != nil {
		return cost.Cost{}, fmt.Errorf("launcher: %w", err)
	}
	var ans cost.Answer
	if err := l.out.Decode(&ans); err != nil {
		return cost.Cost{}, fmt.Errorf("launcher: %w", err)
	}
	if ans.Err != "" {
		return cost.Cost{}, errors.New(ans.Err)
	}
	return ans.Cost, nil
}

func (l *launcher) end() error {
	if err := l.in.Close(); err != nil {
		return err
	}
	return l.cmd.Wait()
}

// inTurn runs every set of commands n times, A B C A B C, so that what else the machine does hits all alike. One round more
// comes first and is not counted. It returns the costs of each set.
func (l *launcher) inTurn(n int, sets ...[]cost.Command) ([]Sample, error) {
	out := make([]Sample, len(sets))
	for round := range n + 1 {
		for i, set := range sets {
			c, err := l.run(set)
			if err != nil {
				return nil, err
			}
			if round > 0 {
				out[i] = append(out[i], c)
			}
		}
	}
	return out, nil
}

// Sample is the costs of several runs.
type Sample []cost.Cost

// Median is of each figure by itself. Peak is the largest of all.
func (s Sample) Median() cost.Cost {
	return cost.Cost{
		CPU:    median(s, func(c cost.Cost) time.Duration { return c.CPU }),
		Wall:   median(s, func(c cost.Cost) time.Duration { return c.Wall }),
		Peak:   slices.MaxFunc(s, func(a, b cost.Cost) int { return int(a.Peak - b.Peak) }).Peak,
		Read:   median(s, func(c cost.Cost) int64 { return c.Read }),
		Forked: slices.ContainsFunc(s, func(c cost.Cost) bool { return c.Forked }),
	}
}

// Quartiles of the CPU say how noisy the machine was.
func (s Sample) Quartiles() (low, high time.Duration) {
	all := s.sortedCPU()
	return all[len(all)/4], all[len(all)*3/4]
}

func (s Sample) sortedCPU() []time.Duration {
	var all []time.Duration
	for _, c := range s {
		all = append(all, c.CPU)
	}
	slices.Sort(all)
	return all
}

func median[T int64 | time.Duration](s Sample, of func(cost.Cost) T) T {
	var all []T
	for _, c := range s {
		all = append(all, of(c))
	}
	slices.Sort(all)
	return all[len(all)/2]
}
