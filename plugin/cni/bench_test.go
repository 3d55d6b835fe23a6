package cni

import (
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkParse reads each recorded configuration, and what it needs.
func BenchmarkParse(b *testing.B) {
	files, err := filepath.Glob("testdata/*.conf*")
	if err != nil || len(files) == 0 {
		b.Fatalf("no configurations: %v", err)
	}
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(filepath.Base(name), func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				n, err := Parse(name, raw)
				if err != nil {
					b.Fatal(err)
				}
				n.Needs()
			}
		})
	}
}
