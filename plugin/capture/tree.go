package capture

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"
)

// tree is the file system of a capture. Links resolve as on the node: an absolute target from the root, a relative one
// from the link's own directory.
type tree struct {
	nodes map[string]*node // by fs.FS name; "." is the root
}

type node struct {
	name    string // base name
	mode    fs.FileMode
	mod     time.Time
	born    time.Time
	data    []byte
	target  string
	err     error
	entries map[string]*node // of a directory
}

func newTree(f *File) (*tree, error) {
	t := &tree{nodes: map[string]*node{}}
	t.nodes["."] = &node{name: ".", mode: fs.ModeDir | 0o755, entries: map[string]*node{}}
	// Directories first, so that their own lines win over the ones made on the way to a file.
	entries := slices.Clone(f.Entries)
	slices.SortStableFunc(entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	for _, e := range entries {
		n := &node{mode: e.Mode, mod: e.Mod, born: e.Born, target: e.Target, err: e.err()}
		if e.Mode.IsDir() {
			n.entries = map[string]*node{}
		}
		if err := t.put(e.Path, n); err != nil {
			return nil, err
		}
	}
	for _, p := range slices.Sorted(maps.Keys(f.Content)) {
		data := f.Content[p]
		if n := t.nodes[fsName(p)]; n != nil {
			if n.mode.Type()&^fs.ModeCharDevice&^fs.ModeDevice != 0 || n.data != nil {
				return nil, errors.New(inLine(p) + ": has content and is no file, or is given twice")
			}
			n.data = data
			continue
		}
		if err := t.put(p, &node{mode: 0o644, data: data}); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func fsName(p string) string {
	if name := strings.TrimPrefix(path.Clean("/"+p), "/"); name != "" {
		return name
	}
	return "."
}

func (t *tree) put(p string, n *node) error {
	name := fsName(p)
	if have := t.nodes[name]; have != nil {
		if have.entries != nil && n.entries != nil { // made on the way to a file below it
			have.mode, have.mod, have.born, have.err = n.mode, n.mod, n.born, n.err
			return nil
		}
		return errors.New(inLine(p) + ": given twice")
	}
	dir := path.Dir(name)
	if t.nodes[dir] == nil {
		if err := t.put("/"+dir, &node{mode: fs.ModeDir | 0o755, entries: map[string]*node{}}); err != nil {
			return err
		}
	}
	if t.nodes[dir].entries == nil {
		return errors.New(inLine(p) + ": its parent is no directory")
	}
	n.name = path.Base(name)
	t.nodes[name] = n
	t.nodes[dir].entries[n.name] = n
	return nil
}

// maxLinks is the kernel's own bound on links in one path.
const maxLinks = 40

// find resolves a name; the last component's link only if follow is set.
func (t *tree) find(op, name string, follow bool) (*node, error) {
	fail := func(err error) (*node, error) { return nil, &fs.PathError{Op: op, Path: name, Err: err} }
	if !fs.ValidPath(name) {
		return fail(fs.ErrInvalid)
	}
	todo := strings.Split(name, "/")
	at := "."
	for links := 0; len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			at = path.Dir(at)
			continue
		}
		if t.nodes[at].entries == nil {
			return fail(syscall.ENOTDIR)
		}
		n := t.nodes[path.Join(at, part)]
		if n == nil {
			return fail(syscall.ENOENT)
		}
		if n.target == "" || (len(todo) == 0 && !follow) {
			at = path.Join(at, part)
			continue
		}
		if links++; links > maxLinks {
			return fail(syscall.ELOOP)
		}
		if strings.HasPrefix(n.target, "/") {
			at = "."
		}
		todo = append(strings.Split(n.target, "/"), todo...)
	}
	return t.nodes[at], nil
}

// Open implements [fs.FS].
func (t *tree) Open(name string) (fs.File, error) {
	n, err := t.find("open", name, true)
	if err != nil {
		return nil, err
	}
	if n.err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: n.err}
	}
	return &file{node: n, Reader: bytes.NewReader(n.data)}, nil
}

// Stat implements [fs.StatFS].
func (t *tree) Stat(name string) (fs.FileInfo, error) {
	n, err := t.find("stat", name, true)
	if err != nil {
		return nil, err
	}
	return info{n}, nil
}

// Lstat implements [fs.ReadLinkFS].
func (t *tree) Lstat(name string) (fs.FileInfo, error) {
	n, err := t.find("lstat", name, false)
	if err != nil {
		return nil, err
	}
	return info{n}, nil
}

// ReadLink implements [fs.ReadLinkFS].
func (t *tree) ReadLink(name string) (string, error) {
	n, err := t.find("readlink", name, false)
	if err != nil {
		return "", err
	}
	if n.target == "" {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	return n.target, nil
}

// ReadDir implements [fs.ReadDirFS].
func (t *tree) ReadDir(name string) ([]fs.DirEntry, error) {
	n, err := t.find("readdir", name, true)
	if err != nil {
		return nil, err
	}
	switch {
	case n.entries == nil:
		err = syscall.ENOTDIR
	case n.err != nil:
		err = n.err
	}
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
	}
	out := make([]fs.DirEntry, 0, len(n.entries))
	for _, e := range n.entries {
		out = append(out, fs.FileInfoToDirEntry(info{e}))
	}
	slices.SortFunc(out, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return out, nil
}

type file struct {
	node *node
	*bytes.Reader
}

func (f *file) Stat() (fs.FileInfo, error) { return info{f.node}, nil }
func (f *file) Close() error               { return nil }

func (f *file) Read(p []byte) (int, error) {
	if f.node.mode.IsDir() {
		return 0, &fs.PathError{Op: "read", Path: f.node.name, Err: syscall.EISDIR}
	}
	return f.Reader.Read(p)
}

var _ io.Reader = (*file)(nil)

type info struct{ n *node }

func (i info) Name() string { return i.n.name }

// Size is -1 for a file without a section: it is there, and the capture does not know what is in it.
func (i info) Size() int64 {
	if i.n.data == nil {
		return -1
	}
	return int64(len(i.n.data))
}

func (i info) Mode() fs.FileMode  { return i.n.mode }
func (i info) ModTime() time.Time { return i.n.mod }
func (i info) Born() time.Time    { return i.n.born }
func (i info) IsDir() bool        { return i.n.mode.IsDir() }
func (i info) Sys() any           { return nil }
