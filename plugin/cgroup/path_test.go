package cgroup

import (
	"regexp"
	"strings"
	"testing"
)

const (
	dashed = "00e5b96b-ee8a-411e-a141-412f7a87a996"
	under  = "00e5b96b_ee8a_411e_a141_412f7a87a996"
	static = "d5238ada67994eb48defccc96dfbcf84"
	id     = "ef28909135d754ab7963a5197cc0703210917a2f9c2d4a7b8da3d434b6cc333a"
	other  = "0b27c158feb36ab18a10ff687909ec730ece6280581dd407e2672359be7725dd"
)

// TestPlaceOf: the shapes that paths have in kernel logs, by driver, runtime and nesting.
func TestPlaceOf(t *testing.T) {
	t.Parallel()
	const slice = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + under + ".slice"
	pod := Place{UID: dashed, PodLevel: true}
	in := Place{UID: dashed, ID: id}
	for name, tc := range map[string]struct {
		path string
		want Place
	}{
		"guaranteed":                     {"/kubepods/pod" + dashed, pod},
		"guaranteed, below":              {"/kubepods/pod" + dashed + "/" + id, in},
		"burstable":                      {"/kubepods/burstable/pod" + dashed, pod},
		"burstable, below":               {"/kubepods/burstable/pod" + dashed + "/" + id, in},
		"besteffort, below":              {"/kubepods/besteffort/pod" + dashed + "/" + id, in},
		"systemd, guaranteed":            {"/kubepods.slice/kubepods-pod" + under + ".slice", pod},
		"systemd, guaranteed, bare id":   {"/kubepods.slice/kubepods-pod" + under + ".slice/" + id, in},
		"systemd, burstable":             {slice, pod},
		"systemd, docker":                {slice + "/docker-" + id + ".scope", in},
		"systemd, containerd":            {slice + "/cri-containerd-" + id + ".scope", in},
		"systemd, CRI-O":                 {slice + "/crio-" + id + ".scope", in},
		"systemd, CRI-O's monitor":       {slice + "/crio-conmon-" + id + ".scope", in},
		"systemd, besteffort":            {"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" + under + ".slice", pod},
		"cgroupfs, CRI-O's monitor":      {"/kubepods/pod" + dashed + "/crio-conmon-" + id, in},
		"literal colons":                 {"/system.slice/containerd.service/kubepods-burstable-pod" + under + ".slice:cri-containerd:" + id, Place{UID: dashed}},
		"literal colons, a name":         {"/system.slice/containerd.service/kubepods-burstable-pod" + under + ".slice:cri-containerd:webapp", Place{UID: dashed}},
		"kind":                           {"/system.slice/docker-" + other + ".scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-pod" + under + ".slice", pod},
		"kind, below":                    {"/system.slice/docker-" + other + ".scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-pod" + under + ".slice/cri-containerd-" + id + ".scope", in},
		"kind, cgroupfs":                 {"/docker/" + other + "/kubelet/kubepods/burstable/pod" + dashed + "/" + id, in},
		"minikube":                       {"/system.slice/docker-" + other + ".scope" + slice, pod},
		"LXC":                            {"/lxc.payload.n1-lxc" + slice + "/cri-containerd-" + id + ".scope", in},
		"kata":                           {slice + "/kata_" + id, in},
		"below a container":              {"/kubepods/burstable/pod" + dashed + "/" + id + "/super-agent", in},
		"docker in docker":               {"/kubepods/burstable/pod" + dashed + "/" + id + "/docker/" + other, in},
		"static pod":                     {"/kubepods/burstable/pod" + static, Place{UID: static, PodLevel: true}},
		"static pod, below":              {"/kubepods/pod" + static + "/" + id, Place{UID: static, ID: id}},
		"static pod, systemd":            {"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + static + ".slice/crio-" + id + ".scope", Place{UID: static, ID: id}},
		"a trailing slash":               {"/kubepods/burstable/pod" + dashed + "/", pod},
		"no leading slash":               {"kubepods/burstable/pod" + dashed, pod},
		"a directory that is no id":      {"/kubepods/burstable/pod" + dashed + "/init.scope", Place{UID: dashed}},
		"a cgroup root of the kubelet's": {"/k8s/kubepods/burstable/pod" + dashed, pod},
	} {
		got, ok := PlaceOf(tc.path)
		if !ok || got != tc.want {
			t.Errorf("%s: %+v %v, want %+v", name, got, ok, tc.want)
		}
	}
}

// TestNoPlace: what is in no pod, or cannot be told.
func TestNoPlace(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		"", "/", "//", "kubepods", "/kubepods", "/kubepods/", "/kubepods.slice", "/kubepods/burstable", "/kubepods.slice/kubepods-besteffort.slice",
		"/podruntime.slice", "/podruntime.slice/kubelet.service", "/system.slice/docker.service", "/docker/" + id, "/machine.slice/libpod-" + id + ".scope",
		"/user.slice/user-1000.slice/user@1000.service/app.slice/run-u...",
		"/kubepods/burstable/pod", "/kubepods/burstable/podx", "/kubepods/burstable/pod" + dashed[:30], "/kubepods/burstable/pod" + static[:31],
		"/kubepods/burstable/pod" + dashed + "0", "/kubepods/burstable/pod" + strings.ToUpper(dashed), "/kubepods/burstable/pod" + dashed + ".service",
		"/kubepods/burstable/xpod" + dashed, "/kubepods/burstable/" + dashed, "/kubepods/burstable/pod" + dashed + "\n",
		"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod6d7b5ddc_abb6_4737_a83b_005e8adac4",
		"/system.slice/pod" + dashed, // no directory of the kubelet's
		"/pod" + dashed + "/kubepods",
	} {
		if p, ok := PlaceOf(path); ok {
			t.Errorf("%q: %+v", path, p)
		}
	}
}

