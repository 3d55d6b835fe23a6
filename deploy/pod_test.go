package deploy_test

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sandbox-checker/plugin/checks"
	"sandbox-checker/plugin/cri"
)

const (
	binDir   = "/opt/sandbox-checker"
	stateDir = "/run/sandbox-checker"
	kmsg     = "/dev/kmsg"
)

// sockets are where each build's runtime listens.
var sockets = map[string]string{
	"containerd": "/run/containerd/containerd.sock", "containerd-unprivileged": "/run/containerd/containerd.sock",
	"kind": "/run/containerd/containerd.sock", "existing": "/run/containerd/containerd.sock", "everything": "/run/containerd/containerd.sock",
	"crio": "/run/crio/crio.sock", "cri-dockerd": "/run/cri-dockerd.sock", "k0s": "/run/k0s/containerd.sock",
	"k3s": "/run/k3s/containerd/containerd.sock", "rke2": "/run/k3s/containerd/containerd.sock",
	"microk8s": "/var/snap/microk8s/common/run/containerd.sock",
}

// cniDirs are a build's CNI directories, where they are not the usual ones.
var cniDirs = map[string][]string{
	"k3s":      {"/var/lib/rancher/k3s/agent/etc/cni/net.d", "/var/lib/rancher/k3s/data/cni", "/var/lib/rancher/k3s/data/current/bin"},
	"microk8s": {"/var/snap/microk8s/6089/args/cni-network", "/var/snap/microk8s/current/opt/cni/bin"},
	"kind":     {"/etc/cni/net.d", "/opt/cni/bin", "/run/cni-ipam-state"},
}

// pod is what the tests ask of a pod template; volumes and mounts may come from kustomize or from Helm values.
type pod struct {
	spec, container, init object
	mounts, volumes       []any
}

func podOf(t *testing.T, build string) pod {
	t.Helper()
	spec, _ := at(rendered(t, build), "spec", "template", "spec").(object)
	p := pod{spec: spec, container: named(spec["containers"], "node-problem-detector"), init: named(spec["initContainers"], "sandbox-checker-install")}
	p.mounts, p.volumes = list(p.container["volumeMounts"]), list(spec["volumes"])
	return p
}

// covers says whether the node's path is seen, at the same path.
func (p pod) covers(want string) bool {
	for _, m := range p.mounts {
		at := text(at(m, "mountPath"))
		if want == at || strings.HasPrefix(want, strings.TrimSuffix(at, "/")+"/") {
			return true
		}
	}
	return false
}

var absolute = regexp.MustCompile(`(^|[ (])(/(?:run|sys|var|dev|etc|opt)/[a-z0-9/._-]*[a-z0-9])`)

// helpPaths are the paths that the checks' documentation says are read or needed.
func helpPaths() []string {
	var out []string
	for _, c := range checks.All() {
		for _, line := range append(append([]string{}, c.Help.Reads...), c.Help.Needs...) {
			for _, m := range absolute.FindAllStringSubmatch(line, -1) {
				if !slices.Contains(out, m[2]) {
					out = append(out, m[2])
				}
			}
		}
	}
	return out
}

func TestPods(t *testing.T) {
	t.Parallel()
	paths := helpPaths()
	for _, want := range []string{kmsg, stateDir, "/sys/fs/cgroup", "/var/log/pods", "/run/flannel", "/var/lib/calico"} {
		if !slices.Contains(paths, want) {
			t.Errorf("help names no %s: the rule below looks at nothing", want)
		}
	}
	for name := range builds(t) {
		t.Run(name, func(t *testing.T) {
			p := podOf(t, name)
			if p.spec["hostNetwork"] != true || p.spec["dnsPolicy"] != "Default" || p.spec["priorityClassName"] != "system-node-critical" {
				t.Errorf("hostNetwork %v, dnsPolicy %v, priorityClassName %v", p.spec["hostNetwork"], p.spec["dnsPolicy"], p.spec["priorityClassName"])
			}
			checkTolerations(t, p.spec["tolerations"])
			checkInit(t, p.init, p.volumes)
			checkMounts(t, p)
			unprivileged := name == "containerd-unprivileged"
			checkRights(t, p, unprivileged)
			checkResources(t, p.container)
			checkFlag(t, p.container["command"], "/etc/sandbox-checker/")
			if text(at(named(p.volumes, "sc-config"), "configMap", "name")) != "sandbox-checker-config-HASH" {
				t.Errorf("ConfigMap %v", named(p.volumes, "sc-config"))
			}
			for _, want := range append(append(cniDirsOf(name), sockets[name], "/var/lib/cni"), paths...) {
				if !p.covers(want) && (want != kmsg || !unprivileged) {
					t.Errorf("%s is not mounted", want)
				}
			}
			if sockets[name] == "" || !slices.Contains(cri.KnownSockets(), sockets[name]) {
				t.Errorf("%q is no socket that the program tries", sockets[name])
			}
		})
	}
	for _, s := range cri.KnownSockets() {
		found := false
		for _, used := range sockets {
			found = found || used == s
		}
		if !found {
			t.Errorf("no overlay for the runtime at %s", s)
		}
	}
}

func cniDirsOf(build string) []string {
	if dirs := cniDirs[build]; dirs != nil {
		return slices.Clone(dirs)
	}
	return []string{"/etc/cni/net.d", "/opt/cni/bin"}
}

