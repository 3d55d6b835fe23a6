package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sandbox-checker/test/faults"
)

// program is a run of the program as a process of its own, after a shell has run setup.
func program(t *testing.T, setup string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/bin/sh", append([]string{"-c", setup + ` exec "$0" "$@"`, self}, args...)...)
	cmd.Env = []string{asProgram + "=1"}
	return cmd
}

// ended is how a process ended: its exit status, or -1 and a signal.
func ended(t *testing.T, cmd *exec.Cmd, err error) (int, syscall.Signal) {
	t.Helper()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(exit, err)
	}
	st, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok {
		t.Fatal("no wait status")
	}
	if st.Signaled() {
		return -1, st.Signal()
	}
	return st.ExitStatus(), 0
}

// TestFullDisk: a line that was not written is no answer, whatever it said.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	for _, check := range []string{"stale-created", "cni-config"} { // a problem and none
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		cmd := program(t, "", "check", check, "--node", sick)
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = full, &stderr
		exit, sig := ended(t, cmd, cmd.Run())
		_ = full.Close()
		if exit != 2 || sig != 0 || stderr.String() != "sandbox-checker: write result: write /dev/stdout: no space left on device\n" {
			t.Errorf("%s: exit %d %v, stderr %q", check, exit, sig, stderr.String())
		}
	}
}

// TestStatusAlone: whoever throws the line away, or closes stdout, gets the exit status of whoever reads it. NPD does neither.
func TestStatusAlone(t *testing.T) {
	t.Parallel()
	for _, setup := range []string{"", "exec >/dev/null;", "exec >&-;", "exec >&- 2>&-;"} {
		for check, want := range map[string]int{"cni-config": 0, "stale-created": 1, "no-such-check": 2} {
			cmd := program(t, setup, "check", check, "--node", sick)
			out, err := cmd.Output()
			if exit, sig := ended(t, cmd, err); exit != want || sig != 0 {
				t.Errorf("%s %s: exit %d %v, want %d", setup, check, exit, sig, want)
			}
			if (len(out) > 0) != (setup == "") {
				t.Errorf("%s %s: %q", setup, check, out)
			}
		}
	}
}

// TestNobodyReads: whoever has closed the other end of stdout gets no exit status that means something.
func TestNobodyReads(t *testing.T) {
	t.Parallel()
	for _, check := range []string{"stale-created", "cni-config"} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Close()
		cmd := program(t, "", "check", check, "--node", sick)
		cmd.Stdout = w
		exit, sig := ended(t, cmd, cmd.Run())
		_ = w.Close()
		if exit != 2 && sig != syscall.SIGPIPE {
			t.Errorf("%s: exit %d %v, want 2 or SIGPIPE", check, exit, sig)
		}
	}
}

// TestClosedStreams: a file that the program opens must not become its stdout, where the line would go.
func TestClosedStreams(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	for _, setup := range []string{"exec >&-;", "exec <&-;", "exec 2>&-;", "exec <&- >&- 2>&-;"} {
		cmd := program(t, setup, "check", "sandbox-crashloop", "-r", filepath.Join(dir, "x.sock"), "--state-dir", filepath.Join(dir, "state"))
		out, err := cmd.Output()
		if exit, sig := ended(t, cmd, err); exit != 2 || sig != 0 {
			t.Errorf("%s exit %d %v", setup, exit, sig)
		}
		if !strings.Contains(setup, ">&-;") || setup == "exec 2>&-;" {
			oneLine(t, string(out))
		}
		for _, name := range []string{"lock", "state.json"} {
			if raw, err := os.ReadFile(filepath.Join(dir, "state", name)); err == nil && bytes.Contains(raw, []byte("could not look")) {
				t.Errorf("%s the line is in %s", setup, name)
			}
		}
	}
}

