package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestLeftoversAreRemoved: a run that was killed leaves its half-written file, and the next one takes it away, for install as for
// capture.
func TestLeftoversAreRemoved(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"install", "capture"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for i := range 3 {
				half := filepath.Join(dir, fmt.Sprintf(".sandbox-checker-%d", 1234567+i))
				sure(t, os.WriteFile(half, []byte("half"), 0o600))
				sure(t, os.Chtimes(half, time.Time{}, time.Now().Add(time.Duration(i-1)*time.Hour))) // whatever its date says
			}
			args := []string{"install", dir}
			if command == "capture" {
				args = []string{"capture", "-o", filepath.Join(dir, "sandbox-checker"), "-r", filepath.Join(dir, "none.sock"), "--state-dir", filepath.Join(dir, "state"), "--timeout", "20s"}
			}
			if exit, _, stderr := run(t, args...); exit != 0 {
				t.Errorf("exit %d: %s", exit, stderr)
			}
			only(t, dir, "sandbox-checker")
		})
	}
}

// TestOnlyLeftoversAreRemoved: what has another name, is no regular file, or is being written stays.
func TestOnlyLeftoversAreRemoved(t *testing.T) {
	t.Parallel()
	dir, elsewhere := t.TempDir(), t.TempDir()
	precious := filepath.Join(elsewhere, "precious")
	sure(t, os.WriteFile(precious, []byte("precious"), 0o600))
	for _, name := range []string{".sandbox-checker-", ".sandbox-checker-12x", ".sandbox-checker-x12", ".sandbox-checker", "sandbox-checker-12", ".sandbox-checker-12.conf"} {
		sure(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	sure(t, os.Symlink(precious, filepath.Join(dir, ".sandbox-checker-1")))
	sure(t, os.Mkdir(filepath.Join(dir, ".sandbox-checker-2"), 0o700))
	sure(t, syscall.Mkfifo(filepath.Join(dir, ".sandbox-checker-3"), 0o600))
	before := list(t, dir)
	sure(t, writeAtomically(filepath.Join(dir, "x"), 0o600, func(io.Writer) error { return nil }))
	if after := list(t, dir); after != before+" x" {
		t.Errorf("%s\nwant\n%s x", after, before)
	}
	if raw, err := os.ReadFile(precious); err != nil || string(raw) != "precious" {
		t.Errorf("%q, %v", raw, err)
	}
}

func list(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	sure(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// TestLeftoverOfAKilledInstall: the file that SIGKILL leaves of the program itself.
func TestLeftoverOfAKilledInstall(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 200 {
		cmd := program(t, "", "install", dir)
		sure(t, cmd.Start())
		for end := time.Now().Add(enough); list(t, dir) == "" && time.Now().Before(end); {
		}
		sure(t, cmd.Process.Kill())
		_ = cmd.Wait() // it was killed
		if strings.Contains(list(t, dir), ".sandbox-checker-") {
			break
		}
		sure(t, os.RemoveAll(filepath.Join(dir, "sandbox-checker")))
	}
	if !strings.Contains(list(t, dir), ".sandbox-checker-") {
		t.Fatal("200 installs were killed, and none while it wrote")
	}
	if exit, _, stderr := run(t, "install", dir); exit != 0 {
		t.Errorf("exit %d: %s", exit, stderr)
	}
	only(t, dir, "sandbox-checker")
}

// TestInstallsAtOnce: none takes away what another is writing, and each succeeds.
func TestInstallsAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	const whole = "all of it"
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 25 {
				err := writeAtomically(path, 0o755, func(w io.Writer) error {
					_, err := io.WriteString(w, whole)
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	only(t, dir, "x")
	if raw, err := os.ReadFile(path); err != nil || string(raw) != whole {
		t.Errorf("%q, %v", raw, err)
	}
}

// TestWriteThatHangs: a file system that hangs holds neither the write nor a signal for ever, whatever of the work hangs.
func TestWriteThatHangs(t *testing.T) { // not in parallel: the signal is for the whole process
	for name, signalled := range map[string]bool{"left alone": false, "told to end": true} {
		t.Run(name, func(t *testing.T) {
			wake := make(chan struct{})
			defer close(wake)
			whole, afterSignal := 50*time.Millisecond, time.Hour
			if signalled {
				whole, afterSignal = time.Hour, 50*time.Millisecond
			}
			ended := make(chan error, 1)
			begun := make(chan struct{})
			go func() {
				ended <- inTime("/x", whole, afterSignal, func(func() error) error {
					close(begun)
					<-wake
					return nil
				})
			}()
			<-begun
			if signalled {
				sure(t, syscall.Kill(os.Getpid(), syscall.SIGTERM))
			}
			select {
			case err := <-ended:
				want := "/x: the file system hung for 50ms"
				if signalled {
					want = "/x: terminated, and the file system hung for 50ms"
				}
				if err == nil || err.Error() != want {
					t.Errorf("%v, want %s", err, want)
				}
			case <-time.After(enough):
				t.Error("it hangs")
			}
		})
	}
}

// TestRunsWhileInstalled: the file that has just got its name can be run at once: nothing has it open for writing.
func TestRunsWhileInstalled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "sandbox-checker")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for range 20 {
			// Another process: what this one starts would inherit the file while it is open.
			if out, err := program(t, "", "install", dir).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		}
	}()
	for running := true; running; {
		select {
		case <-ended:
			running = false
		default:
		}
		cmd := exec.CommandContext(t.Context(), path, "version")
		cmd.Env = []string{asProgram + "=1"}
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Run(); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%v: %s", err, stderr.String())
		}
	}
}
