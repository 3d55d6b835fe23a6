package capture

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"
	"sync"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/kmsg"
)

// Recorder is a host's file system that remembers what was looked at: a capture holds exactly what the checks read, so it
// gives the verdicts that the node gave.
type Recorder struct {
	files   plugin.Files
	connect func(string) error
	log     func(context.Context) ([]byte, error)

	mu      sync.Mutex
	entries map[string]Entry
	content map[string][]byte
}

// maxListed bounds how many names of one directory go into a capture. The checks read the first few, sorted.
const maxListed = 5000

// Record makes h remember. The returned recorder is then what h looks through.
func Record(h *plugin.Host) *Recorder {
	r := &Recorder{files: h.Files, connect: h.Accepts, log: h.KernelLog, entries: map[string]Entry{}, content: map[string][]byte{}}
	h.Files, h.Accepts, h.KernelLog = r, r.accepts, r.kernelLog
	return r
}

// Add puts what was looked at into a capture.
func (r *Recorder) Add(f *File) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.entries {
		f.Entries = append(f.Entries, e)
	}
	for p, data := range r.content {
		f.Content[p] = data
	}
}

// note remembers the path: each link on the way to it, and what it is in the end.
func (r *Recorder) note(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	todo, at := strings.Split(name, "/"), "."
	for links := 0; len(todo) > 0 && links <= maxLinks; {
		at, todo = path.Join(at, todo[0]), todo[1:]
		st, err := r.files.Lstat(at)
		if err != nil {
			r.noteError(at, err)
			return
		}
		e := Entry{Path: "/" + at, Mode: st.Mode(), Mod: st.ModTime()}
		if st.Mode().Type() == fs.ModeSymlink {
			if e.Target, err = r.files.ReadLink(at); err != nil {
				return
			}
			links++
			if path.IsAbs(e.Target) {
				at = "."
			} else {
				at = path.Dir(at)
			}
			todo = append(strings.Split(strings.TrimPrefix(path.Clean(e.Target), "/"), "/"), todo...)
		} else if len(todo) > 0 {
			continue // a directory on the way exists by what is below it
		}
		if at != "." || e.Target != "" {
			r.keep(e)
		}
	}
}

// keep does not overwrite an error that was seen at the path.
func (r *Recorder) keep(e Entry) {
	if e.Err == "" {
		e.Err = r.entries[e.Path].Err
	}
	r.entries[e.Path] = e
}

func (r *Recorder) noteError(name string, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		return // what is not in a capture does not exist
	}
	e := r.entries["/"+name]
	e.Path, e.Err = "/"+name, cause(err)
	r.entries[e.Path] = e
}

func cause(err error) string {
	if errors.Is(err, fs.ErrPermission) {
		return "permission denied"
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	return err.Error()
}

// Open implements [fs.FS].
func (r *Recorder) Open(name string) (fs.File, error) {
	r.note(name)
	f, err := r.files.Open(name)
	if err != nil {
		r.failed(name, err)
		return nil, err
	}
	return &recordedFile{File: f, to: r, path: "/" + name}, nil
}

func (r *Recorder) failed(name string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// On the path that links lead to: a link cannot hold an error of its own. A link that leads nowhere gives its error by
	// itself.
	if end, ok := r.resolved("/" + name); ok {
		r.noteError(strings.TrimPrefix(end, "/"), err)
	}
}

// Stat implements [fs.StatFS].
func (r *Recorder) Stat(name string) (fs.FileInfo, error) {
	r.note(name)
	return r.files.Stat(name)
}

// Lstat implements [fs.ReadLinkFS].
func (r *Recorder) Lstat(name string) (fs.FileInfo, error) {
	r.note(name)
	return r.files.Lstat(name)
}

// ReadLink implements [fs.ReadLinkFS].
func (r *Recorder) ReadLink(name string) (string, error) {
	r.note(name)
	return r.files.ReadLink(name)
}

// ReadDir implements [fs.ReadDirFS].
func (r *Recorder) ReadDir(name string) ([]fs.DirEntry, error) {
	r.note(name)
	es, err := r.files.ReadDir(name)
	if err != nil {
		r.failed(name, err)
		return es, err
	}
	for _, e := range es[:min(len(es), maxListed)] {
		r.note(path.Join(name, e.Name()))
	}
	return es, nil
}

func (r *Recorder) accepts(p string) error {
	r.note(fsName(p))
	err := r.connect(p)
	if err != nil {
		r.failed(fsName(p), err)
	}
	return err
}

// maxLog bounds the kernel log in a capture; the newest part is kept.
const maxLog = 4 << 20

func (r *Recorder) kernelLog(ctx context.Context) ([]byte, error) {
	data, err := r.log(ctx)
	if err != nil {
		r.failed(fsName(kmsg.DevicePath), err)
		return data, err
	}
	if len(data) > maxLog {
		data = data[len(data)-maxLog:]
		if _, rest, ok := bytes.Cut(data, []byte("\n")); ok {
			data = rest // the first record is cut
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.content[kmsg.DevicePath] = data
	return data, nil
}

// recordedFile remembers what was read of a file, under the path it was opened by: a link's target is kept as the link's
// own content would be, and replay resolves it the same way.
type recordedFile struct {
	fs.File
	to   *Recorder
	path string
	data []byte
}

func (f *recordedFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	f.data = append(f.data, p[:n]...)
	return n, err
}

func (f *recordedFile) Close() error {
	f.to.mu.Lock()
	defer f.to.mu.Unlock()
	if end, ok := f.to.resolved(f.path); ok {
		f.to.content[end] = f.data
	}
	return f.File.Close()
}

// resolved follows the remembered links, so that content lands on the file and not on a link to it. It is false for links
// without an end.
func (r *Recorder) resolved(p string) (string, bool) {
	todo, at := strings.Split(strings.TrimPrefix(p, "/"), "/"), "/"
	for links := 0; len(todo) > 0; {
		at, todo = path.Join(at, todo[0]), todo[1:]
		target := r.entries[at].Target
		if target == "" {
			continue
		}
		if links++; links > maxLinks {
			return "", false
		}
		if path.IsAbs(target) {
			at = "/"
		} else {
			at = path.Dir(at)
		}
		todo = append(strings.Split(strings.TrimPrefix(path.Clean(target), "/"), "/"), todo...)
	}
	return at, true
}
