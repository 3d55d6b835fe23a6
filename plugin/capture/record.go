package capture

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"
	"sync"
	"syscall"

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
	todo, at := strings.Split(name, "/"), "/"
	for links := 0; len(todo) > 0 && links <= maxLinks; {
		part := todo[0]
		todo = todo[1:]
		if part == "" || part == "." {
			continue
		}
		if part == ".." {
			// The directory that is left again has nothing below it that would make it exist.
			if st, err := r.files.Lstat(fsName(at)); err == nil && at != "/" {
				r.keep(Entry{Path: at, Mode: st.Mode(), Mod: st.ModTime(), Born: plugin.Born(st)})
			}
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, part)
		st, err := r.files.Lstat(fsName(next))
		if err != nil {
			r.noteError(next, err)
			return
		}
		e := Entry{Path: next, Mode: st.Mode(), Mod: st.ModTime(), Born: plugin.Born(st)}
		if st.Mode().Type() == fs.ModeSymlink {
			if e.Target, err = r.files.ReadLink(fsName(next)); err != nil {
				return
			}
			links++
			at, todo = follow(at, e.Target, todo)
			r.keep(e)
			continue
		}
		at = next
		if len(todo) > 0 && st.IsDir() {
			continue // a directory on the way exists by what is below it
		}
		r.keep(e)
	}
}

// follow is where a link in the directory at leads, and what is left to walk. The target is not cleaned: a ".." leaves the
// directory that a link led to.
func follow(at, target string, todo []string) (string, []string) {
	if path.IsAbs(target) {
		at = "/"
	}
	return at, append(strings.Split(target, "/"), todo...)
}

// keep does not overwrite an error that was seen at the path.
func (r *Recorder) keep(e Entry) {
	if e.Err == "" {
		e.Err = r.entries[e.Path].Err
	}
	r.entries[e.Path] = e
}

func (r *Recorder) noteError(p string, err error) {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) {
		return // replay says so by itself: what is not in a capture does not exist
	}
	e := r.entries[p]
	e.Path, e.Err = p, cause(err)
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
	// On the path that links lead to: a link cannot hold an error of its own.
	r.noteError(r.resolved("/"+name), err)
}

// Stat implements [fs.StatFS].
func (r *Recorder) Stat(name string) (fs.FileInfo, error) {
	r.note(name)
	return recordedInfo(r.files.Stat(name))
}

// Lstat implements [fs.ReadLinkFS].
func (r *Recorder) Lstat(name string) (fs.FileInfo, error) {
	r.note(name)
	return recordedInfo(r.files.Lstat(name))
}

// recordedInfo hides what the system says of a file beside what a capture holds: judged live and from the capture, a check
// must see the same.
func recordedInfo(fi fs.FileInfo, err error) (fs.FileInfo, error) {
	if err != nil {
		return nil, err
	}
	return withoutSys{fi}, nil
}

type withoutSys struct{ fs.FileInfo }

func (withoutSys) Sys() any { return nil }

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
		r.refused(fsName(p), err)
	}
	return err
}

// refused remembers an error of connecting. Where no socket is, the error is of its opening, which is another one; replay
// refuses there by itself.
func (r *Recorder) refused(name string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.resolved("/" + name); r.entries[p].Mode.Type() == fs.ModeSocket {
		r.noteError(p, err)
	}
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
	if err != nil && !errors.Is(err, io.EOF) {
		f.to.failed(strings.TrimPrefix(f.path, "/"), err)
	}
	return n, err
}

func (f *recordedFile) Close() error {
	f.to.mu.Lock()
	defer f.to.mu.Unlock()
	f.to.content[f.to.resolved(f.path)] = f.data
	return f.File.Close()
}

// resolved follows the remembered links, so that content lands on the file and not on a link to it.
func (r *Recorder) resolved(p string) string {
	todo, at := strings.Split(p, "/"), "/"
	for links := 0; len(todo) > 0 && links <= maxLinks; {
		next := path.Join(at, todo[0])
		todo = todo[1:]
		if target := r.entries[next].Target; target != "" {
			links++
			at, todo = follow(at, target, todo)
			continue
		}
		at = next
	}
	return at
}
