package cgroup

import (
	"fmt"
	"strings"
	"testing"
)

// words names each part once and knows its own words again.
func words() func(string) string {
	seen := map[string]string{}
	return func(part string) string {
		if strings.HasPrefix(part, "cgroup-") {
			return part
		}
		if seen[part] == "" {
			seen[part] = fmt.Sprintf("cgroup-%d", len(seen)+1)
		}
		return seen[part]
	}
}

func TestRenamed(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":  "",
		"/": "/",
		"/kubepods/burstable/pod" + dashed + "/" + id:                                                         "/kubepods/burstable/pod" + dashed + "/" + id,
		"/acme/kubepods/burstable/pod" + dashed:                                                               "/cgroup-1/kubepods/burstable/pod" + dashed,
		"/acme.slice/acme-kubepods.slice/acme-kubepods-besteffort-pod" + under + ".slice":                     "/cgroup-1/cgroup-2-kubepods.slice/cgroup-2-kubepods-besteffort-pod" + under + ".slice",
		"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" + under + ".slice/crio-" + id + ".scope": "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" + under + ".slice/crio-" + id + ".scope",
		"/kubepods/pod" + dashed + "/" + id + "/system.slice/acme.service":                                    "/kubepods/pod" + dashed + "/" + id + "/system.slice/cgroup-1",
		"/kubepods/pod" + dashed + "/acme_" + id:                                                              "/kubepods/pod" + dashed + "/" + id,
		"/system.slice/containerd.service/kubepods-burstable-pod" + under + ".slice:cri-containerd:" + id:     "/system.slice/containerd.service/kubepods-burstable-pod" + under + ".slice:cri-containerd:" + id,
		"/system.slice/containerd.service/kubepods-burstable-pod" + under + ".slice:cri-containerd:acme":      "/system.slice/containerd.service/kubepods-burstable-pod" + under + ".slice:cgroup-1",
		"/system.slice/acme-agent.service":                                                                    "/system.slice/cgroup-1",
		"kubepods/besteffort/pod" + dashed + "/memory.max":                                                    "kubepods/besteffort/pod" + dashed + "/memory.max",
		"memory/acme/acme/memory.slice":                                                                       "memory/cgroup-1/cgroup-1/cgroup-2",
		"my-kubepods-of-acme":                                                                                 "cgroup-1-kubepods",
	} {
		name := words()
		got := Renamed(in, name)
		if got != want {
			t.Errorf("%s\nbecomes %s\nwant    %s", in, got, want)
		}
		if again := Renamed(got, name); again != got {
			t.Errorf("%s becomes %s when renamed again", got, again)
		}
	}
}

// FuzzRenamed: the place in the tree of pods stays.
func FuzzRenamed(f *testing.F) {
	f.Add("/kubepods/burstable/pod" + dashed + "/" + id)
	f.Add("/acme-kubepods.slice/acme-kubepods-pod" + under + ".slice:x")
	f.Add("/lxc.payload/kubepods/pod" + static + "/kata_" + id)
	f.Fuzz(func(t *testing.T, path string) {
		got := Renamed(path, words())
		before, ok := PlaceOf(path)
		after, still := PlaceOf(got)
		if ok != still || before != after {
			t.Errorf("%q is %+v %v\n%q is %+v %v", path, before, ok, got, after, still)
		}
	})
}
