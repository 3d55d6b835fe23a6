package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// node is a tree of files by path.
func node(files map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for p, s := range files {
		out[p] = &fstest.MapFile{Data: []byte(s), Mode: 0o444}
	}
	return out
}

// The files of a pod's directory, as recorded on kernels 6.1 (v2) and 6.18 (v1).
func v2(dir, limit, current, events string) map[string]string {
	return map[string]string{"sys/fs/cgroup/cgroup.controllers": "cpuset cpu io memory hugetlb pids rdma misc\n",
		dir + "/memory.max": limit + "\n", dir + "/memory.current": current + "\n", dir + "/memory.events": events, dir + "/cgroup.procs": ""}
}

func v1(dir, limit, usage, failcnt, control string) map[string]string {
	return map[string]string{dir + "/memory.limit_in_bytes": limit + "\n", dir + "/memory.usage_in_bytes": usage + "\n",
		dir + "/memory.failcnt": failcnt + "\n", dir + "/memory.oom_control": control, dir + "/cgroup.procs": ""}
}

func join(ms ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range ms {
		maps.Copy(out, m)
	}
	return out
}

const (
	events  = "low 0\nhigh 0\nmax 282\noom 13\noom_kill 3\noom_group_kill 0\n"
	control = "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n"
	root2   = "sys/fs/cgroup"
	root1   = "sys/fs/cgroup/memory"
	burst   = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + under + ".slice"
)

// TestPods: the pod level is found under every mount and every kind of names, and each pod once.
func TestPods(t *testing.T) {
	t.Parallel()
	two := func(root string, dirs ...string) []string {
		for i := range dirs {
			dirs[i] = root + dirs[i]
		}
		return dirs
	}
	for name, tc := range map[string]struct {
		files map[string]string
		root  string
		dirs  []string
	}{
		"v2, cgroupfs": {join(v2(root2+"/kubepods/burstable/pod"+dashed, "524288", "49152", events), v2(root2+"/kubepods/pod"+static, "max", "1", events)),
			root2, two(root2, "/kubepods/burstable/pod"+dashed, "/kubepods/pod"+static)},
		"v2, systemd": {v2(root2+burst, "0", "0", events), root2, two(root2, burst)},
		"v2, kind": {v2(root2+"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-pod"+under+".slice", "0", "0", events),
			root2, two(root2, "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-pod"+under+".slice")},
		"v2, kind with cgroupfs":       {v2(root2+"/kubelet/kubepods/besteffort/pod"+dashed, "0", "0", events), root2, two(root2, "/kubelet/kubepods/besteffort/pod"+dashed)},
		"v2, a root of the kubelet's":  {v2(root2+"/k8s/kubepods/burstable/pod"+dashed, "0", "0", events), root2, two(root2, "/k8s/kubepods/burstable/pod"+dashed)},
		"v2, systemd, besteffort":      {v2(root2+"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod"+under+".slice", "max", "0", events), root2, two(root2, "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod"+under+".slice")},
		"v1, cgroupfs":                 {v1(root1+"/kubepods/burstable/pod"+dashed, "0", "0", "95", control), root1, two(root1, "/kubepods/burstable/pod"+dashed)},
		"v1, systemd":                  {v1(root1+burst, "0", "0", "95", control), root1, two(root1, burst)},
		"v1, guaranteed":               {v1(root1+"/kubepods/pod"+dashed, "0", "0", "95", control), root1, two(root1, "/kubepods/pod"+dashed)},
		"hybrid":                       {join(v1(root1+burst, "0", "0", "95", control), map[string]string{root2 + "/unified/cgroup.controllers": "", root2 + "/unified" + burst + "/cgroup.procs": ""}), root1, two(root1, burst)},
		"containers are not looked at": {join(v2(root2+"/kubepods/pod"+dashed, "0", "0", events), v2(root2+"/kubepods/pod"+dashed+"/"+id+"/kubepods/pod"+static, "0", "0", events)), root2, two(root2, "/kubepods/pod"+dashed)},
		"literal colons are no pod": {join(v2(root2+burst, "0", "0", events), map[string]string{root2 + "/system.slice/containerd.service/kubepods-burstable-pod" + under + ".slice:cri-containerd:" + id + "/cgroup.procs": ""}),
			root2, two(root2, burst)},
		"nothing but the system": {map[string]string{"sys/fs/cgroup/cgroup.controllers": "memory\n", "sys/fs/cgroup/system.slice/x/cgroup.procs": ""}, root2, nil},
		"a file named like a pod": {join(v2(root2+"/kubepods/pod"+dashed, "0", "0", events), map[string]string{root2 + "/kubepods/pod" + static: ""}),
			root2, two(root2, "/kubepods/pod"+dashed)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pods, root, err := Pods(node(tc.files))
			if err != nil || root != tc.root {
				t.Fatalf("root %q, %v", root, err)
			}
			var dirs []string
			for _, p := range pods {
				dirs = append(dirs, p.Dir)
				if p.UID != dashed && p.UID != static {
					t.Errorf("uid %q", p.UID)
				}
			}
			slices.Sort(dirs)
			if !slices.Equal(dirs, tc.dirs) {
				t.Errorf("%q, want %q", dirs, tc.dirs)
			}
		})
	}
}

