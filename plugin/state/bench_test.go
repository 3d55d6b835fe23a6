package state

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkUpdate is what one look costs on a node with as many pods, all of them seen before.
func BenchmarkUpdate(b *testing.B) {
	for _, n := range []int{110, 500, maxPods} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			d := Disk{Path: b.TempDir()}
			see := func(s *State) {
				for i := range n {
					s.See(uid(i), sandboxID(i, 0), 0, time.Minute)
				}
			}
			if err := d.Update(boot, time.Hour, see); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := d.Update(boot, time.Hour, see); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/pod")
		})
	}
}
