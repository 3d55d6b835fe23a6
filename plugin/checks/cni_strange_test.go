package checks_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/capture"
	"sandbox-checker/plugin/checks"
)

// ofKubelet are two mounts that the kubelet makes in every container.
const ofKubelet = `1440 1437 254:1 /var/lib/kubelet/pods/1f0e/containers/npd/7a1b2c3d /dev/termination-log rw - ext4 /dev/vda1 rw
1441 1437 254:1 /var/lib/kubelet/pods/1f0e/etc-hosts /etc/hosts rw - ext4 /dev/vda1 rw
1445 1437 254:1 /etc/cni/net.d /etc/cni/net.d ro - ext4 /dev/vda1 rw
`

// emptied is the healthy node, whose plugins' directory is empty, with one more line in its table of mounts.
func emptied(t *testing.T, mounts string) *capture.File {
	t.Helper()
	f := remove(healthy(t), "/opt/cni/bin")
	f.Entries = append(f.Entries, entry(t, "drwxr-xr-x 2026-02-10T08:00:00Z /opt/cni/bin"))
	f.Content["/proc/self/mountinfo"] = []byte(mountsOfPod + mounts)
	return f
}

// TestEmptyDirectoryOfPlugins: inside a pod, what is mounted over the plugins' directory tells whether it is the node's. On a
// node, with whatever mount, an empty directory has lost its plugins.
func TestEmptyDirectoryOfPlugins(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mounts string
		want   int
	}{
		"the node's":                 {ofKubelet + "1447 1437 254:1 /opt/cni/bin /opt/cni/bin ro - ext4 /dev/vda1 rw\n", 1},
		"the node's, of a subvolume": {ofKubelet + "1447 1437 0:40 /@/opt/cni/bin /opt/cni/bin ro - btrfs /dev/vda1 rw\n", 1},
		"the node's, through a link": {ofKubelet + "1447 1437 254:1 /var/opt/cni/bin /opt/cni/bin ro - ext4 /dev/vda1 rw\n", 1},
		"a file system at /opt":      {ofKubelet + "1447 1437 254:2 /cni/bin /opt/cni/bin ro - ext4 /dev/vdb1 rw\n", 1},
		"a file system of its own":   {ofKubelet + "1447 1437 254:2 / /opt/cni/bin ro - ext4 /dev/vdb1 rw\n", 1},
		"the node's on an overlay":   {ofKubelet + "1447 1437 0:31 /opt/cni/bin /opt/cni/bin ro - overlay overlay rw\n", 1},
		"emptyDir":                   {ofKubelet + "1447 1437 254:1 /var/lib/kubelet/pods/1f0e/volumes/kubernetes.io~empty-dir/bin /opt/cni/bin rw - ext4 /dev/vda1 rw\n", 2},
		"emptyDir in memory":         {ofKubelet + "1447 1437 0:99 / /opt/cni/bin rw - tmpfs tmpfs rw\n", 2},
		"configMap":                  {ofKubelet + "1447 1437 254:1 /var/lib/kubelet/pods/1f0e/volumes/kubernetes.io~configmap/x /opt/cni/bin ro - ext4 /dev/vda1 rw\n", 2},
		"another path of the node":   {ofKubelet + "1447 1437 254:1 /srv/empty /opt/cni/bin ro - ext4 /dev/vda1 rw\n", 2},
		"a volume of the image":      {ofKubelet + "1447 1437 254:1 /var/lib/containerd/io.containerd.grpc.v1.cri/containers/7a1b/volumes/9c /opt/cni/bin rw - ext4 /dev/vda1 rw\n", 2},
		"the image's own directory":  {ofKubelet, 2},
		"only the log is mounted":    {strings.SplitAfter(ofKubelet, "\n")[0] + "1447 1437 0:99 / /opt/cni/bin rw - tmpfs tmpfs rw\n", 2},
		"only the hosts are":         {strings.SplitAfter(ofKubelet, "\n")[1] + "1447 1437 0:99 / /opt/cni/bin rw - tmpfs tmpfs rw\n", 2},
		"on the node, bind mount":    {"1447 1437 254:1 /data/cni /opt/cni/bin rw - ext4 /dev/vda1 rw\n", 1},
		"on the node, file system":   {"1447 1437 254:2 / /opt/cni/bin rw - ext4 /dev/vdb1 rw\n", 1},
		"on the node, in memory":     {"1447 1437 0:99 / /opt/cni/bin rw - tmpfs tmpfs rw\n", 1},
		"on the node, hosts mounted": {"1441 1437 254:1 /etc/hosts.node /etc/hosts rw - ext4 /dev/vda1 rw\n1447 1437 254:1 /data/cni /opt/cni/bin rw - ext4 /dev/vda1 rw\n", 1},
		"on the node, no mount":      {"", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			says := []string{"/opt/cni/bin"}
			if c.want == 2 {
				says = append(says, "could not look", "not the directory of the node")
			}
			want := capture.Want{Check: checks.CNIConfigName, Exit: c.want, Says: says}
			judge(t, emptied(t, c.mounts), want)
			judge(t, redacted(t, emptied(t, c.mounts)), want)
		})
	}
}

