package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sandbox-checker/plugin"
)

// promptly ends a test that hangs: the process must end by its own deadline, whatever the machine is busy with.
const promptly = 5 * time.Second

func TestWithin(t *testing.T) {
	t.Parallel()
	want := plugin.Verdict{Status: plugin.Problem, Line: "default/never: never started"}
	if got := within(promptly, func(context.Context, *step) plugin.Verdict { return want }); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}

	block := make(chan struct{})
	t.Cleanup(func() { close(block) })
	for says, look := range map[string]func(context.Context, *step) plugin.Verdict{
		"could not look: reading /mnt/nfs/x hung for 50ms": func(_ context.Context, at *step) plugin.Verdict {
			at.set("listing /etc")
			at.set("reading /mnt/nfs/x")
			<-block
			return plugin.Verdict{}
		},
		"could not look: start hung for 50ms": func(context.Context, *step) plugin.Verdict {
			<-block
			return plugin.Verdict{}
		},
	} {
		start := time.Now()
		got := within(50*time.Millisecond, look)
		if got.Status != plugin.Unknown || got.Line != says {
			t.Errorf("%+v, want %s", got, says)
		}
		if d := time.Since(start); d < 50*time.Millisecond || d > promptly {
			t.Errorf("took %s", d)
		}
	}
}

// The calls get less time than the process, so that they can tell their cause themselves.
func TestWithinGivesTheCallsLess(t *testing.T) {
	t.Parallel()
	got := within(2*time.Second, func(ctx context.Context, _ *step) plugin.Verdict {
		end, ok := ctx.Deadline()
		if left := time.Until(end); !ok || left > 1900*time.Millisecond {
			t.Errorf("the calls have %s of 2s", left)
		}
		return plugin.Verdict{Line: "x"}
	})
	if got.Line != "x" {
		t.Errorf("%+v", got)
	}
}

func TestWithinPanics(t *testing.T) {
	t.Parallel()
	got := within(promptly, func(_ context.Context, at *step) plugin.Verdict {
		at.set("reading /x")
		panic("50% of\nit")
	})
	if got.Status != plugin.Unknown || got.Line != "could not look: internal error while reading /x: 50? of it" {
		t.Errorf("%+v", got)
	}
}

func TestBefore(t *testing.T) {
	t.Parallel()
	if got, err := before(promptly, func(context.Context, *step) (int, error) { return 7, nil }); got != 7 || err != nil {
		t.Errorf("%d, %v", got, err)
	}
	cause := errors.New("no such file or directory")
	if _, err := before(promptly, func(context.Context, *step) (int, error) { return 7, cause }); !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
	block := make(chan struct{})
	t.Cleanup(func() { close(block) })
	got, err := before(50*time.Millisecond, func(_ context.Context, at *step) (int, error) {
		at.set("reading /x")
		<-block
		return 7, nil
	})
	if got != 0 || err == nil || !strings.Contains(err.Error(), "reading /x hung for 50ms") {
		t.Errorf("%d, %v", got, err)
	}
}

func socket(t *testing.T) (net.Listener, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "r.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l, path
}

// The commands as they run on a node whose runtime is missing or hangs.
func TestCheckLive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, hung := socket(t)
	dead, refusing := socket(t)
	dead.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = dead.Close()
	for endpoint, says := range map[string]string{
		filepath.Join(dir, "absent.sock"): "no such file or directory",
		dir:                               "not a socket",
		refusing:                          "connection refused",
		"unix://" + hung:                  "ListContainers at " + hung, // whoever ends it, the line says what hung
	} {
		start := time.Now()
		exit, out, stderr := run(t, "check", "stale-created", "--runtime-endpoint", endpoint, "--timeout", "500ms", "--state-dir", dir)
		line := oneLine(t, out)
		if exit != 2 || stderr != "" || !strings.HasPrefix(line, "could not look: ") || !strings.Contains(line, says) {
			t.Errorf("%s: exit %d, stderr %q, want ...%s...\n%s", endpoint, exit, stderr, says, line)
		}
		if d := time.Since(start); d > promptly {
			t.Errorf("%s: took %s", endpoint, d)
		}
	}
}

func TestEndpointFromEnvironment(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := func(key string) string {
		if key == "CONTAINER_RUNTIME_ENDPOINT" {
			return "unix://" + dir + "/from-env.sock"
		}
		return ""
	}
	for args, says := range map[string]string{"": "/from-env.sock: ", " -r " + dir + "/from-flag.sock": "/from-flag.sock: "} {
		var out bytes.Buffer
		c := &cli{out: &out, err: io.Discard, env: env}
		if exit := c.run(strings.Fields("check stale-created --state-dir " + dir + args)); exit != 2 || !strings.Contains(out.String(), says) {
			t.Errorf("%q: exit %d\n%s", args, exit, out.String())
		}
	}
}

func TestLogLevel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	exit, out, stderr := run(t, "check", "stale-created", "-r", filepath.Join(dir, "x.sock"), "--log-level", "debug", "--state-dir", dir)
	if exit != 2 {
		t.Errorf("exit %d", exit)
	}
	oneLine(t, out) // whatever goes to stderr, stdout stays one line
	if stderr != "" && !strings.Contains(stderr, "level=") {
		t.Errorf("stderr %q", stderr)
	}
}

// Each call says what it does before it does it: that is what the line names when it hangs.
func TestLiveFilesSayWhatTheyDo(t *testing.T) {
	t.Parallel()
	var said []string
	files := liveFiles{func(what string) { said = append(said, what) }}
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("fifo", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(dir, "/")
	// Nobody writes to the FIFO: the test ends only if opening does not wait.
	f, err := files.Open(name + "/fifo")
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	if _, err := files.Stat(name + "/link"); err != nil {
		t.Error(err)
	}
	if st, err := files.Lstat(name + "/link"); err != nil || st.Mode().Type() != os.ModeSymlink {
		t.Error(st, err)
	}
	if target, err := files.ReadLink(name + "/link"); err != nil || target != "fifo" {
		t.Error(target, err)
	}
	if es, err := files.ReadDir(name); err != nil || len(es) != 2 {
		t.Error(es, err)
	}
	if _, err := files.ReadDir("."); err != nil {
		t.Error(err)
	}
	want := fmt.Sprintf("[reading %[1]s/fifo looking at %[1]s/link looking at %[1]s/link looking at %[1]s/link listing %[1]s listing /]", dir)
	if got := fmt.Sprint(said); got != want {
		t.Errorf("said %s\nwant %s", got, want)
	}
}

func TestConnect(t *testing.T) {
	t.Parallel()
	_, path := socket(t)
	var said []string
	doing := func(what string) { said = append(said, what) }
	if err := connect(t.Context(), path, doing); err != nil {
		t.Error(err)
	}
	err := connect(t.Context(), path+".absent", doing)
	if !errors.Is(err, syscall.ENOENT) || err.Error() != "no such file or directory" {
		t.Error(err)
	}
	if fmt.Sprint(said) != fmt.Sprintf("[connecting to %[1]s connecting to %[1]s.absent]", path) {
		t.Errorf("said %v", said)
	}
	h := liveHost(t.Context(), &settings{endpoint: path, log: slog.New(slog.DiscardHandler)}, &step{})
	if h.Runtime == nil || h.Runtime.Socket() != path || h.Now.IsZero() {
		t.Errorf("%+v", h)
	}
}
