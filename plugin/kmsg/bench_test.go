package kmsg

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// ring5000 is a log of 5,000 stories of 500 pods, every other one without a kill, as /dev/kmsg has it.
func ring5000() []byte {
	var b strings.Builder
	for i := range 5000 {
		pod := fmt.Sprintf("/kubepods/burstable/pod0000b000-0000-4000-8000-%012d", i%500)
		lines := nothingKilled(pod)
		if i%2 == 0 {
			lines = killed(pod, idA, "runc:[2:INIT]", 1000+i)
		}
		b.WriteString(raw(time.Duration(i)*100*time.Millisecond, lines...))
	}
	return []byte(b.String())
}

// BenchmarkStories5000 reads a log of 5,000 stories and tells them.
func BenchmarkStories5000(b *testing.B) {
	log := ring5000()
	records := len(Parse(log))
	if n := len(Stories(Parse(log))); n != 5000 {
		b.Fatalf("%d stories", n)
	}
	b.SetBytes(int64(len(log)))
	b.ReportAllocs()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for b.Loop() {
		Stories(Parse(log))
	}
	runtime.ReadMemStats(&after)
	all := float64(b.N) * float64(records)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/all, "ns/record")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/all, "allocs/record")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/all, "B/record")
}

// BenchmarkReadPlain looks at each line of the same log and does nothing with it.
func BenchmarkReadPlain(b *testing.B) {
	log := ring5000()
	b.SetBytes(int64(len(log)))
	lines := 0
	for b.Loop() {
		for line := range bytes.Lines(log) {
			if len(line) > 0 {
				lines++
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(lines), "ns/record")
}

// BenchmarkPassOver reads the same log when all of it is older than what is asked for, as on a node that is well.
func BenchmarkPassOver(b *testing.B) {
	log := ring5000()
	b.SetBytes(int64(len(log)))
	b.ReportAllocs()
	seen := 0
	for b.Loop() {
		_, n := ParseSince(log, time.Hour)
		seen += n
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(seen), "ns/record")
}
