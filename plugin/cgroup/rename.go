package cgroup

import (
	"regexp"
	"strings"
	"sync"
)

// commonParts are parts of cgroup paths that every node has.
var commonParts = map[string]bool{"": true, "system.slice": true, "user.slice": true, "machine.slice": true, "runtime.slice": true,
	"init.scope": true, "kubelet": true, "kubelet.slice": true, "burstable": true, "besteffort": true, "docker": true,
	"containerd.service": true, "crio.service": true, "docker.service": true, "kubelet.service": true, "k3s.service": true,
	"memory": true, "unified": true, "systemd": true}

var (
	// kernelFile matches the files of a cgroup, as far as controllers of the kernel name them.
	kernelFile = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(cgroup|memory|cpu|cpuset|io|pids|hugetlb|rdma|misc|irq|tasks|notify_on_release)(\.[a-z0-9_.]+)?$`)
	})
	unitName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\.(slice|scope|service|mount|socket|swap)$`) })
	// podsPart matches a level above the pods; what stands before kubepods is the --cgroup-root of systemd.
	podsPart = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(.*?)(kubepods(?:-burstable|-besteffort)?(?:\.slice)?)$`)
	})
	podPart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(.*-)?(pod[^:]*)(:.*)?$`) })
	// idPart matches a sandbox's or container's directory, as runtimes name it.
	idPart = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^:?(?:cri-containerd|crio|crio-conmon|docker|libpod|kata)?[:_-]?[0-9a-f]{64}(?:\.scope)?$`)
	})
)

// Renamed returns a cgroup's path with every part renamed that is not the kernel's, systemd's or the kubelet's own.
// [PlaceOf] says the same of it, and name is asked for the same word each time.
func Renamed(path string, name func(string) string) string {
	parts := strings.Split(path, "/")
	inPods := false
	for i, part := range parts {
		inPods = inPods || strings.Contains(part, "kubepods")
		if _, _, isPod := podDir(part); inPods && isPod {
			parts[i] = renamedPod(part, name)
			continue
		}
		parts[i] = renamedPart(part, name)
	}
	return strings.Join(parts, "/")
}

func renamedPart(part string, name func(string) string) string {
	if commonParts[part] || idPart().MatchString(part) || kernelFile().MatchString(part) && !unitName().MatchString(part) {
		return part
	}
	if id := longID().FindString(part); id != "" {
		return id
	}
	return renamedLevel(part, name)
}

// renamedLevel keeps the word kubepods, by which pods are known.
func renamedLevel(part string, name func(string) string) string {
	switch m := podsPart().FindStringSubmatch(part); {
	case m != nil && (m[1] == "" || m[1] == "kubelet-"):
		return part
	case m != nil:
		return name(strings.TrimSuffix(m[1], "-")) + "-" + m[2]
	case strings.Contains(part, "kubepods"):
		return name(part) + "-kubepods"
	}
	return name(part)
}

// renamedPod keeps the uid, the QoS level and which driver named it.
func renamedPod(part string, name func(string) string) string {
	m := podPart().FindStringSubmatch(part)
	if m == nil {
		return name(part)
	}
	before, after := strings.TrimSuffix(m[1], "-"), m[3]
	if before != "" {
		before = renamedLevel(before, name) + "-"
	}
	if after != "" && !idPart().MatchString(after) {
		after = ":" + name(strings.TrimLeft(after, ":"))
	}
	return before + m[2] + after
}
