package checks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/cgroup"
	"sandbox-checker/plugin/cri"
)

// podMemory is a pod's cgroup; memory is read only of pods that have no ready sandbox.
type podMemory struct {
	dir    string
	memory *cgroup.Memory
}

// podLog is a pod's directory in /var/log/pods.
type podLog struct {
	pod plugin.Pod
	// made is its last change; virgin that no container ever had a directory in it.
	made   time.Time
	virgin bool
}

// gatherPods gathers what the runtime, the cgroups and the log directories say of the pods.
func gatherPods(ctx context.Context, h *plugin.Host, rt plugin.Runtime) (oomView, error) {
	v := oomView{kernelClock: h.KernelClock}
	var err error
	if v.clock, err = h.Boot(); err != nil {
		return v, err
	}
	if v.sandboxes, err = rt.Sandboxes(ctx); err != nil {
		return v, err
	}
	if v.logDirs, err = podLogs(h); err != nil {
		return v, err
	}
	if err := v.addPods(h); err != nil {
		return v, err
	}
	v.names = sync.OnceValue(func() map[string]plugin.Pod { return podNames(v.sandboxes, v.logDirs) })
	v.runtimeStarted = socketMade(h, rt)
	v.stepped = unseenStep(v.clock, v.runtimeStarted, v.dates)
	return v, nil
}

const podLogsDir = "/var/log/pods"

// podLogs lists the pods' log directories. The kubelet makes one, named NAMESPACE_NAME_UID, just before it asks for the
// sandbox, and only when the volumes are mounted.
func podLogs(h *plugin.Host) (map[string]podLog, error) {
	entries, err := h.ReadDir(podLogsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // on a node where no pod ever was; the empty view is judged later
	}
	if err != nil {
		return nil, err
	}
	out := make(map[string]podLog, len(entries))
	for _, e := range entries {
		namespace, rest, _ := strings.Cut(e.Name(), "_")
		name, uid, ok := strings.Cut(rest, "_")
		if !ok || strings.Contains(uid, "_") || !e.IsDir() {
			continue
		}
		out[uid] = podLog{pod: plugin.Pod{Namespace: namespace, Name: name, UID: uid}}
	}
	return out, nil
}

// addPods walks the cgroups and reads the memory of the pods that have no ready sandbox.
func (v *oomView) addPods(h *plugin.Host) error {
	pods, root, err := cgroup.Pods(h.Files)
	if err != nil {
		return err
	}
	if len(pods) == 0 && v.anyReadyPod() {
		return fmt.Errorf("no pod in /%s while the runtime lists ready sandboxes: mount /sys/fs/cgroup of the node", root)
	}
	if len(v.logDirs) == 0 && v.anyReadyPod() {
		return fmt.Errorf("no pod in %s while the runtime lists ready sandboxes: mount %s of the node", podLogsDir, podLogsDir)
	}
	v.pods = make(map[string]podMemory, len(pods))
	for _, p := range pods {
		one := podMemory{dir: "/" + p.Dir}
		if !v.ready(p.UID) {
			if m, err := p.Read(h.Files); err == nil {
				one.memory = &m
			} else if !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			v.lookAtLog(h, p.UID)
		}
		v.pods[p.UID] = one
	}
	if len(v.logDirs) == 0 && v.anyListed() {
		return fmt.Errorf("no pod in %s while the runtime lists sandboxes of pods: mount %s of the node", podLogsDir, podLogsDir)
	}
	return nil
}

// anyListed says whether a pod with a cgroup has a sandbox of any state: before it asked for that, the kubelet made a log directory.
func (v *oomView) anyListed() bool {
	return slices.ContainsFunc(v.sandboxes, func(s cri.Sandbox) bool { _, active := v.pods[s.Pod.UID]; return active })
}

// lookAtLog looks into the log directory of a pod without a sandbox.
func (v *oomView) lookAtLog(h *plugin.Host, uid string) {
	l, ok := v.logDirs[uid]
	if !ok {
		return
	}
	dir := fmt.Sprintf("%s/%s_%s_%s", podLogsDir, l.pod.Namespace, l.pod.Name, uid)
	st, err := h.Stat(dir)
	if err != nil {
		return
	}
	entries, err := h.ReadDir(dir)
	if err != nil {
		return // it says neither that a container was there nor that none was
	}
	// CRI-O puts the log of its pause process there too, which is a file.
	l.made, l.virgin = st.ModTime(), !slices.ContainsFunc(entries, fs.DirEntry.IsDir)
	v.logDirs[uid] = l
}

// anyReadyPod says whether the runtime lists a ready sandbox that looks like the kubelet's: one with a pod uid.
func (v *oomView) anyReadyPod() bool {
	for _, s := range v.sandboxes {
		if s.Ready && s.Pod.UID != "" {
			return true
		}
	}
	return false
}

// ready says whether a pod has a ready sandbox.
func (v *oomView) ready(uid string) bool {
	if v.readyUIDs == nil {
		v.readyUIDs = make(map[string]bool, len(v.sandboxes))
		for _, s := range v.sandboxes {
			if s.Ready {
				v.readyUIDs[s.Pod.UID] = true
			}
		}
	}
	return v.readyUIDs[uid]
}

// podNames joins what names a uid: the runtime first, then the log directories.
func podNames(sandboxes []cri.Sandbox, logs map[string]podLog) map[string]plugin.Pod {
	names := make(map[string]plugin.Pod, len(logs))
	for uid, l := range logs {
		names[uid] = l.pod
	}
	for _, s := range sandboxes {
		if s.Pod.UID != "" && s.Pod.Name != "" {
			names[s.Pod.UID] = plugin.Pod(s.Pod)
		}
	}
	return names
}

// dates are those of the sandboxes and of the log directories of pods without one.
func (v *oomView) dates(yield func(time.Time) bool) {
	for _, s := range v.sandboxes {
		if !s.Created.IsZero() && !yield(s.Created) {
			return
		}
	}
	for _, l := range v.logDirs {
		if !l.made.IsZero() && !yield(l.made) {
			return
		}
	}
}
