package mount

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkParse reads the table of a node with 220 containers.
func BenchmarkParse(b *testing.B) {
	var table strings.Builder
	for i := range 440 {
		fmt.Fprintf(&table, "%d 27 0:%d / /run/containerd/io.containerd.runtime.v2.task/k8s.io/%064d/rootfs rw,relatime shared:%d - overlay overlay rw,lowerdir=/var/lib/%0200d\n", i, i, i, i, i)
	}
	text := table.String()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if t, err := Parse(strings.NewReader(text)); err != nil || len(t) != 440 {
			b.Fatalf("%d, %v", len(t), err)
		}
	}
}
