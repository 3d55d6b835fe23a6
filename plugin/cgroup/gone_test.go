package cgroup

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"
	"testing/fstest"
)

// goes is a file system in which a file says, when it is read, that its cgroup has gone.
type goes struct {
	fs.FS
	file string
	err  error
}

func (g goes) ReadFile(name string) ([]byte, error) {
	if name == g.file {
		return nil, &fs.PathError{Op: "read", Path: name, Err: g.err}
	}
	return fs.ReadFile(g.FS, name)
}

// TestReadOfACgroupThatGoes: a cgroup may be removed at any moment. A file in it is then not there any more, or, where it was
// open, says ENODEV. Both mean that the pod has gone, and neither that we cannot look.
func TestReadOfACgroupThatGoes(t *testing.T) {
	t.Parallel()
	const dir = "sys/fs/cgroup/kubepods/podx"
	for v2, files := range map[bool][]string{
		true:  {"memory.max", "memory.current", "memory.events"},
		false: {"memory.limit_in_bytes", "memory.usage_in_bytes", "memory.failcnt", "memory.oom_control"},
	} {
		all := fstest.MapFS{}
		for _, f := range files {
			all[dir+"/"+f] = &fstest.MapFile{Data: []byte("1\n")}
		}
		for _, f := range files {
			for _, err := range []error{syscall.ENODEV, syscall.ENOENT} {
				if _, got := (Pod{Dir: dir, v2: v2}).Read(goes{all, dir + "/" + f, err}); !errors.Is(got, fs.ErrNotExist) {
					t.Errorf("%s says %v: %v", f, err, got)
				}
			}
		}
	}
}