func TestPodsErrors(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"nothing mounted":      {"etc/hostname": "node-1\n"},
		"no memory controller": {"sys/fs/cgroup/cpu/tasks": ""},
	} {
		if pods, _, err := Pods(node(files)); err == nil || !strings.Contains(err.Error(), "/sys/fs/cgroup") {
			t.Errorf("%s: %v, %v", name, pods, err)
		}
	}
}

// TestRead: the numbers of real pods.
func TestRead(t *testing.T) {
	t.Parallel()
	const d2, d1 = root2 + "/kubepods/burstable/pod" + dashed, root1 + "/kubepods/burstable/pod" + dashed
	for name, tc := range map[string]struct {
		files map[string]string
		want  Memory
	}{
		"v2, one byte, which is no page": {v2(d2, "0", "0", "low 0\nhigh 0\nmax 36\noom 2\noom_kill 0\noom_group_kill 0\n"), Memory{OOMs: 2}},
		"v2, 512Ki":                      {v2(d2, "524288", "49152", events), Memory{Limit: 524288, Usage: 49152, OOMs: 13, Kills: 3}},
		"v2, no limit":                   {v2(d2, "max", "49152", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n"), Memory{Limit: Unlimited, Usage: 49152}},
		"v2, events of later kernels":    {v2(d2, "max", "1", events+"sock_throttled 4\nnew\nnewer x y\n"), Memory{Limit: Unlimited, Usage: 1, OOMs: 13, Kills: 3}},
		"v2, before oom_kill":            {v2(d2, "max", "1", "low 0\nhigh 0\nmax 3\noom 1\n"), Memory{Limit: Unlimited, Usage: 1, OOMs: 1}},
		"v1, one byte":                   {v1(d1, "0", "0", "95", control), Memory{Failcnt: 95}},
		"v1, 512Ki":                      {v1(d1, "524288", "12288", "691", control), Memory{Limit: 524288, Usage: 12288, Failcnt: 691}},
		"v1, before oom_kill":            {v1(d1, "524288", "12288", "691", "oom_kill_disable 0\nunder_oom 1\n"), Memory{Limit: 524288, Usage: 12288, Failcnt: 691}},
		"v1, no limit":                   {v1(d1, "9223372036854771712", "12288", "0", control), Memory{Limit: Unlimited, Usage: 12288}},
		"v1, no limit, pages of 64 KiB":  {v1(d1, "9223372036854710272", "12288", "0", control), Memory{Limit: Unlimited, Usage: 12288}},
	} {
		fsys := node(tc.files)
		pods, _, err := Pods(fsys)
		if err != nil || len(pods) != 1 {
			t.Fatalf("%s: %v, %v", name, pods, err)
		}
		if got, err := pods[0].Read(fsys); err != nil || got != tc.want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, tc.want)
		}
	}
}

// TestReadErrors: a pod that is gone can be told from a file that is damaged.
func TestReadErrors(t *testing.T) {
	t.Parallel()
	const d2 = root2 + "/kubepods/burstable/pod" + dashed
	whole := v2(d2, "0", "0", events)
	fsys := node(whole)
	pods, _, err := Pods(fsys)
	if err != nil || len(pods) != 1 {
		t.Fatal(pods, err)
	}
	for _, gone := range []string{"memory.max", "memory.current", "memory.events"} {
		part := join(whole)
		delete(part, d2+"/"+gone)
		if _, err := pods[0].Read(node(part)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("without %s: %v", gone, err)
		}
	}
	for _, bad := range []string{"", "-1", "x", "1 2", "99999999999999999999"} {
		_, err := pods[0].Read(node(join(whole, map[string]string{d2 + "/memory.max": bad + "\n"})))
		if err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "memory.max") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// vanishing is a tree in which one directory is gone between being listed and being read.
type vanishing struct {
	fstest.MapFS
	gone string
}

func (v vanishing) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == v.gone {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return v.MapFS.ReadDir(name)
}

// TestVanishing: pods come and go while we look.
func TestVanishing(t *testing.T) {
	t.Parallel()
	fsys := node(join(v2(root2+"/kubepods/burstable/pod"+dashed, "0", "0", events), v2(root2+"/kubepods/pod"+static, "0", "0", events)))
	pods, _, err := Pods(vanishing{fsys, root2 + "/kubepods/burstable"})
	if err != nil || len(pods) != 1 || pods[0].UID != static {
		t.Errorf("%+v, %v", pods, err)
	}
}

// counting counts the directories that are read.
type counting struct {
	fstest.MapFS
	dirs *int
}

func (c counting) ReadDir(name string) ([]fs.DirEntry, error) {
	*c.dirs++
	return c.MapFS.ReadDir(name)
}

// TestOneWalk: the walk reads the levels above the pods and no pod.
func TestOneWalk(t *testing.T) {
	t.Parallel()
	fsys := fstest.MapFS{}
	for i := range 500 {
		dir := fmt.Sprintf("%s/kubepods/burstable/pod0000b000-0000-4000-8000-%012d", root2, i)
		maps.Copy(fsys, node(v2(dir, "max", "1", events)))
		maps.Copy(fsys, node(map[string]string{dir + "/" + id + "/cgroup.procs": ""}))
	}
	read := 0
	pods, _, err := Pods(counting{fsys, &read})
	if err != nil || len(pods) != 500 || read > 5 {
		t.Errorf("%d pods, %d directories read, %v", len(pods), read, err)
	}
	for _, p := range pods {
		if path.Base(p.Dir) != "pod"+p.UID {
			t.Errorf("%+v", p)
		}
	}
}
