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

// ReadDir makes one directory fail, as its files do above.
func (g goes) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == g.file {
		return nil, &fs.PathError{Op: "readdirent", Path: name, Err: g.err}
	}
	return fs.ReadDir(g.FS, name)
}

// TestDirectoryThatGoes: a level of the tree may be removed at any moment, and then it is empty. One that cannot be read hides
// pods: that is no empty level.
func TestDirectoryThatGoes(t *testing.T) {
	t.Parallel()
	const pod = "/pod0000b000-0000-4000-8000-000000000001"
	all := fstest.MapFS{
		"sys/fs/cgroup/memory/kubepods" + pod:                                             &fstest.MapFile{Mode: fs.ModeDir},
		"sys/fs/cgroup/memory/kubepods/burstable/pod0000b000-0000-4000-8000-000000000002": &fstest.MapFile{Mode: fs.ModeDir},
	}
	const level = "sys/fs/cgroup/memory/kubepods/burstable"
	for err, want := range map[error]string{
		syscall.ENOENT: "", syscall.ENODEV: "",
		syscall.EACCES: "/" + level + ": permission denied", syscall.EIO: "/" + level + ": input/output error",
		syscall.EMFILE: "/" + level + ": too many open files",
	} {
		pods, _, got := Pods(goes{all, level, err})
		if want == "" && (got != nil || len(pods) != 1) || want != "" && (got == nil || got.Error() != want) {
			t.Errorf("%v: %v, %v", err, pods, got)
		}
	}
}
