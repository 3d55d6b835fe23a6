// Package cost runs programs and tells what each took.
package cost

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Cost is what one process, or several in turn, took.
//
// A program's peak begins with that of the process that started it, so the one that calls Run must be small: see launch.
type Cost struct {
	CPU  time.Duration // user and system
	Wall time.Duration
	Peak int64 // bytes, of the largest process
	Read int64 // bytes that read calls gave: files, sockets, devices
	// Forked says that a process had children. It is seen by their page faults, which the kernel adds to the parent's.
	Forked bool
}

// Plus is the cost of both.
func (c Cost) Plus(o Cost) Cost {
	return Cost{c.CPU + o.CPU, c.Wall + o.Wall, max(c.Peak, o.Peak), c.Read + o.Read, c.Forked || o.Forked}
}

// A Command is a program and its arguments. Its standard output is read and thrown away.
type Command []string

// Run runs a command to its end. Any exit status but 0 is an error.
func Run(c Command) (Cost, error) {
	cmd := exec.Command(c[0], c[1:]...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	var complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.Discard, &complaint
	var line bytes.Buffer
	cmd.Stdout = &firstBytes{to: &line}
	started := time.Now()
	if err := cmd.Start(); err != nil {
		return Cost{}, err
	}
	// A process that has ended keeps its counters until it is waited for.
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	wall := time.Since(started)
	read, forked := counters(cmd.Process.Pid)
	if err := cmd.Wait(); err != nil {
		return Cost{}, fmt.Errorf("%s: %w: %s%s", strings.Join(c, " "), err, line.String(), complaint.String())
	}
	u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return Cost{}, errors.New("no resource usage")
	}
	return Cost{time.Duration(u.Utime.Nano() + u.Stime.Nano()), wall, u.Maxrss << 10, read, forked}, nil
}

// firstBytes keeps enough of an output to say what went wrong.
type firstBytes struct{ to *bytes.Buffer }

func (f *firstBytes) Write(p []byte) (int, error) {
	f.to.Write(p[:min(len(p), max(0, 300-f.to.Len()))])
	return len(p), nil
}

// counters reads rchar of /proc/PID/io, and whether cminflt of /proc/PID/stat is more than 0.
func counters(pid int) (read int64, forked bool) {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if rest, ok := strings.CutPrefix(string(raw), "rchar: "); ok {
		number, _, _ := strings.Cut(rest, "\n")
		read, _ = strconv.ParseInt(number, 10, 64)
	}
	raw, _ = os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(raw), ") ")
	if fields := strings.Fields(rest); len(fields) > 8 {
		forked = fields[8] != "0"
	}
	return read, forked
}

// RunAll runs commands one after the other.
func RunAll(cmds []Command) (Cost, error) {
	var all Cost
	for _, c := range cmds {
		one, err := Run(c)
		if err != nil {
			return all, err
		}
		all = all.Plus(one)
	}
	return all, nil
}

// Answer is what launch writes for each line that it reads.
type Answer struct {
	Cost Cost
	Err  string
}
