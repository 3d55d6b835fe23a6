package cgroup

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkPlaceOf reads the paths that a kernel log names.
func BenchmarkPlaceOf(b *testing.B) {
	paths := []string{"/kubepods/burstable/pod" + dashed + "/" + id, burst + "/cri-containerd-" + id + ".scope", "/system.slice/containerd.service"}
	b.ReportAllocs()
	for b.Loop() {
		for _, p := range paths {
			PlaceOf(p)
		}
	}
}

// BenchmarkPods walks the tree of a node with as many pods.
func BenchmarkPods(b *testing.B) {
	for _, n := range []int{110, 3300} {
		files := map[string]string{}
		for i := range n {
			dir := root2 + strings.ReplaceAll(burst, under[:8], fmt.Sprintf("%08x", i))
			for f, text := range v2(dir, "max", "4096", events) {
				files[f] = text
			}
		}
		fsys := node(files)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if pods, _, err := Pods(fsys); err != nil || len(pods) != n {
					b.Fatalf("%d pods, %v", len(pods), err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/pod")
		})
	}
}
