package cri

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestSocketPath(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"unix:///run/containerd/containerd.sock": "/run/containerd/containerd.sock",
		"unix:/run/x.sock":                       "/run/x.sock",
		"/run/x.sock":                            "/run/x.sock",
		"/run/with space%20.sock":                "/run/with space%20.sock",
	} {
		if got, err := SocketPath(in); err != nil || got != want {
			t.Errorf("SocketPath(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"", "/", "unix:", "unix://", "unix:///", "tcp://127.0.0.1:1", "run/x.sock", `npipe:////./pipe/x`} {
		if got, err := SocketPath(in); err == nil || !strings.Contains(err.Error(), "want unix:///path/to.sock") {
			t.Errorf("SocketPath(%q) = %q, %v", in, got, err)
		}
	}
}

func TestFindSocket(t *testing.T) {
	t.Parallel()
	const (
		containerd = "/run/containerd/containerd.sock"
		crio       = "/run/crio/crio.sock"
		k3s        = "/run/k3s/containerd/containerd.sock"
	)
	refused := errors.New("connection refused")
	for name, tc := range map[string]struct {
		there, accept []string
		want, err     string
	}{
		"the only one": {[]string{containerd}, []string{containerd}, containerd, ""},
		// Docker brings a containerd along that the kubelet does not ask.
		"a distribution's own before containerd's": {[]string{containerd, crio, k3s}, []string{containerd, crio, k3s}, k3s, ""},
		"the first that accepts":                   {[]string{containerd, crio, k3s}, []string{containerd}, containerd, ""},
		"none accepts":                             {[]string{containerd, crio}, nil, crio, crio + ": connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node := fstest.MapFS{"run/cri-dockerd.sock": {Data: []byte("a file of that name is no socket")}}
			for _, p := range tc.there {
				node[p[1:]] = &fstest.MapFile{Mode: fs.ModeSocket | 0o660}
			}
			got, err := FindSocket(node, func(path string) error {
				if !slices.Contains(tc.there, path) {
					t.Errorf("connects to %s, which is not there", path)
				}
				if slices.Contains(tc.accept, path) {
					return nil
				}
				return refused
			})
			said := ""
			if err != nil {
				said = err.Error()
			}
			// A socket that does not accept is reported only when no other does: Docker's leftovers are common.
			if strings.HasPrefix(said, "/") && !errors.Is(err, refused) {
				t.Errorf("callers cannot tell the cause of %v", err)
			}
			if got != tc.want || said != tc.err {
				t.Errorf("got  %q, %s\nwant %q, %s", got, said, tc.want, tc.err)
			}
		})
	}
}

// The cure comes first: six paths do not fit into the line.
func TestFindSocketNone(t *testing.T) {
	t.Parallel()
	got, err := FindSocket(fstest.MapFS{}, func(string) error { return nil })
	if got != "" || err == nil {
		t.Fatalf("%q, %v", got, err)
	}
	for _, word := range append(KnownSockets(), "no runtime socket", "mount", "--runtime-endpoint") {
		if i := strings.Index(err.Error(), word); i < 0 || (!strings.HasPrefix(word, "/") && i > 80) {
			t.Errorf("%q not said, or too late, in %q", word, err)
		}
	}
}
