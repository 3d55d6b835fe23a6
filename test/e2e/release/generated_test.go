package release_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestGeneratedCode: the messages of CRI are what their generator makes of cri.proto today.
func TestGeneratedCode(t *testing.T) {
	t.Parallel()
	wire, err := filepath.Abs(filepath.Join(repository, "plugin", "cri", "wire"))
	if err != nil {
		t.Fatal(err)
	}
	made := filepath.Join(t.TempDir(), "cri.pb.go")
	command(t, "../programs/wire", []string{"GOFLAGS=-mod=readonly"}, "go", "run", ".", filepath.Join(wire, "cri.proto"), made)
	want, err := os.ReadFile(made)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(wire, "cri.pb.go")); err != nil || !bytes.Equal(got, want) {
		t.Errorf("cri.pb.go is not made of cri.proto: go generate ./plugin/cri/wire (%v)", err)
	}
}
