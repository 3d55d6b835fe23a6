package cri

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func TestClient(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"containerd-1.6", "containerd-2.4"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rt := recorded(t, name)
			rt.sandbox["host"] = network(runtimeapi.NamespaceMode_NODE)
			rt.sandbox["pod"] = network(runtimeapi.NamespaceMode_POD)
			c := dial(t, serve(t, rt))
			ctx := soon(t)
			want := replayed(t, name)

			pods, err := c.Sandboxes(ctx)
			same(t, "sandboxes", pods, err, want.sandboxes)
			ctrs, err := c.Containers(ctx)
			same(t, "containers", ctrs, err, want.containers)
			st, err := c.Status(ctx)
			same(t, "status", st, err, *want.status)
			for id, host := range map[string]bool{"host": true, "pod": false} {
				if got, err := c.HostNetwork(ctx, id); err != nil || got != host {
					t.Errorf("HostNetwork(%s) = %v, %v", id, got, err)
				}
			}
			if _, err := c.HostNetwork(ctx, "gone"); err == nil || !strings.HasPrefix(err.Error(), "PodSandboxStatus at "+c.Socket()+": ") {
				t.Errorf("a sandbox that is gone: %v", err)
			}
			for _, req := range rt.requests() {
				if r, ok := req.(*runtimeapi.StatusRequest); ok && !r.GetVerbose() {
					t.Error("Status is not asked verbosely: no CNI directories")
				}
			}
		})
	}
}

func network(mode runtimeapi.NamespaceMode) *runtimeapi.PodSandboxStatus {
	return &runtimeapi.PodSandboxStatus{Linux: &runtimeapi.LinuxPodSandboxStatus{
		Namespaces: &runtimeapi.Namespace{Options: &runtimeapi.NamespaceOption{Network: mode}}}}
}

func same[T any](t *testing.T, what string, got T, err error, want T) {
	t.Helper()
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %v\ngot  %+v\nwant %+v", what, err, got, want)
	}
}

// The runtime should filter; one that does not must not make running containers look created.
func TestCreatedContainers(t *testing.T) {
	t.Parallel()
	rt := &fakeRuntime{}
	for i, s := range []runtimeapi.ContainerState{0, 1, 2, 3, 4, 0} {
		rt.containers.Containers = append(rt.containers.Containers, &runtimeapi.Container{Id: string(rune('a' + i)), PodSandboxId: "s", State: s})
	}
	c := dial(t, serve(t, rt))
	got, err := c.CreatedContainers(soon(t))
	var ids []string
	for _, one := range got {
		ids = append(ids, one.ID)
	}
	if want := []string{"a", "f"}; err != nil || !slices.Equal(ids, want) {
		t.Errorf("%v, %v; want %v", ids, err, want)
	}
	req, ok := rt.requests()[0].(*runtimeapi.ListContainersRequest)
	if !ok || req.GetFilter().GetState() == nil || req.GetFilter().GetState().GetState() != runtimeapi.ContainerState_CONTAINER_CREATED {
		t.Errorf("asked %v: without the filter a healthy node sends everything", req)
	}
}

func TestCRIO(t *testing.T) {
	t.Parallel()
	const name = "cri-o-1.34"
	config := testdata(t, name+"/config.toml")
	c := dial(t, serveCRIO(t, recorded(t, name), config))
	st, err := c.Status(soon(t))
	same(t, "status", st, err, *replayed(t, name).status)
	if st.Flavor != CRIO || st.ConfDir != "/rt/crio/cni" {
		t.Errorf("%+v", st)
	}

	none := dial(t, serveCRIO(t, recorded(t, name), nil))
	st, err = none.Status(soon(t))
	if want := "GET /config at " + none.Socket() + ": 404 Not Found"; err != nil || st.DirsErr == nil || st.DirsErr.Error() != want {
		t.Errorf("%v, %v; want %s", err, st.DirsErr, want)
	}
}

// note is what the line says when the process has to give up.
func TestNote(t *testing.T) {
	t.Parallel()
	path := serve(t, &fakeRuntime{})
	var said []string
	c, err := Dial(path, func(doing string) { said = append(said, doing) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	ctx := soon(t)
	_, _ = c.Sandboxes(ctx)
	_, _ = c.CreatedContainers(ctx)
	_, _ = c.HostNetwork(ctx, "x")
	_, _ = c.Status(ctx)
	want := []string{"ListPodSandbox at " + path, "ListContainers at " + path, "PodSandboxStatus at " + path, "Status at " + path}
	if !slices.Equal(said, want) {
		t.Errorf("said %v, want %v", said, want)
	}
}

func TestDialErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "absent"):       "no such file or directory",
		filepath.Join(dir, "absent", "x"):  "no such file or directory",
		filepath.Join(file, "below-a-fil"): "not a directory",
		file:                               "not a socket",
		dir:                                "not a socket",
	} {
		if c, err := Dial(path, nil); err == nil || err.Error() != path+": "+want {
			t.Errorf("%s: %v, %v; want %s", path, c, err, want)
		}
	}
}

