package cgroup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"syscall"
)

// Pod is one pod's memory cgroup.
type Pod struct {
	UID string
	// Dir is its directory, as fs.FS names it: "sys/fs/cgroup/kubepods/burstable/podUID".
	Dir string
	v2  bool
}

// Unlimited is the limit of a cgroup without one.
const Unlimited = int64(-1)

// Memory is what a pod's cgroup says about its memory.
type Memory struct {
	// Limit and Usage are in bytes. The kernel rounds a limit down to whole pages: 1 byte reads back as 0.
	Limit, Usage int64
	// OOMs counts how often the limit could not be kept, Kills how many processes died for it, both in the pod and all
	// below (v2 only; on v1 Kills is the pod's own processes alone, which are none). Failcnt counts refused charges (v1).
	OOMs, Kills, Failcnt int64
}

// maxPods bounds the walk; a node has a few hundred pods.
const maxPods = 20000

// Pods walks the pod level of the memory hierarchy, without going into containers. It returns the directory it began at,
// for messages. A directory that vanishes meanwhile is normal. None found is no error: the caller knows whether there
// should be some.
func Pods(fsys fs.FS) (pods []Pod, root string, err error) {
	root, v2, err := memoryRoot(fsys)
	if err != nil {
		return nil, "", err
	}
	tops, err := topDirs(fsys, root)
	if err != nil {
		return nil, root, err
	}
	w := walker{fsys: fsys, v2: v2}
	for _, t := range tops {
		if err := w.walk(t, 0); err != nil {
			return nil, root, err
		}
	}
	return w.pods, root, nil
}

// memoryRoot is where the memory controller is mounted: v1's own directory, also under hybrid mounts, or v2's root.
func memoryRoot(fsys fs.FS) (string, bool, error) {
	const mnt = "sys/fs/cgroup"
	if st, err := fs.Stat(fsys, mnt+"/memory"); err == nil && st.IsDir() {
		return mnt + "/memory", false, nil
	}
	if _, err := fs.Stat(fsys, mnt+"/cgroup.controllers"); err == nil {
		return mnt, true, nil
	}
	if _, err := fs.Stat(fsys, mnt); err != nil {
		return "", false, fmt.Errorf("/%s: %w", mnt, bare(err))
	}
	return "", false, fmt.Errorf("/%s: no memory controller", mnt)
}

// topDirs are the directories that hold kubepods: the root, or one below it (kubelet --cgroup-root, kind's kubelet.slice).
func topDirs(fsys fs.FS, root string) ([]string, error) {
	entries, err := fs.ReadDir(fsys, root)
	if err != nil {
		return nil, fmt.Errorf("/%s: %w", root, bare(err))
	}
	var tops []string
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		dir := path.Join(root, e.Name())
		if isPodsDir(e.Name()) {
			tops = append(tops, dir)
			continue
		}
		for _, name := range []string{"kubepods", "kubepods.slice"} {
			if st, err := fs.Stat(fsys, path.Join(dir, name)); err == nil && st.IsDir() {
				tops = append(tops, path.Join(dir, name))
			}
		}
	}
	return tops, nil
}

// isPodsDir says whether pods may be below a directory of this name: kubepods, its QoS levels, and kind's kubelet.slice.
func isPodsDir(name string) bool {
	return strings.Contains(name, "kubepods") || name == "burstable" || name == "besteffort" ||
		name == "kubelet" || name == "kubelet.slice"
}

// maxDepth is more than the deepest tree seen: kubelet.slice, kubelet-kubepods.slice, QoS.
const maxDepth = 4

type walker struct {
	fsys fs.FS
	v2   bool
	pods []Pod
}

// walk takes what has vanished meanwhile for empty.
func (w *walker) walk(dir string, depth int) error {
	entries, err := fs.ReadDir(w.fsys, dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("/%s: %w", dir, bare(err))
	}
	for _, e := range entries {
		if !e.IsDir() || len(w.pods) >= maxPods {
			continue
		}
		sub := path.Join(dir, e.Name())
		if uid, colons, ok := podDir(e.Name()); ok && colons == "" {
			w.pods = append(w.pods, Pod{UID: uid, Dir: sub, v2: w.v2})
		} else if isPodsDir(e.Name()) && depth < maxDepth {
			if err := w.walk(sub, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// Read reads the pod's limit and counters. A pod that has gone meanwhile is [fs.ErrNotExist].
func (p Pod) Read(fsys fs.FS) (Memory, error) {
	if p.v2 {
		return p.readV2(fsys)
	}
	var m Memory
	var err error
	if m.Limit, err = number(fsys, p.Dir, "memory.limit_in_bytes"); err != nil {
		return m, err
	}
	if m.Limit > 1<<60 { // v1 has no word for none: it is the largest multiple of a page
		m.Limit = Unlimited
	}
	if m.Usage, err = number(fsys, p.Dir, "memory.usage_in_bytes"); err != nil {
		return m, err
	}
	if m.Failcnt, err = number(fsys, p.Dir, "memory.failcnt"); err != nil {
		return m, err
	}
	control, err := fields(fsys, p.Dir, "memory.oom_control")
	m.Kills = control["oom_kill"] // since 4.13
	return m, err
}

func (p Pod) readV2(fsys fs.FS) (Memory, error) {
	var m Memory
	var err error
	if m.Limit, err = number(fsys, p.Dir, "memory.max"); err != nil {
		return m, err
	}
	if m.Usage, err = number(fsys, p.Dir, "memory.current"); err != nil {
		return m, err
	}
	events, err := fields(fsys, p.Dir, "memory.events")
	m.OOMs, m.Kills = events["oom"], events["oom_kill"]
	return m, err
}

// number reads a file of one number, or "max".
func number(fsys fs.FS, dir, file string) (int64, error) {
	raw, err := read(fsys, dir, file)
	if err != nil {
		return 0, err
	}
	s := strings.TrimSpace(string(raw))
	if s == "max" {
		return Unlimited, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("/%s/%s: no number in %q", dir, file, s)
	}
	return n, nil
}

// fields reads a file of "key number" lines; no count is below zero. Keys that this version does not know are kept; lines of another form are
// passed over, as later kernels may add some.
func fields(fsys fs.FS, dir, file string) (map[string]int64, error) {
	raw, err := read(fsys, dir, file)
	if err != nil {
		return nil, err
	}
	out := map[string]int64{}
	for line := range bytes.Lines(raw) {
		key, val, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		if n, err := strconv.ParseInt(val, 10, 64); err == nil && n >= 0 {
			out[key] = n
		}
	}
	return out, nil
}

func read(fsys fs.FS, dir, file string) ([]byte, error) {
	raw, err := fs.ReadFile(fsys, path.Join(dir, file))
	if errors.Is(err, syscall.ENODEV) {
		err = fs.ErrNotExist // kernfs says so of a file that was open when its cgroup went
	}
	if err != nil {
		return nil, fmt.Errorf("/%s/%s: %w", dir, file, bare(err))
	}
	return raw, nil
}

func bare(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}
