package capture

import (
	"bytes"
	"os"
	"testing"
)

// incident is the capture of a whole node.
func incident(b *testing.B) []byte {
	b.Helper()
	raw, err := os.ReadFile("../../cmd/sandbox-checker/demo/300m-containerd.txtar")
	if err != nil {
		b.Fatal(err)
	}
	return raw
}

// BenchmarkParse reads a capture and makes a host of it.
func BenchmarkParse(b *testing.B) {
	raw := incident(b)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		f, err := Parse(raw)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := f.Host(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkHideAndRedact takes secrets and names out of a capture and writes it.
func BenchmarkHideAndRedact(b *testing.B) {
	raw := incident(b)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		f, err := Parse(bytes.Clone(raw))
		if err != nil {
			b.Fatal(err)
		}
		f.HideSecrets()
		if err := f.Redact("node-1"); err != nil {
			b.Fatal(err)
		}
		f.Format()
	}
}
