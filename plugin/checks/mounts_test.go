package checks_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/capture"
	"sandbox-checker/plugin/checks"
)

// linked are files whose directory of CNI configurations has so many links, as a live node tells and a capture does not.
type linked struct {
	plugin.Files
	links  uint64
	mounts *int // how often the table of mounts was read
}

func (l linked) Stat(name string) (fs.FileInfo, error) {
	fi, err := l.Files.Stat(name)
	if err != nil || name != "etc/cni/net.d" {
		return fi, err
	}
	return linkedInfo{fi, l.links}, nil
}

func (l linked) Open(name string) (fs.File, error) {
	if name == "proc/self/mountinfo" {
		*l.mounts++
	}
	return l.Files.Open(name)
}

type linkedInfo struct {
	fs.FileInfo
	links uint64
}

func (i linkedInfo) Sys() any {
	var st syscall.Stat_t
	for range i.links {
		st.Nlink++
	}
	return &st
}

// A directory that was removed on the node has no link left, and only then the mounts are asked. A capture has no links and
// asks always.
func TestRemovedDirectory(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join("testdata", "cni-config", "own-pod-view-old-directory.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for links, gone := range map[uint64]bool{0: true, 1: false, 2: false} {
		f, err := capture.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		h, err := f.Host()
		if err != nil {
			t.Fatal(err)
		}
		read := 0
		h.Files = linked{h.Files, links, &read}
		v, _ := checks.CNIConfig.Judge(context.Background(), h, plugin.Defaults())
		if said := strings.Contains(v.Line, "was removed and made again"); said != gone || (read > 0) != gone {
			t.Errorf("%d links: %s; mounts read %d times", links, v.Line, read)
		}
		// Recorded while it is looked at, the mounts are read whatever the links: a capture must tell the same.
		again, err := f.Host()
		if err != nil {
			t.Fatal(err)
		}
		read = 0
		again.Files = linked{again.Files, links, &read}
		capture.Record(again)
		if _, _ = checks.CNIConfig.Judge(context.Background(), again, plugin.Defaults()); read == 0 {
			t.Errorf("%d links: the mounts are not in the capture", links)
		}
	}
}