// Each way a runtime can fail to answer is told so that an operator knows what to look at.
func TestCallErrors(t *testing.T) {
	t.Parallel()
	big := &fakeRuntime{}
	big.pods.Items = []*runtimeapi.PodSandbox{{Annotations: map[string]string{"x": strings.Repeat("x", maxMessage)}}}
	for name, tc := range map[string]struct {
		start func(*testing.T) string
		wait  time.Duration
		want  string
	}{
		"refusing":      {refusing, 20 * time.Second, "connection refused"},
		"unimplemented": {noCRI, 20 * time.Second, "the runtime serves no CRI v1"},
		"too much":      {func(t *testing.T) string { return serve(t, big) }, 20 * time.Second, "answer above 16 MiB"},
		"hanging call":  {func(t *testing.T) string { return serve(t, &fakeRuntime{hang: true}) }, 200 * time.Millisecond, "no answer in time"},
		"never accepts": {func(t *testing.T) string { _, path := listen(t); return path }, 200 * time.Millisecond, "no answer in time"},
		"goes away":     {func(t *testing.T) string { return framing(t, goAway, new(atomic.Int32)) }, 20 * time.Second, "does not speak gRPC"},
		"resets":        {func(t *testing.T) string { return framing(t, resetStream, new(atomic.Int32)) }, 20 * time.Second, "does not speak gRPC"},
		"closes":        {func(t *testing.T) string { return talking(t, "") }, 20 * time.Second, "does not speak gRPC"},
		"garbage":       {func(t *testing.T) string { return talking(t, strings.Repeat("garbage\x00", 100)) }, 20 * time.Second, "does not speak gRPC"},
		"HTTP":          {httpOnly, 20 * time.Second, "does not speak gRPC"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := dial(t, tc.start(t))
			ctx, cancel := context.WithTimeout(t.Context(), tc.wait)
			defer cancel()
			pods, err := c.Sandboxes(ctx)
			head := "ListPodSandbox at " + c.Socket() + ": "
			if err == nil || !strings.HasPrefix(err.Error(), head) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, error %v\nwant %s...%s", pods, err, head, tc.want)
			}
			// grpc's own words are a paragraph: the line has room for a sentence.
			if words := strings.TrimPrefix(fmt.Sprint(err), head); len(words) > 120 || strings.Contains(words, "desc =") {
				t.Errorf("grpc's own words: %s", words)
			}
		})
	}
}

func refusing(t *testing.T) string {
	t.Helper()
	l, path := listen(t)
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = l.Close()
	return path
}

// talking accepts, says its piece and hangs up.
func talking(t *testing.T, piece string) string {
	t.Helper()
	l, path := listen(t)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte(piece))
			// Reading first: closing with unread data would reset the connection.
			_ = conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
			_, _ = conn.Read(make([]byte, 4096))
			_ = conn.Close()
		}
	}()
	return path
}

// httpOnly is what Docker's own socket does.
func httpOnly(t *testing.T) string {
	t.Helper()
	l, path := listen(t)
	s := &http.Server{Handler: http.NotFoundHandler(), ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return path
}

// TestTooLate: only when our own time is over, or nearly, is there no answer in time.
func TestTooLate(t *testing.T) {
	t.Parallel()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	nearly, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	for _, err := range []error{connect.NewError(connect.CodeUnavailable, errors.New("closed")), connect.NewWireError(connect.CodeCanceled, errors.New("x"))} {
		if got := plain(over, err); !errors.Is(got, errTooLate) {
			t.Errorf("over: %v", got)
		}
	}
	if got := plain(nearly, connect.NewWireError(connect.CodeDeadlineExceeded, errors.New("x"))); !errors.Is(got, errTooLate) {
		t.Errorf("nearly over: %v", got)
	}
	if got := plain(t.Context(), connect.NewError(connect.CodeCanceled, context.Canceled)); !errors.Is(got, errHangsUp) {
		t.Errorf("canceled by the peer: %v", got)
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		code    connect.Code
		message string
		want    string
	}{
		{connect.CodeUnavailable, "the runtime is starting\nstack", "unavailable: the runtime is starting"},
		{connect.CodeUnknown, "failed to load\nstack", "unknown: failed to load"},
		{connect.CodeInternal, "stream terminated", "internal: stream terminated"},
		{connect.CodeUnknown, "containerd says: unexpected EOF, malformed message", "unknown: containerd says: unexpected EOF, malformed message"},
		{connect.CodeInternal, "message size 5 is larger than configured max 4", "internal: message size 5 is larger than configured max 4"},
		{connect.CodeResourceExhausted, "grpc: trying to send message larger than max (5 vs. 4)", errTooMuch.Error()},
		{connect.CodeResourceExhausted, "too many requests", "resource_exhausted: too many requests"},
		{connect.CodeDeadlineExceeded, "shim does not answer", "deadline_exceeded: shim does not answer"},
		{connect.CodeCanceled, "x", "canceled: x"},
		{0, "", errHangsUp.Error()},
		{99, "of a later gRPC", "code_99: of a later gRPC"},
		{connect.CodeUnimplemented, "method Status not implemented", "unimplemented: method Status not implemented"},
		{connect.CodeUnimplemented, "unknown service runtime.v1.RuntimeService", "the runtime serves no CRI v1: its CRI plugin is disabled or failed to load"},
	} {
		if got := plain(t.Context(), connect.NewWireError(tc.code, errors.New(tc.message))); got.Error() != tc.want {
			t.Errorf("%s, %s: %q, want %q", tc.code, tc.message, got, tc.want)
		}
	}
	for _, no := range []syscall.Errno{syscall.EACCES, syscall.ECONNREFUSED, syscall.ENOENT, syscall.EMFILE} {
		dialing := &net.OpError{Op: "dial", Net: "unix", Err: os.NewSyscallError("connect", no)}
		err := plain(t.Context(), connect.NewError(connect.CodeUnavailable, dialing))
		if err.Error() != no.Error() || errors.Is(err, fs.ErrNotExist) != (no == syscall.ENOENT) {
			t.Errorf("%s: %v", no, err)
		}
	}
}
