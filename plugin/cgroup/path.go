// Package cgroup finds the pods' memory cgroups and reads their limits and counters, under cgroup v1, v2 and hybrid
// mounts, with the names that the cgroupfs and the systemd driver give.
//
// The files of a pod's directory, v2 and v1 (Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst):
//
//	memory.max            0                        memory.limit_in_bytes   524288
//	memory.current        8192                     memory.usage_in_bytes   12288
//	memory.events         low 0                    memory.failcnt          691
//	                      max 36                   memory.oom_control      oom_kill_disable 0
//	                      oom 2                                            under_oom 0
//	                      oom_kill 0                                       oom_kill 0
package cgroup

import (
	"regexp"
	"strings"
	"sync"
)

// podDir reads a pod's directory: "podUID", "kubepods-burstable-podUID.slice", and with literal colons
// "kubepods-burstable-podUID.slice:cri-containerd:NAME", where kubelet and runtime disagree about the driver. A static pod's
// uid is 32 hex digits without dashes; systemd names have underscores for dashes. colons is what follows the first colon,
// with it. By hand, because it is asked for every directory of every node: compiling a pattern alone is a twentieth of a check.
func podDir(name string) (uid, colons string, ok bool) {
	for end := len(name); ; {
		i := strings.LastIndex(name[:end], "pod")
		if i < 0 {
			return "", "", false
		}
		end = i
		if i > 0 && (name[i-1] != '-' || strings.Contains(name[:i], "\n")) {
			continue
		}
		for _, form := range []string{dashedForm, plainForm} {
			uid, rest, ok := cutForm(name[i+len("pod"):], form)
			rest = strings.TrimPrefix(rest, ".slice")
			if ok && (rest == "" || rest[0] == ':' && !strings.Contains(rest, "\n")) {
				return strings.ReplaceAll(uid, "_", "-"), rest, true
			}
		}
	}
}

// Forms of a uid: x is a hex digit, - is a dash or an underscore.
const (
	dashedForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
	plainForm  = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
)

func cutForm(s, form string) (head, rest string, ok bool) {
	if len(s) < len(form) {
		return "", s, false
	}
	for i := range len(form) {
		if form[i] == '-' && s[i] != '-' && s[i] != '_' || form[i] == 'x' && !isHex(s[i]) {
			return "", s, false
		}
	}
	return s[:len(form)], s[len(form):], true
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' }

// longID is a sandbox's or container's id in a directory's name: "cri-containerd-H.scope", "crio-H", "H".
var longID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[0-9a-f]{64}`) })

// Place is where in the tree of pods a cgroup path is.
type Place struct {
	// UID is the pod's uid with dashes, as the API server has it; static pods' have none.
	UID string
	// ID is the sandbox's or container's id, "" for the pod's own directory or when the name has none.
	ID string
	// PodLevel is true for the pod's own directory.
	PodLevel bool
}

// PlaceOf reads a cgroup path as the kernel log names it. It is false for anything that is not in a pod: QoS levels,
// kubepods itself, system services, plain containers.
func PlaceOf(path string) (Place, bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	inPods := false
	for i, part := range parts {
		inPods = inPods || strings.Contains(part, "kubepods")
		uid, colons, ok := podDir(part)
		if !ok || !inPods {
			continue
		}
		p := Place{UID: uid}
		below := parts[i+1:]
		p.PodLevel = len(below) == 0 && colons == ""
		if len(below) > 0 {
			p.ID = longID().FindString(below[0])
		}
		return p, true
	}
	return Place{}, false
}