// TestTerminated: SIGTERM ends the program at once, and not with an exit status that means something.
func TestTerminated(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGKILL} {
		n := faults.NewNode(t, shortDir(t), faults.Healthy)
		s := n.Serve(t, named(t, "hangs before the answer"))
		cmd := program(t, "", "check", "stale-created", "-r", s.Path, "--timeout", "1m", "--state-dir", n.StateDir())
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(enough); len(s.Called()) == 0 && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		}
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if exit, by := ended(t, cmd, cmd.Wait()); exit != 2 && by != sig {
			t.Errorf("%v: exit %d %v", sig, exit, by)
		}
	}
}

// named is the server fault of that name.
func named(t *testing.T, name string) faults.ServerFault {
	t.Helper()
	for _, f := range faults.ServerFaults() {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("no fault %q", name)
	return faults.ServerFault{}
}

// TestFewFileDescriptors: where none is left the program says so in one line. The one gap that is left: with 6 or 7 protobuf's
// own initialisation opens the program's file, and Go's runtime ends the process before main; that is exit 2 without a line.
// With enough of them the program says what it says without a limit, which may be anything: the second command asks this machine.
func TestFewFileDescriptors(t *testing.T) {
	t.Parallel()
	n := faults.NewNode(t, shortDir(t), faults.Healthy)
	s := n.Serve(t, faults.ServerFault{})
	for _, args := range [][]string{
		{"check", "stale-created", "-r", s.Path, "--state-dir", n.StateDir()},
		{"check", "cni-config"}, // which looks for a socket
		{"check", "stale-created", "--node", sick},
	} {
		all := program(t, "", args...)
		unlimited, _ := ended(t, all, all.Run())
		for limit := 3; limit <= 16; limit++ {
			cmd := program(t, "ulimit -n "+strconv.Itoa(limit)+";", args...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			exit, sig := ended(t, cmd, err)
			if exit == 2 && strings.Contains(stderr.String(), "protobuf/internal/detrand.init") ||
				exit == 127 && strings.Contains(stderr.String(), "loading shared libraries") { // this test built with cgo: not ours yet
				continue
			}
			if sig != 0 || exit != unlimited && exit != 2 || stderr.Len() > 0 {
				t.Errorf("limit %d, %v: exit %d %v, stderr %.300s", limit, args, exit, sig, stderr.String())
			}
			oneLine(t, string(out))
		}
	}
}

// TestBlockedStdout: a reader that does not read holds nobody beyond the deadline.
func TestBlockedStdout(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	fill := make(chan error, 1)
	go func() {
		_ = w.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
		_, err := io.Copy(w, zeros{})
		fill <- err
	}()
	if err := <-fill; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err) // the pipe is not full
	}
	cmd := program(t, "", "check", "stale-created", "--node", sick, "--timeout", "300ms")
	cmd.Stdout = w
	start := time.Now()
	exit, sig := ended(t, cmd, cmd.Run())
	_ = w.Close()
	if took := time.Since(start); exit != 2 || sig != 0 || took > enough {
		t.Errorf("exit %d %v in %s", exit, sig, took)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestGRPCKeepsQuiet: standard error is empty even where the environment tells grpc to log all it does.
func TestGRPCKeepsQuiet(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"": 0, "hangs up after accept": 2} {
		f := faults.ServerFault{}
		if name != "" {
			f = named(t, name)
		}
		n := faults.NewNode(t, shortDir(t), faults.Healthy)
		s := n.Serve(t, f)
		cmd := program(t, "export GRPC_GO_LOG_SEVERITY_LEVEL=info GRPC_GO_LOG_VERBOSITY_LEVEL=99;",
			"check", "stale-created", "-r", s.Path, "--state-dir", n.StateDir())
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if exit, sig := ended(t, cmd, err); exit != want || sig != 0 || stderr.Len() > 0 {
			t.Errorf("%q: exit %d %v, stderr %.300s", name, exit, sig, stderr.String())
		}
		oneLine(t, string(out))
	}
}
