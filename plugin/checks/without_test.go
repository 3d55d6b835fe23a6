package checks_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/capture"
	"sandbox-checker/plugin/checks"
)

// mountsOfPod are the mounts of NPD's pod without the CNI's.
const mountsOfPod = `1437 1029 0:129 / / rw - overlay overlay rw
1446 1437 0:25 /containerd /run/containerd ro - tmpfs tmpfs rw
1447 1437 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup2 rw
1448 1437 254:1 /var/log/pods /var/log/pods ro - ext4 /dev/vda1 rw
`

// lacking are healthy nodes that do not let a check see all: one for each of plugin.Lacks, some of several kinds.
func lacking(t *testing.T) map[string][]*capture.File {
	t.Helper()
	log := remove(healthy(t), "/dev/kmsg")
	log.Entries = append(log.Entries, entry(t, "crw------- - /dev/kmsg ! operation not permitted"))
	cni := remove(healthy(t), "/etc/cni", "/opt/cni", "/run/flannel")
	cni.Content["/proc/self/mountinfo"] = []byte(mountsOfPod)
	history := healthy(t)
	history.Entries = append(history.Entries, entry(t, "drwxr-xr-x - /run/sandbox-checker ! permission denied"))
	return map[string][]*capture.File{
		plugin.Lacks[0]: {log},
		plugin.Lacks[1]: {remove(healthy(t), "/sys/fs/cgroup"), remove(healthy(t), "/var/log/pods")},
		plugin.Lacks[2]: {cni},
		plugin.Lacks[3]: {healthy(t), history},
		plugin.Lacks[4]: {mute(t)},
	}
}

// TestWithout holds what a check says of itself to what it does: where a healthy node does not let it see something, it
// works, or it says so with exit 2, as its documentation has it.
func TestWithout(t *testing.T) {
	t.Parallel()
	nodes := lacking(t)
	for i, lack := range plugin.Lacks {
		for _, c := range checks.All() {
			want := plugin.OK
			if strings.Contains(c.Help.Without.Cells()[i], "exit 2") {
				want = plugin.Unknown
			}
			for n, f := range nodes[lack] {
				h, err := f.Host()
				if err != nil {
					t.Fatal(err)
				}
				if v, _ := c.Judge(context.Background(), h, plugin.Defaults()); v.Status != want {
					t.Errorf("%s without %s (%d): exit %d, want %d: %s", c.Name, lack, n, v.Status, want, v.Line)
				}
			}
		}
	}
}

// TestEmptyBinary: an installer's copy begins with an empty file. One that stays empty is a fault.
func TestEmptyBinary(t *testing.T) {
	t.Parallel()
	for since, want := range map[string]int{"2026-03-02T08:59:30Z": 2, "2026-03-02T08:00:00Z": 1} {
		f := remove(healthy(t), "/opt/cni/bin/bridge")
		f.Entries = append(f.Entries, entry(t, "-rwxr-xr-x "+since+" /opt/cni/bin/bridge"))
		f.Content["/opt/cni/bin/bridge"] = []byte{}
		judge(t, f, capture.Want{Check: checks.CNIConfigName, Exit: want, Says: []string{"/opt/cni/bin/bridge is empty"}})
	}
}

func healthy(t *testing.T) *capture.File {
	t.Helper()
	return read(t, "testdata/sandbox-crashloop/healthy.txtar")
}

// mute is the healthy node, whose runtime does not answer.
func mute(t *testing.T) *capture.File {
	t.Helper()
	raw, err := os.ReadFile("testdata/sandbox-crashloop/healthy.txtar")
	if err != nil {
		t.Fatal(err)
	}
	before, _, _ := strings.Cut(string(raw), "-- cri/endpoint --\n")
	f, err := capture.Parse([]byte(before + "-- cri/error --\nconnection refused\n"))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// remove takes all below the paths from the node.
func remove(f *capture.File, paths ...string) *capture.File {
	below := func(p string) bool {
		return slices.ContainsFunc(paths, func(gone string) bool { return p == gone || strings.HasPrefix(p, gone+"/") })
	}
	f.Entries = slices.DeleteFunc(f.Entries, func(e capture.Entry) bool { return below(e.Path) })
	for p := range f.Content {
		if below(p) {
			delete(f.Content, p)
		}
	}
	return f
}

// entry is a line of the section files.
func entry(t *testing.T, line string) capture.Entry {
	t.Helper()
	f, err := capture.Parse([]byte("sandbox-checker capture 1\n-- now --\n2026-03-02T09:00:00Z\n-- files --\n" + line + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return f.Entries[0]
}
