package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sandbox-checker/plugin/capture"
)

func TestInstall(t *testing.T) {
	t.Parallel()
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "not", "there", "yet")
	path := filepath.Join(dir, "sandbox-checker")
	for _, when := range []string{"fresh", "again"} {
		exit, out, stderr := run(t, "install", dir)
		if exit != 0 || out != "installed "+path+"\n" || stderr != "" {
			t.Fatalf("%s: exit %d, %q, %q", when, exit, out, stderr)
		}
		got, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(got, self) {
			t.Errorf("%s: %d bytes, %v; want the program's %d", when, len(got), err, len(self))
		}
		if st, err := os.Stat(path); err != nil || st.Mode() != 0o755 {
			t.Errorf("%s: mode %v, %v", when, st.Mode(), err)
		}
		only(t, dir, "sandbox-checker")
		// An older one, which may be running and need not be executable, is replaced as a whole.
		if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func only(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%s holds %v, want %v", dir, got, want)
	}
}

func TestInstallFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	taken := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(taken, "sandbox-checker"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{file, filepath.Join(file, "below"), taken} {
		exit, out, stderr := run(t, "install", to)
		if exit != 2 || out != "" || !strings.HasPrefix(stderr, "sandbox-checker: install: ") || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit %d, %q, %q", to, exit, out, stderr)
		}
	}
	only(t, taken, "sandbox-checker") // and nothing half-written beside it
}

// NPD may run the old file while the new one is written.
func TestWriteAtomically(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	if err := os.WriteFile(path, []byte("old"), 0o755); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("disk full")
	err := writeAtomically(path, 0o644, func(w io.Writer) error {
		if _, err := io.WriteString(w, "half"); err != nil {
			return err
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != "old" {
			t.Errorf("while writing: %q, %v", got, err)
		}
		return broken
	})
	if !errors.Is(err, broken) {
		t.Error(err)
	}
	only(t, dir, "x")
	if got, err := os.ReadFile(path); err != nil || string(got) != "old" {
		t.Errorf("after a failure: %q, %v", got, err)
	}
	err = writeAtomically(path, 0o640, func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err })
	got, rerr := os.ReadFile(path)
	st, serr := os.Stat(path)
	if err != nil || rerr != nil || serr != nil || string(got) != "new" || st.Mode() != 0o640 {
		t.Errorf("%q %v, %v, %v, %v", got, st.Mode(), err, rerr, serr)
	}
	only(t, dir, "x")
}

// capture of this machine, which has no runtime at that socket: what it writes is a capture that says so.
func TestCapture(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args := []string{"capture", "-r", filepath.Join(dir, "absent.sock"), "--state-dir", dir}
	exit, out, stderr := run(t, args...)
	if exit != 0 || !strings.Contains(stderr, "the runtime is not in it") || strings.Count(stderr, "\n") != 1 {
		t.Fatalf("exit %d, stderr %q", exit, stderr)
	}
	f, err := capture.Parse([]byte(out))
	if err != nil {
		t.Fatal(err)
	}
	if f.CRI.Err != filepath.Join(dir, "absent.sock")+": no such file or directory" || !strings.HasPrefix(f.About, "Written by sandbox-checker ") || f.Now.IsZero() {
		t.Errorf("%+v", f)
	}

	to := filepath.Join(dir, "node.txt")
	exit, out, stderr = run(t, append(args, "-o", to, "--redact")...)
	if exit != 0 || out != "" || !strings.Contains(stderr, "read it before you send it") {
		t.Errorf("exit %d, %q, %q", exit, out, stderr)
	}
	if st, err := os.Stat(to); err != nil || st.Mode() != 0o600 {
		t.Errorf("others may read it: %v, %v", st, err)
	}
	// It gives the verdict that the node gave.
	_, live, _ := run(t, "check", "stale-created", "-r", filepath.Join(dir, "absent.sock"), "--state-dir", dir)
	_, replayed, _ := run(t, "check", "stale-created", "--node", to)
	if live != replayed {
		t.Errorf("live\n%sreplayed\n%s", live, replayed)
	}
	exit, _, stderr = run(t, append(args, "-o", filepath.Join(dir, "absent", "x"))...)
	if exit != 2 || !strings.HasPrefix(stderr, "sandbox-checker: capture: ") {
		t.Errorf("exit %d, %q", exit, stderr)
	}
}
