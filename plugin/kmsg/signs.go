package kmsg

import (
	"strconv"
	"strings"
)

// IsHelper says whether a process of this name starts sandboxes and containers. runc runs as a copy of itself, whose name
// is "exe" or the number of a file descriptor; a VM runtime's is the hypervisor.
func IsHelper(name string) bool {
	switch name {
	case "exe", "runc", "crun", "conmon", "pause", "youki", "runsc",
		"qemu-system-x86", "virtiofsd", "containerd-shim":
		return true
	}
	if _, err := strconv.ParseUint(name, 10, 16); err == nil {
		return true
	}
	return strings.HasPrefix(name, "runc:[") || strings.HasPrefix(name, "runc-") || strings.HasPrefix(name, "crun-")
}

// DeniesRunc finds AppArmor's audit line: audit: type=1400 ... apparmor="DENIED" operation="..." profile="runc" comm="runc".
func DeniesRunc(text string) bool {
	return strings.Contains(text, `apparmor="DENIED"`) &&
		(strings.Contains(text, `profile="runc"`) || strings.Contains(text, `comm="runc`) || strings.Contains(text, `peer="runc"`))
}

// cgroupMount is where the paths of userspace OOM killers begin.
const cgroupMount = "/sys/fs/cgroup"

// UserspaceKill reads Talos' line: [talos] Sending SIGKILL to cgroup {... "cgroup": "/sys/fs/cgroup/kubepods/.../podU"}.
// It returns the cgroup as the kernel would name it, and false for any other text.
func UserspaceKill(text string) (string, bool) {
	if !strings.Contains(text, "Sending SIGKILL to cgroup") {
		return "", false
	}
	_, rest, ok := strings.Cut(text, `"cgroup": "`)
	path, _, closed := strings.Cut(rest, `"`)
	return strings.TrimPrefix(path, cgroupMount), ok && closed
}