func checkTolerations(t *testing.T, v any) {
	t.Helper()
	if l := list(v); len(l) != 1 || len(l[0].(object)) != 1 || at(l, 0, "operator") != "Exists" {
		t.Errorf("tolerations %v: want one for every taint", v)
	}
}

// checkInit: without the program in place NPD does not start.
func checkInit(t *testing.T, init object, volumes []any) {
	t.Helper()
	if text(init["image"]) != "registry.example.com/sandbox-checker:dev" && text(init["image"]) != "localhost/sandbox-checker:dev" {
		t.Errorf("init container's image %v", init["image"])
	}
	args := list(init["args"])
	if len(args) != 2 || args[0] != "install" || args[1] != binDir {
		t.Errorf("init container runs %v", args)
	}
	if at(init, "volumeMounts", 0, "mountPath") != binDir || at(init, "volumeMounts", 0, "readOnly") == true {
		t.Errorf("init container mounts %v", init["volumeMounts"])
	}
	if _, ok := at(named(volumes, text(at(init, "volumeMounts", 0, "name"))), "emptyDir").(object); !ok {
		t.Errorf("%s is no emptyDir", binDir)
	}
	if at(init, "securityContext", "readOnlyRootFilesystem") != true || at(init, "securityContext", "allowPrivilegeEscalation") != false ||
		at(init, "securityContext", "runAsNonRoot") != true || at(init, "securityContext", "capabilities", "drop", 0) != "ALL" {
		t.Errorf("init container may %v", init["securityContext"])
	}
	for _, c := range configRules(t) {
		if path.Dir(c) != binDir {
			t.Errorf("config/ runs %s, installed is into %s", c, binDir)
		}
	}
}

// configRules are the programs that config/ names.
func configRules(t *testing.T) []string {
	t.Helper()
	var out []string
	for name, raw := range configs(t) {
		for _, r := range list(at(documents(t, name, raw)[0], "rules")) { // JSON is YAML
			out = append(out, text(at(r, "path")))
		}
	}
	return out
}

// checkMounts: same paths, read-only, nothing made on the node but our own directory.
func checkMounts(t *testing.T, p pod) {
	t.Helper()
	used := map[string]bool{"sc-bin": true}
	for _, m := range p.mounts {
		name, where := text(at(m, "name")), text(at(m, "mountPath"))
		used[name] = true
		v := named(p.volumes, name)
		if v == nil {
			t.Errorf("mount %s: no volume %s", where, name)
		}
		if ro := at(m, "readOnly") == true; ro == (where == stateDir) {
			t.Errorf("mount %s: read-only %v", where, ro)
		}
		host, ok := v["hostPath"].(object)
		if !ok {
			continue
		}
		if host["path"] != where {
			t.Errorf("mount %s is %v on the node: the runtime and CNI files name the node's paths", where, host["path"])
		}
		want := map[string]string{stateDir: "DirectoryOrCreate", kmsg: "CharDevice", "/run/cri-dockerd.sock": "Socket"}[where]
		if text(host["type"]) != want {
			t.Errorf("%s: type %q, want %q", where, host["type"], want)
		}
		if where == "/run" || where == "/" {
			t.Errorf("%s as a whole hides the pod's own", where)
		}
	}
	for _, v := range p.volumes {
		if name := text(at(v, "name")); !used[name] && name != "kmsg" { // replaced by ours, in the build "existing"
			t.Errorf("volume %s is not mounted", name)
		}
	}
}

func checkRights(t *testing.T, p pod, unprivileged bool) {
	t.Helper()
	c := p.container["securityContext"]
	if !unprivileged {
		if at(c, "privileged") != true {
			t.Errorf("not privileged: %s cannot be read", kmsg)
		}
		return
	}
	if at(c, "privileged") != false || at(c, "runAsUser") != 0 || at(c, "readOnlyRootFilesystem") != true || at(c, "allowPrivilegeEscalation") != false ||
		len(list(at(c, "capabilities", "drop"))) != 1 || at(c, "capabilities", "drop", 0) != "ALL" || at(c, "capabilities", "add") != nil {
		t.Errorf("may %v", c)
	}
	if p.covers(kmsg) || p.spec["hostPID"] != nil {
		t.Errorf("%s mounted %v, hostPID %v", kmsg, p.covers(kmsg), p.spec["hostPID"])
	}
}

// checkResources: upstream's 10m and 80Mi starve the checks.
func checkResources(t *testing.T, c object) {
	t.Helper()
	want := map[string]string{"limits/cpu": "500m", "limits/memory": "256Mi", "requests/cpu": "50m", "requests/memory": "64Mi"}
	for key, v := range want {
		kind, what, _ := strings.Cut(key, "/")
		if got := text(at(c, "resources", kind, what)); got != v {
			t.Errorf("%s %q, want %s", key, got, v)
		}
	}
}

// checkFlag: all files of config/, and no other of ours, are on NPD's command line.
func checkFlag(t *testing.T, command any, dir string) {
	t.Helper()
	var got []string
	for _, c := range list(command) {
		if files, ok := strings.CutPrefix(text(c), "--config.custom-plugin-monitor="); ok {
			got = append(got, strings.Split(files, ",")...)
		}
	}
	checkFiles(t, got, dir)
}

func checkFiles(t *testing.T, got []string, dir string) {
	t.Helper()
	var want []string
	for name := range configs(t) {
		want = append(want, dir+name)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("NPD is given %q, want %q", got, want)
	}
}
