package cri

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"sandbox-checker/plugin/cri/wire"
)

// wireList is an answer of ListContainers: as many as the recorded ones, over and over.
func wireList(b *testing.B, n int) []byte {
	b.Helper()
	var one runtimeapi.ListContainersResponse
	if err := lenient.Unmarshal(testdata(b, "containerd-2.4/ps.json"), &one); err != nil {
		b.Fatal(err)
	}
	var all runtimeapi.ListContainersResponse
	for i := range n {
		all.Containers = append(all.Containers, one.Containers[i%len(one.Containers)])
	}
	raw, err := proto.Marshal(&all)
	if err != nil {
		b.Fatal(err)
	}
	return raw
}

// BenchmarkContainers reads a list as a check does: the cost of a container is the same in a short list and in a long one.
func BenchmarkContainers(b *testing.B) {
	for _, n := range []int{220, 10_000} {
		raw := wireList(b, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				var all wire.ListContainersResponse
				if err := (codec{}).Unmarshal(raw, &all); err != nil {
					b.Fatal(err)
				}
				if err := checked(&all); err != nil || len(containersOf(all.GetContainers())) != n {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/container")
		})
	}
}

// BenchmarkReplay reads what crictl printed.
func BenchmarkReplay(b *testing.B) {
	r := Records{Pods: testdata(b, "containerd-2.4/pods.json"), Containers: testdata(b, "containerd-2.4/ps.json"), Info: testdata(b, "containerd-2.4/info.json")}
	b.SetBytes(int64(len(r.Pods) + len(r.Containers) + len(r.Info)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Replay(r); err != nil {
			b.Fatal(err)
		}
	}
}
