package checks_test

import (
	"context"
	"io/fs"
	"strings"
	"testing"
	"time"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/checks"
)

// vanishing are the node's files, but that each pod's log directory goes between Stat and ReadDir.
type vanishing struct{ plugin.Files }

func (v vanishing) ReadDir(name string) ([]fs.DirEntry, error) {
	if strings.HasPrefix(name, "var/log/pods/") {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return v.Files.ReadDir(name)
}

// TestLogDirectoryThatVanishes: it says neither that a container was there nor that none was.
func TestLogDirectoryThatVanishes(t *testing.T) {
	t.Parallel()
	f := read(t, "testdata/sandbox-crashloop/cri-o-1.34-never-came-back.txtar")
	o := plugin.Defaults()
	o.StartGrace, o.BootGrace, o.Settle = time.Second, time.Second, time.Second
	h := hostWith(t, f, nil)
	if v, _ := checks.SandboxCrashLoop.Judge(context.Background(), h, o); v.Status != plugin.Problem {
		t.Fatalf("exit %d: %s: this proves nothing", v.Status, v.Line)
	}
	h = hostWith(t, f, nil)
	h.Files = vanishing{h.Files}
	if v, _ := checks.SandboxCrashLoop.Judge(context.Background(), h, o); v.Status != plugin.OK {
		t.Errorf("exit %d: %s", v.Status, v.Line)
	}
}
