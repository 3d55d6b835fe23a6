package checks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/capture"
	"sandbox-checker/plugin/checks"
	"sandbox-checker/plugin/cri"
)

// FuzzHostileTexts: whatever pods, files, the kernel and the runtime call themselves, each check says one line that
// node-problem-detector can take, with no command or format in it, and never panics.
func FuzzHostileTexts(f *testing.F) {
	f.Add("web", "default", "main", "podnet", "bridge", "cni plugin not initialized", "runc")
	f.Add("a%s%n", "$(reboot)", "`id`", "n\x1b[2J", "../../bin/sh", "%!d(MISSING)\n\r\"", "x\" y'")
	f.Add("a\n6,1,2,-;x", "_", "\\", "{\"", "\u202e", "line\u2028sep", strings.Repeat("%", 300))
	f.Fuzz(func(t *testing.T, name, namespace, container, network, typ, message, task string) {
		f := hostileNode(t, "{}", "")
		const uid = "5f1c7d52-0000-4000-8000-000000000000"
		info := asJSON(t, map[string]any{
			"cniconfig":         map[string]any{"PluginConfDir": confDir, "PluginDirs": []string{"/opt/cni/bin"}},
			"lastCNILoadStatus": message,
			"status": map[string]any{"conditions": []any{map[string]any{"type": "RuntimeReady", "status": true},
				map[string]any{"type": "NetworkReady", "status": len(message)%2 == 0, "message": message, "reason": message}}},
		})
		var pods []any
		for i := range 6 {
			pods = append(pods, map[string]any{"id": fmt.Sprintf("s%d", i), "state": "SANDBOX_NOTREADY",
				"createdAt": fmt.Sprint(1772441900000000000 + int64(i)*60_000_000_000),
				"metadata":  map[string]any{"name": name, "namespace": namespace, "uid": uid, "attempt": i}})
		}
		ps := []any{map[string]any{"id": "c0", "podSandboxId": "s0", "state": "CONTAINER_CREATED", "createdAt": "1772400000000000000",
			"metadata": map[string]any{"name": container}}}
		f.SetCRI(cri.Records{Socket: "/run/containerd/containerd.sock", Info: info,
			Pods: asJSON(t, map[string]any{"items": pods}), Containers: asJSON(t, map[string]any{"containers": ps})})
		f.Content[confDir+"/10-x.conflist"] = asJSON(t, map[string]any{"cniVersion": "1.0.0", "name": network, "plugins": []any{map[string]any{"type": typ}}})
		f.Content["/sys/fs/cgroup/cgroup.controllers"] = []byte("memory\n")
		dir := "/sys/fs/cgroup/kubepods/burstable/pod" + uid + "/"
		f.Content[dir+"memory.max"], f.Content[dir+"memory.current"], f.Content[dir+"memory.events"] = []byte("0\n"), []byte("0\n"), []byte("oom 4\n")
		f.Entries = append(f.Entries, capture.Entry{Path: "/var/log/pods/default_x_" + uid, Mode: 0o755 | fs.ModeDir})
		f.Content["/dev/kmsg"] = []byte("4,1,7100000000,-;" + task + " invoked oom-killer: gfp_mask=0xcc0\n" +
			"6,2,7100000001,-;oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/kubepods/burstable/pod" + uid + ",task_memcg=/kubepods/burstable/pod" + uid + "/" + task + ",task=" + task + ",pid=7,uid=0\n" +
			"3,3,7100000002,-;Memory cgroup out of memory: Killed process 7 (" + task + ") total-vm:1kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:1kB oom_score_adj:-998\n")
		for _, c := range checks.All() {
			h, err := f.Host()
			if err != nil {
				t.Skip(err)
			}
			v, r := c.Judge(context.Background(), h, plugin.Defaults())
			wellFormed(t, v.Line)
			wellFormed(t, h.News(v, r).Line)
			if strings.Contains(v.Line, "internal error") {
				t.Errorf("%s: a panic: %s", c.Name, v.Line)
			}
			for _, x := range append(r.Findings, r.Asides...) {
				for _, step := range x.Steps {
					if strings.HasPrefix(step, "kubectl ") && strings.ContainsAny(step, "$`;|&<>\\\"'\n") || strings.HasPrefix(step, "crictl ") && strings.ContainsAny(step, "$`;|&<>\\\"'\n") {
						t.Errorf("%s: a command to copy: %q", c.Name, step)
					}
				}
			}
		}
	})
}

func asJSON(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