// FuzzPodDir: a directory is a pod's when this pattern says so.
func FuzzPodDir(f *testing.F) {
	pattern := regexp.MustCompile(`^(?:.*-)?pod([0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12}|[0-9a-f]{32})(\.slice)?(:.*)?$`)
	for _, s := range []string{"pod" + dashed, "pod" + static, "kubepods-burstable-pod" + under + ".slice", "kubepods-pod" + under + ".slice:cri-containerd:web",
		"x-pod" + static + ":y-pod" + dashed, "pod" + dashed + ":-pod", "xpod" + dashed, "pod" + dashed + ".slice.slice", "a\n-pod" + dashed, "pod" + dashed + ":\n",
		"podpod" + dashed, "pod-pod" + dashed, "pod" + strings.ToUpper(dashed), "pod" + dashed + "0", "pod", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		uid, colons, ok := podDir(name)
		m := pattern.FindStringSubmatch(name)
		if ok != (m != nil) || ok && (uid != strings.ReplaceAll(m[1], "_", "-") || colons != m[3]) {
			t.Errorf("%q: %q %q %v, want %q", name, uid, colons, ok, m)
		}
	})
}

// FuzzPlaceOf: a uid and an id stand in the path, dashes aside; reading does not depend on slashes at the ends.
func FuzzPlaceOf(f *testing.F) {
	for _, s := range []string{
		"/kubepods/burstable/pod" + dashed + "/" + id,
		"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + under + ".slice/cri-containerd-" + id + ".scope",
		"/system.slice/containerd.service/kubepods-burstable-pod" + under + ".slice:cri-containerd:webapp",
		"/lxc.payload.n1/kubepods.slice/kubepods-pod" + static + ".slice",
		"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" + under + ".slice/x/y",
		"/kubepods",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		p, ok := PlaceOf(path)
		if !ok {
			if p != (Place{}) {
				t.Errorf("%q: not found and yet %+v", path, p)
			}
			return
		}
		if !strings.Contains(strings.ReplaceAll(path, "_", "-"), p.UID) || len(p.UID) != len(dashed) && len(p.UID) != len(static) {
			t.Errorf("%q: uid %q", path, p.UID)
		}
		if !strings.Contains(path, p.ID) || p.ID != "" && (len(p.ID) != len(id) || p.PodLevel) {
			t.Errorf("%q: %+v", path, p)
		}
		if !strings.Contains(path, "kubepods") {
			t.Errorf("%q is not below the kubelet's directory", path)
		}
		if q, _ := PlaceOf("/" + strings.Trim(path, "/") + "/"); q != p {
			t.Errorf("%q: %+v with slashes, %+v without", path, q, p)
		}
	})
}
