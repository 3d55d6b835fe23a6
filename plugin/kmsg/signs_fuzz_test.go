package kmsg

import (
	"strings"
	"testing"
)

// FuzzSigns: audit lines and the lines of userspace OOM killers. A path is a piece of the text, and no sign is seen where its
// words are not.
func FuzzSigns(f *testing.F) {
	for _, s := range []string{
		`audit: type=1400 audit(1796060640.123:45): apparmor="DENIED" operation="signal" class="signal" profile="runc" pid=4711 comm="runc" requested_mask="receive"`,
		`audit: type=1400 audit(1.2:3): apparmor="ALLOWED" operation="open" profile="runc" name="/proc/sys" comm="cat"`,
		`audit: type=1400 apparmor="DENIED" operation="mount" profile="cri-containerd.apparmor.d" peer="runc"`,
		`[talos] Sending SIGKILL to cgroup {"component": "controller-runtime", "cgroup": "/sys/fs/cgroup/kubepods/burstable/pod5f1c7d52-0000-4000-8000-000000000000"}`,
		`Sending SIGKILL to cgroup {"cgroup": "`, `Sending SIGKILL to cgroup {"cgroup": ""}`, "",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path, ok := UserspaceKill(text)
		if ok && (!strings.Contains(text, path) || strings.Contains(path, `"`)) {
			t.Errorf("%q of %q", path, text)
		}
		if DeniesRunc(text) && (!strings.Contains(text, "DENIED") || !strings.Contains(text, "runc")) {
			t.Errorf("denied: %q", text)
		}
	})
}
