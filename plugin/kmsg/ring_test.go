package kmsg

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestReadRingOfAFile: a regular file ends, as the ring does not; it is read whole.
func TestReadRingOfAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kmsg")
	want := bytes.Repeat([]byte("6,1,2,-;text of a record that is longer than nothing\n"), 5000)
	if err := os.WriteFile(path, want, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := ReadRing(t.Context(), path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes of %d, %v", len(got), len(want), err)
	}
}

// TestReadRingDoesNotWait: a FIFO with an idle writer says EAGAIN, as the ring does at its end.
func TestReadRingDoesNotWait(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kmsg")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := os.OpenFile(path, os.O_RDWR, 0) // keeps a writer, so that reading does not end
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	for _, record := range []string{"", "6,1,2,-;a\n", "6,2,3,-;b\n"} {
		if _, err := w.WriteString(record); err != nil {
			t.Fatal(err)
		}
		got, err := ReadRing(t.Context(), path)
		if err != nil || string(got) != record {
			t.Errorf("%q, %v; want %q", got, err, record)
		}
	}
}

func TestReadRingErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := ReadRing(t.Context(), filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if _, err := ReadRing(t.Context(), dir); !errors.Is(err, unix.EISDIR) {
		t.Errorf("directory: %v", err)
	}
	path := filepath.Join(dir, "kmsg")
	if err := os.WriteFile(path, []byte("6,1,2,-;a\n"), 0o000); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		if _, err := ReadRing(t.Context(), path); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("not readable: %v", err)
		}
	}
}

// TestReadRingEnds: a ring into which somebody writes faster than we read is left at the deadline.
func TestReadRingEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ReadRing(ctx, "/dev/zero"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	out, err := ReadRing(t.Context(), "/dev/zero")
	if err != nil || len(out) < maxRing || len(out) > maxRing+64<<10 {
		t.Errorf("%d bytes, %v", len(out), err)
	}
}

// TestReadRingOfTheNode reads the machine's own ring where that is allowed.
func TestReadRingOfTheNode(t *testing.T) {
	t.Parallel()
	raw, err := ReadRing(t.Context(), DevicePath)
	if err != nil {
		t.Skip(err)
	}
	for _, r := range Parse(raw) {
		if !r.HasTime {
			t.Errorf("a record without a time: %q", r.Text)
		}
	}
}

// TestReadRingOverruns: records that are overwritten while we read are lost alone; the others come through, and an interrupted
// read or a record above the buffer costs nothing more.
func TestReadRingOverruns(t *testing.T) {
	t.Parallel()
	says := []any{"6,1,1,-;a\n", unix.EPIPE, "6,9,9,-;b\n", unix.EINTR, unix.EINVAL, unix.EPIPE, unix.EPIPE, "6,12,12,-;c\n", unix.EAGAIN}
	got, err := readAll(t.Context(), DevicePath, func(buf []byte) (int, error) {
		next := says[0]
		says = says[1:]
		if no, ok := next.(unix.Errno); ok {
			return -1, no
		}
		return copy(buf, next.(string)), nil
	})
	if want := "6,1,1,-;a\n6,9,9,-;b\n6,12,12,-;c\n"; err != nil || string(got) != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	if _, err := readAll(t.Context(), DevicePath, func([]byte) (int, error) { return -1, unix.EIO }); !errors.Is(err, unix.EIO) {
		t.Errorf("%v", err)
	}
}

// TestReadRingOverrunsForEver: a ring that is overwritten faster than it is read is left at the deadline.
func TestReadRingOverrunsForEver(t *testing.T) {
	t.Parallel()
	for _, no := range []unix.Errno{unix.EPIPE, unix.EINTR, unix.EINVAL} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if _, err := readAll(ctx, DevicePath, func([]byte) (int, error) { return -1, no }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", no, err)
		}
	}
}
