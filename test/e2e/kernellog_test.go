package e2e

import (
	"errors"
	"strings"
	"syscall"
	"testing"
)

const kernelLog = "/dev/kmsg"

// A kernelMark is a place in the kernel's log.
type kernelMark struct{ log int }

// markKernelLog gives the end of the log, to read from later.
func markKernelLog(t *testing.T) kernelMark {
	t.Helper()
	log, err := syscall.Open(kernelLog, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(log) })
	const seekEnd = 2
	if _, err := syscall.Seek(log, 0, seekEnd); err != nil {
		t.Fatal(err)
	}
	return kernelMark{log}
}

// since lists what was logged after the mark; one read gives one record.
func (m kernelMark) since(t *testing.T) []string {
	t.Helper()
	var records []string
	record := make([]byte, 16<<10)
	for {
		n, err := syscall.Read(m.log, record)
		switch {
		case errors.Is(err, syscall.EAGAIN):
			return records
		case errors.Is(err, syscall.EPIPE): // the oldest was overwritten
			continue
		case err != nil:
			t.Fatal(err)
		}
		records = append(records, string(record[:n]))
	}
}

// killsIn counts the kills for a pod's limit: the line that names the cgroup comes right before the kill's.
func killsIn(records []string, p pod) (kills int) {
	ours := false
	for _, r := range records {
		switch {
		case strings.Contains(r, "oom-kill:"):
			ours = strings.Contains(r, p.uid())
		case strings.Contains(r, "Killed process") && ours:
			kills++
		}
	}
	return kills
}

func mentions(records []string, p pod) bool {
	for _, r := range records {
		if strings.Contains(r, p.uid()) {
			return true
		}
	}
	return false
}
