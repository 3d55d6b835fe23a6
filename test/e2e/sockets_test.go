package e2e

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// A socket function makes what stands where the runtime's socket should be, and gives its path.
//
// A socket without permission is not among them: root, as which the suite runs, may connect to every socket.
type socket func(t *testing.T, path string)

func absent(*testing.T, string) {}

func regularFile(t *testing.T, path string) { writeFile(t, path, "not a socket\n") }

// refusing is what a killed runtime leaves: the file without a listener.
func refusing(t *testing.T, path string) {
	l := listen(t, path)
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = l.Close()
}

// silent takes every connection and says nothing: a runtime that hangs.
func silent(t *testing.T, path string) {
	serveEach(listen(t, path), func(net.Conn) { <-t.Context().Done() })
}

// hangsUp takes every connection and drops it: a proxy whose runtime is gone.
func hangsUp(t *testing.T, path string) {
	serveEach(listen(t, path), func(net.Conn) {})
}

// garbage talks, but not gRPC: it answers each greeting in HTTP/1 and keeps the connection.
func garbage(t *testing.T, path string) {
	serveEach(listen(t, path), func(c net.Conn) {
		_, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"))
		_, _ = io.Copy(io.Discard, c) // until the client has had enough
	})
}

// unimplemented talks gRPC and knows no CRI: what containerd answers with its CRI plugin off.
func unimplemented(t *testing.T, path string) { serveGRPC(t, path, grpc.NewServer()) }

// oversized answers one list with more than the 16 MiB that a CRI client takes.
func oversized(t *testing.T, path string) {
	server := grpc.NewServer()
	cri.RegisterRuntimeServiceServer(server, oversizedRuntime{})
	serveGRPC(t, path, server)
}

// oversizedRuntime is healthy in all that is asked before the list of containers.
type oversizedRuntime struct {
	cri.UnimplementedRuntimeServiceServer
}

func (oversizedRuntime) Version(context.Context, *cri.VersionRequest) (*cri.VersionResponse, error) {
	return &cri.VersionResponse{RuntimeName: "containerd", RuntimeVersion: "1.6.20", RuntimeApiVersion: "v1"}, nil
}

func (oversizedRuntime) Status(context.Context, *cri.StatusRequest) (*cri.StatusResponse, error) {
	return &cri.StatusResponse{Status: &cri.RuntimeStatus{Conditions: []*cri.RuntimeCondition{
		{Type: "RuntimeReady", Status: true}, {Type: "NetworkReady", Status: true},
	}}}, nil
}

func (oversizedRuntime) ListPodSandbox(context.Context, *cri.ListPodSandboxRequest) (*cri.ListPodSandboxResponse, error) {
	return &cri.ListPodSandboxResponse{}, nil
}

func (oversizedRuntime) ListContainers(context.Context, *cri.ListContainersRequest) (*cri.ListContainersResponse, error) {
	huge := map[string]string{"note": strings.Repeat("x", 17<<20)}
	return &cri.ListContainersResponse{Containers: []*cri.Container{{Id: "c1", PodSandboxId: "s1", Annotations: huge}}}, nil
}

func listen(t *testing.T, path string) net.Listener {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // closed already is as good
	return l
}

func serveEach(l net.Listener, serve func(net.Conn)) {
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // the test is over
			}
			go func() {
				defer func() { _ = c.Close() }()
				serve(c)
			}()
		}
	}()
}

func serveGRPC(t *testing.T, path string, server *grpc.Server) {
	l := listen(t, path)
	t.Cleanup(server.Stop)
	go func() { _ = server.Serve(l) }() // ends when the test stops it
}

// socketDir gives a directory for sockets: t.TempDir's names are too long for them.
func socketDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(run.dir, "sock")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(t, dir) })
	return filepath.Clean(dir)
}
