package main

import (
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestWriteThroughNothing: neither install nor capture follows a link at its target or beside it, opens what is there, or leaves
// a moment in which others may write.
func TestWriteThroughNothing(t *testing.T) {
	t.Parallel()
	for name, put := range map[string]func(t *testing.T, target, precious string){
		"a link":      func(t *testing.T, target, precious string) { sure(t, os.Symlink(precious, target)) },
		"a hard link": func(t *testing.T, target, precious string) { sure(t, os.Link(precious, target)) },
		"it dangles":  func(t *testing.T, target, precious string) { sure(t, os.Symlink(precious+".not", target)) },
		"a FIFO":      func(t *testing.T, target, _ string) { sure(t, syscall.Mkfifo(target, 0o600)) },
		"writable all": func(t *testing.T, target, _ string) {
			sure(t, os.WriteFile(target, []byte("old"), 0o600))
			sure(t, os.Chmod(target, 0o777))
		},
	} {
		for _, command := range []string{"install", "capture"} {
			t.Run(name+", "+command, func(t *testing.T) {
				t.Parallel()
				dir, precious := t.TempDir(), filepath.Join(t.TempDir(), "precious")
				sure(t, os.WriteFile(precious, []byte("precious"), 0o644))
				target, mode := filepath.Join(dir, "sandbox-checker"), os.FileMode(0o755)
				put(t, target, precious)
				args := []string{"install", dir}
				if command == "capture" {
					mode = 0o600
					args = []string{"capture", "-o", target, "-r", filepath.Join(dir, "none.sock"), "--state-dir", filepath.Join(dir, "state"), "--timeout", "20s"}
				}
				exit, _, stderr := run(t, args...)
				raw, err := os.ReadFile(precious)
				if err != nil || string(raw) != "precious" {
					t.Errorf("what the link names is now %.20q, %v", raw, err)
				}
				if st, err := os.Stat(precious); err != nil || st.Mode() != 0o644 {
					t.Errorf("its mode is %v, %v", st.Mode(), err)
				}
				if _, err := os.Lstat(precious + ".not"); err == nil {
					t.Error("a file was made through a dangling link")
				}
				refused := command == "capture" && (name == "a link" || name == "it dangles" || name == "a FIFO")
				if refused != (exit == 2) {
					t.Errorf("exit %d: %s", exit, stderr)
				}
				if st, err := os.Lstat(target); err != nil || !refused && st.Mode() != mode {
					t.Errorf("%v, %v, want %v", st.Mode(), err, mode)
				}
				only(t, dir, "sandbox-checker")
			})
		}
	}
}

func sure(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestHalfWritten: until it is whole, what is written can be read by nobody else, and has no name that anybody knows.
func TestHalfWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sure(t, writeAtomically(filepath.Join(dir, "x"), 0o755, func(w io.Writer) error {
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 1 || !strings.HasPrefix(entries[0].Name(), ".sandbox-checker-") {
			t.Errorf("%v, %v", entries, err)
			return nil
		}
		st, err := entries[0].Info()
		if err != nil || st.Mode() != 0o600 {
			t.Errorf("mode %v, %v", st.Mode(), err)
		}
		_, err = io.WriteString(w, "new")
		return err
	}))
}

// TestInterrupted: a signal while a file is written leaves the old one and nothing beside it.
func TestInterrupted(t *testing.T) { // not in parallel: the signal is for the whole process
	seen := make(chan os.Signal, 1) // keeps this process alive, and tells when the signal is there
	signal.Notify(seen, syscall.SIGHUP)
	defer signal.Stop(seen)
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	sure(t, os.WriteFile(path, []byte("old"), 0o600))
	err := writeAtomically(path, 0o755, func(w io.Writer) error {
		sure(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
		if sig := <-seen; sig != syscall.SIGHUP {
			t.Error(sig)
		}
		time.Sleep(50 * time.Millisecond) // until the others have it too
		_, err := io.WriteString(w, "new")
		return err
	})
	if raw, rerr := os.ReadFile(path); err == nil || rerr != nil || string(raw) != "old" {
		t.Errorf("%v: %q, %v", err, raw, rerr)
	}
	only(t, dir, "x")
}