// TestPluginMissingAmongOthers: where the node's other plugins are seen, the directory is the node's, and the missing one is a
// fault, whatever its mount looks like.
func TestPluginMissingAmongOthers(t *testing.T) {
	t.Parallel()
	f := remove(healthy(t), "/opt/cni/bin/bridge")
	f.Content["/proc/self/mountinfo"] = []byte(mountsOfPod + ofKubelet + "1447 1437 254:1 /srv/plugins /opt/cni/bin ro - ext4 /dev/vda1 rw\n")
	judge(t, f, capture.Want{Check: checks.CNIConfigName, Exit: 1, Says: []string{"bridge"}})
}

// TestLoopWithoutSightOfCNI: one pod fails and the CNI, which may be why, cannot be seen. One pod is no proof against the node, and
// a node that one bad pod could make unknown would be tainted for it: sandbox-crashloop says what it could not look at and
// stays at exit 0, cni-config is exit 2, and the event names the pod.
func TestLoopWithoutSightOfCNI(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"cause-unknown-one-pod", "cause-cni-one-pod"} {
		for _, unseen := range [][]string{{"/etc/cni", "/opt/cni", "/run/flannel"}, {"/etc/cni"}, {"/opt/cni"}} {
			f := remove(read(t, "testdata/sandbox-crashloop/"+name+".txtar"), unseen...)
			f.Content["/proc/self/mountinfo"] = []byte(mountsOfPod)
			if slices.Contains(unseen, "/opt/cni") && len(unseen) == 1 && name == "cause-cni-one-pod" {
				continue // the missing subnet.env is seen, and tells
			}
			h, err := f.Host()
			if err != nil {
				t.Fatal(err)
			}
			if v, _ := checks.CNIConfig.Judge(context.Background(), h, plugin.Defaults()); v.Status != plugin.Unknown {
				t.Errorf("%s without %v: cni-config: exit %d: %s", name, unseen, v.Status, v.Line)
			}
			v, r := checks.SandboxCrashLoop.Judge(context.Background(), h, plugin.Defaults())
			if v.Status != plugin.OK || !strings.Contains(v.Line, "could not be looked at: "+unseen[0]) {
				t.Errorf("%s without %v: exit %d: %s", name, unseen, v.Status, v.Line)
			}
			if news := h.News(v, r); news.Status != plugin.Problem {
				t.Errorf("%s without %v: event: exit %d: %s", name, unseen, news.Status, news.Line)
			}
		}
	}
}

