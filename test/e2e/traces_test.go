package e2e

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// mountsBelow lists mount points, the innermost first.
func mountsBelow(dir string) []string {
	table, _ := os.ReadFile("/proc/self/mountinfo")
	var found []string
	for line := range strings.Lines(string(table)) {
		if fields := strings.Fields(line); len(fields) > 4 && below(fields[4], dir) {
			found = append(found, fields[4])
		}
	}
	slices.Reverse(found)
	return found
}

// unmountBelow detaches: a network namespace or an overlay may still be busy for a moment.
func unmountBelow(dir string) {
	for _, mount := range mountsBelow(dir) {
		_ = syscall.Unmount(mount, syscall.MNT_DETACH)
	}
}

// removeShimSockets removes the sockets of our shims. They lie in one directory for all containerds of a machine,
// under hashed names; only the bundle in our state directory tells which are ours.
func removeShimSockets(dir string) {
	bundles, _ := filepath.Glob(filepath.Join(dir, "*/state/io.containerd.runtime.v2.task/k8s.io/*"))
	own, _ := filepath.Glob(filepath.Join(dir, "state/io.containerd.runtime.v2.task/k8s.io/*"))
	for _, bundle := range append(bundles, own...) {
		if socket := shimSocket(bundle); below(socket, "/run/containerd/s") {
			_ = os.Remove(socket)
		}
	}
	// Both go only when empty, so only when no other containerd uses them.
	_ = os.Remove("/run/containerd/s")
	_ = os.Remove("/run/containerd")
}

// shimSocket reads where a shim listens: containerd 1 writes the bare address, containerd 2 a bootstrap.json around it.
func shimSocket(bundle string) string {
	address, _ := os.ReadFile(filepath.Join(bundle, "address"))
	if raw, err := os.ReadFile(filepath.Join(bundle, "bootstrap.json")); err == nil {
		var bootstrap struct{ Address string }
		_ = json.Unmarshal(raw, &bootstrap) // half written is as good as none
		address = []byte(bootstrap.Address)
	}
	return strings.TrimPrefix(string(address), "unix://")
}

// removeCNICache removes libcni's records of our sandboxes. Their directory is fixed, but each record names the network
// namespace, which lies in our own directory.
func removeCNICache(dir string) {
	records, _ := filepath.Glob("/var/lib/cni/results/*")
	for _, record := range records {
		content, _ := os.ReadFile(record)
		if strings.Contains(string(content), dir+"/") {
			_ = os.Remove(record)
		}
	}
	_ = os.Remove("/var/lib/cni/results") // goes only when empty
	_ = os.Remove("/var/lib/cni")
}

func linksNamed(name string) []string {
	if _, err := net.InterfaceByName(name); err != nil {
		return nil
	}
	return []string{name}
}

// portsOf lists the host ends of veth pairs that hang on the bridge.
func portsOf(bridge string) []string {
	ports, _ := filepath.Glob("/sys/class/net/" + bridge + "/brif/*")
	return ports
}

func deleteLink(name string) {
	if len(linksNamed(name)) > 0 {
		_ = exec.Command("ip", "link", "delete", name).Run()
	}
}
