package cri

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// fakeRuntime answers with what a real runtime was recorded to answer.
type fakeRuntime struct {
	runtimeapi.UnimplementedRuntimeServiceServer
	pods       runtimeapi.ListPodSandboxResponse
	containers runtimeapi.ListContainersResponse
	status     runtimeapi.StatusResponse
	sandbox    map[string]*runtimeapi.PodSandboxStatus
	// hang blocks every call until the client gives up.
	hang bool

	mu  sync.Mutex
	got []any // the requests
}

func (f *fakeRuntime) answer(ctx context.Context, req any) {
	f.mu.Lock()
	f.got = append(f.got, req)
	f.mu.Unlock()
	if f.hang {
		<-ctx.Done()
	}
}

func (f *fakeRuntime) requests() []any {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]any(nil), f.got...)
}

func (f *fakeRuntime) Version(ctx context.Context, req *runtimeapi.VersionRequest) (*runtimeapi.VersionResponse, error) {
	f.answer(ctx, req)
	return &runtimeapi.VersionResponse{Version: "0.1.0", RuntimeName: "fake", RuntimeVersion: "v1.2.3", RuntimeApiVersion: "v1"}, nil
}

func (f *fakeRuntime) ListPodSandbox(ctx context.Context, req *runtimeapi.ListPodSandboxRequest) (*runtimeapi.ListPodSandboxResponse, error) {
	f.answer(ctx, req)
	return &f.pods, nil
}

// ListContainers ignores the filter, which the client must survive.
func (f *fakeRuntime) ListContainers(ctx context.Context, req *runtimeapi.ListContainersRequest) (*runtimeapi.ListContainersResponse, error) {
	f.answer(ctx, req)
	return &f.containers, nil
}

func (f *fakeRuntime) PodSandboxStatus(ctx context.Context, req *runtimeapi.PodSandboxStatusRequest) (*runtimeapi.PodSandboxStatusResponse, error) {
	f.answer(ctx, req)
	s, ok := f.sandbox[req.GetPodSandboxId()]
	if !ok {
		return nil, os.ErrNotExist
	}
	return &runtimeapi.PodSandboxStatusResponse{Status: s}, nil
}

func (f *fakeRuntime) Status(ctx context.Context, req *runtimeapi.StatusRequest) (*runtimeapi.StatusResponse, error) {
	f.answer(ctx, req)
	if !req.GetVerbose() {
		return &runtimeapi.StatusResponse{Status: f.status.GetStatus()}, nil
	}
	return &f.status, nil
}

// recorded is the fake that answers as the runtime of testdata/NAME did.
func recorded(t *testing.T, name string) *fakeRuntime {
	t.Helper()
	f := &fakeRuntime{sandbox: map[string]*runtimeapi.PodSandboxStatus{}}
	for file, m := range map[string]proto.Message{"pods.json": &f.pods, "ps.json": &f.containers} {
		if err := lenient.Unmarshal(testdata(t, name+"/"+file), m); err != nil {
			t.Fatal(err)
		}
	}
	in := map[string]json.RawMessage{}
	if err := json.Unmarshal(testdata(t, name+"/info.json"), &in); err != nil {
		t.Fatal(err)
	}
	f.status = runtimeapi.StatusResponse{Status: &runtimeapi.RuntimeStatus{}, Info: map[string]string{}}
	if err := lenient.Unmarshal(in["status"], f.status.Status); err != nil {
		t.Fatal(err)
	}
	delete(in, "status")
	for k, v := range in {
		// On the wire some values are JSON and others plain text: the text of lastCNILoadStatus has no quotes.
		var text string
		if json.Unmarshal(v, &text) == nil {
			f.status.Info[k] = text
		} else {
			f.status.Info[k] = string(v)
		}
	}
	return f
}

func testdata(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func listen(t *testing.T) (net.Listener, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "r.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l, path
}

// serve serves rt over gRPC and returns the socket.
func serve(t *testing.T, rt runtimeapi.RuntimeServiceServer) string {
	t.Helper()
	l, path := listen(t)
	s := grpc.NewServer()
	runtimeapi.RegisterRuntimeServiceServer(s, rt)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	return path
}

// serveCRIO serves gRPC and HTTP on one socket, as CRI-O does. An empty config is not found.
func serveCRIO(t *testing.T, rt runtimeapi.RuntimeServiceServer, config []byte) string {
	t.Helper()
	l, path := listen(t)
	g := grpc.NewServer()
	runtimeapi.RegisterRuntimeServiceServer(g, rt)
	s := &http.Server{
		ReadHeaderTimeout: time.Minute,
		Protocols:         new(http.Protocols),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc"):
				g.ServeHTTP(w, r)
			case r.Method == http.MethodGet && r.URL.Path == "/config" && len(config) > 0:
				_, _ = w.Write(config)
			default:
				http.NotFound(w, r)
			}
		}),
	}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return path
}

// noCRI serves gRPC alone, as containerd without its CRI plugin.
func noCRI(t *testing.T) string {
	t.Helper()
	l, path := listen(t)
	s := grpc.NewServer()
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	return path
}

// serveRaw answers every call with the same bytes.
func serveRaw(t *testing.T, answer []byte) string {
	t.Helper()
	l, path := listen(t)
	s := grpc.NewServer(grpc.ForceServerCodec(asItIs{}), grpc.UnknownServiceHandler(func(_ any, in grpc.ServerStream) error {
		var req []byte
		if err := in.RecvMsg(&req); err != nil {
			return err
		}
		return in.SendMsg(answer)
	}))
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	return path
}

// asItIs is a codec that leaves messages in their bytes.
type asItIs struct{}

func (asItIs) Marshal(v any) ([]byte, error) { return v.([]byte), nil }
func (asItIs) Unmarshal([]byte, any) error   { return nil }
func (asItIs) Name() string                  { return "proto" }

func dial(t *testing.T, path string) *Client {
	t.Helper()
	c, err := Dial(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// soon is long enough for a busy machine and ends a test that hangs.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}