// TestBinaryPerhapsInAnUnseenDirectory: the runtime looks in two directories, and of one that is not mounted here nothing is known.
func TestBinaryPerhapsInAnUnseenDirectory(t *testing.T) {
	t.Parallel()
	twoDirs := func() *capture.File {
		f := remove(healthy(t), "/opt/cni/bin/bridge")
		f.CRI.Info = bytes.Replace(f.CRI.Info, []byte(`"PluginDirs": [`), []byte(`"PluginDirs": ["/usr/libexec/cni",`), 1)
		return f
	}
	const mounted = mountsOfPod + ofKubelet + "1447 1437 254:1 /opt/cni/bin /opt/cni/bin ro - ext4 /dev/vda1 rw\n"
	for name, c := range map[string]struct {
		mounts string
		want   capture.Want
	}{
		"one is not mounted":     {mounted, capture.Want{Exit: 2, Says: []string{"bridge", "/usr/libexec/cni", "not mounted"}}},
		"both are":               {mounted + "1448 1437 254:1 /usr/libexec/cni /usr/libexec/cni ro - ext4 /dev/vda1 rw\n", capture.Want{Exit: 1, Says: []string{"bridge", "/usr/libexec/cni"}}},
		"on the node, no such":   {"", capture.Want{Exit: 1, Says: []string{"bridge"}}},
		"on the node, with /usr": {"30 1 254:1 / / rw - ext4 /dev/vda1 rw\n31 30 254:2 / /usr rw - ext4 /dev/vdb1 rw\n", capture.Want{Exit: 1, Says: []string{"bridge"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := twoDirs()
			if c.mounts != "" {
				f.Content["/proc/self/mountinfo"] = []byte(c.mounts)
			}
			c.want.Check = checks.CNIConfigName
			judge(t, f, c.want)
		})
	}
}

// TestNetworkDownWithoutACause: the line says that none is given, it has no empty place for one.
func TestNetworkDownWithoutACause(t *testing.T) {
	t.Parallel()
	for _, message := range []string{"", "Network plugin returns error: "} {
		f := read(t, "testdata/cni-config/dir-001-flannel-current-crio.txtar")
		f.CRI.Info = bytes.Replace(f.CRI.Info, []byte(`"NetworkReady", "status": true, "reason": "", "message": ""`),
			fmt.Appendf(nil, `"NetworkReady", "status": false, "reason": "NetworkPluginNotReady", "message": %q`, message), 1)
		judge(t, f, capture.Want{Check: checks.CNIConfigName, Exit: 1, Says: []string{"the network is not ready, the runtime gives no cause;"}})
	}
}

// TestCRIOBetweenItsStates: before CRI-O has asked its plugins for the first time, and when it goes, it says that the network is not
// ready and means itself. What it says for long is a plugin that does not answer.
func TestCRIOBetweenItsStates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why  string
		up   time.Duration // CRI-O
		exit int
	}{
		{"plugin status uninitialized", 300 * time.Millisecond, 2},
		{"plugin status uninitialized", time.Hour, 1},
		{"CNI manager shut down", time.Hour, 2},
		{"the agent has not written its state", 300 * time.Millisecond, 1},
	} {
		f := remove(read(t, "testdata/cni-config/dir-001-flannel-current-crio.txtar"), "/var/run/crio/crio.sock")
		f.Entries = append(f.Entries, entry(t, "srw-rw---- "+f.Now.Add(-c.up).Format(time.RFC3339Nano)+" /var/run/crio/crio.sock"))
		f.CRI.Info = bytes.Replace(f.CRI.Info, []byte(`"NetworkReady", "status": true, "reason": "", "message": ""`),
			fmt.Appendf(nil, `"NetworkReady", "status": false, "reason": "NetworkPluginNotReady", "message": "Network plugin returns error: %s"`, c.why), 1)
		judge(t, f, capture.Want{Check: checks.CNIConfigName, Exit: c.exit, Says: []string{c.why}})
	}
}
