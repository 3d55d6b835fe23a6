package cri

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// KnownSockets are the places where runtimes listen, in the order they are tried. The sockets that only a Kubernetes
// distribution makes come before containerd's own, which Docker brings along on nodes whose kubelet asks another one.
func KnownSockets() []string {
	return []string{
		"/run/k3s/containerd/containerd.sock", // k3s and rke2
		"/run/k0s/containerd.sock",
		"/var/snap/microk8s/common/run/containerd.sock",
		"/run/crio/crio.sock",
		"/run/cri-dockerd.sock",
		"/run/containerd/containerd.sock",
	}
}

// SocketPath returns the path in an endpoint: "unix:///run/x.sock", "unix:/run/x.sock" or a bare absolute path, as
// crictl and the kubelet take them.
func SocketPath(endpoint string) (string, error) {
	path := endpoint
	if rest, ok := strings.CutPrefix(endpoint, "unix:"); ok {
		path = "/" + strings.TrimLeft(rest, "/")
	}
	if !strings.HasPrefix(path, "/") || path == "/" {
		return "", fmt.Errorf("runtime endpoint %q: want unix:///path/to.sock", endpoint)
	}
	return path, nil
}

// ErrNoSocket says that none of the known sockets is there.
var ErrNoSocket = errors.New("no runtime socket")

// FindSocket returns the socket to ask: the known socket that is there and accepts. accepts connects to a path. When
// none accepts it names what was found and why it did not serve, and the path of the first one found.
func FindSocket(fsys fs.FS, accepts func(path string) error) (string, error) {
	var found string
	var firstErr error
	for _, path := range KnownSockets() {
		st, err := fs.Stat(fsys, path[1:])
		if err != nil || st.Mode().Type() != fs.ModeSocket {
			continue
		}
		if err := accepts(path); err != nil {
			if found == "" {
				found, firstErr = path, fmt.Errorf("%s: %w", path, err)
			}
			continue
		}
		return path, nil
	}
	if found != "" {
		return found, firstErr
	}
	return "", fmt.Errorf("%w: mount its directory or set --runtime-endpoint; tried %s", ErrNoSocket,
		strings.Join(KnownSockets(), ", "))
}
