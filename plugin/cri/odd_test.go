package cri

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"sandbox-checker/plugin/cri/wire"
)

// TestFieldsOfAnotherType: a field of another type than CRI has is an answer that cannot be understood. Read as if it were not
// there, a state would be 0, which is READY, or CREATED.
func TestFieldsOfAnotherType(t *testing.T) {
	t.Parallel()
	for _, m := range []struct {
		answer proto.Message
		path   []protowire.Number // the fields that lead to the message
	}{
		{answer: &wire.ListPodSandboxResponse{}},
		{&wire.ListPodSandboxResponse{}, []protowire.Number{1}},
		{&wire.ListPodSandboxResponse{}, []protowire.Number{1, 2}},
		{answer: &wire.RecordedSandboxes{}},
		{&wire.RecordedSandboxes{}, []protowire.Number{1, 5}},
		{answer: &wire.ListContainersResponse{}},
		{&wire.ListContainersResponse{}, []protowire.Number{1}},
		{&wire.ListContainersResponse{}, []protowire.Number{1, 3}},
		{&wire.ListContainersResponse{}, []protowire.Number{1, 8}},
		{answer: &wire.StatusResponse{}},
		{&wire.StatusResponse{}, []protowire.Number{1}},
		{&wire.StatusResponse{}, []protowire.Number{1, 1}},
		{&wire.StatusResponse{}, []protowire.Number{2}},
		{answer: &wire.ContainerStatusResponse{}},
		{&wire.ContainerStatusResponse{}, []protowire.Number{1}},
		{&wire.PodSandboxStatusResponse{}, []protowire.Number{1, 6, 1, 2}},
		{answer: &wire.ImageStatusResponse{}},
		{answer: &wire.VersionResponse{}},
	} {
		at := m.answer.ProtoReflect().Descriptor()
		for _, num := range m.path {
			at = at.Fields().ByNumber(num).Message()
		}
		check := func(raw []byte) error {
			for i := len(m.path) - 1; i >= 0; i-- {
				raw = protowire.AppendBytes(protowire.AppendTag(nil, m.path[i], protowire.BytesType), raw)
			}
			return codec{}.Unmarshal(raw, m.answer.ProtoReflect().New().Interface())
		}
		for i := range at.Fields().Len() {
			f := at.Fields().Get(i)
			wrong := protowire.AppendBytes(protowire.AppendTag(nil, f.Number(), protowire.BytesType), nil)
			if f.Kind() == protoreflect.StringKind || f.Kind() == protoreflect.BytesKind || f.Message() != nil {
				wrong = protowire.AppendVarint(protowire.AppendTag(nil, f.Number(), protowire.VarintType), 1)
			}
			fixed := protowire.AppendFixed64(protowire.AppendTag(nil, f.Number(), protowire.Fixed64Type), 1)
			for _, raw := range [][]byte{wrong, fixed} {
				if err := check(raw); !errors.Is(err, errOtherType) {
					t.Errorf("%s.%s: % x gives %v", at.FullName(), f.Name(), raw, err)
				}
			}
		}
		// A field that only a later version has may be of any type.
		if err := check(protowire.AppendFixed32(protowire.AppendTag(nil, 1000, protowire.Fixed32Type), 7)); err != nil {
			t.Errorf("%s, a later field: %v", at.FullName(), err)
		}
	}
}

// TestListsWithoutIDs: nothing can be told of what has no id, live or replayed.
func TestListsWithoutIDs(t *testing.T) {
	t.Parallel()
	for _, r := range []Records{{Pods: []byte(`{"items":[{"id":"a"},{"metadata":{"name":"x"}}]}`)}, {Containers: []byte(`{"containers":[{"podSandboxId":"a"}]}`)}} {
		if _, err := Replay(r); err == nil || !strings.Contains(err.Error(), "without an id") {
			t.Errorf("%v", err)
		}
	}
}

// TestTooMany: a list that no node can have is an error, and nothing is judged by it.
func TestTooMany(t *testing.T) {
	t.Parallel()
	entry := []byte{1<<3 | 2, 3, 1<<3 | 2, 1, 'a'}
	for _, tc := range []struct {
		n    int
		want string
	}{{maxListed, ""}, {maxListed + 1, ": the answer cannot be read: more than 100000 entries"}} {
		c := dial(t, serveRaw(t, bytes.Repeat(entry, tc.n)))
		for method, list := range map[string]func() (int, error){
			"ListPodSandbox": func() (int, error) { l, err := c.Sandboxes(soon(t)); return len(l), err },
			"ListContainers": func() (int, error) { l, err := c.Containers(soon(t)); return len(l), err },
		} {
			n, err := list()
			switch {
			case tc.want == "" && (n != tc.n || err != nil):
				t.Errorf("%s: %d of %d entries, %v", method, n, tc.n, err)
			case tc.want != "" && (n != 0 || err == nil || err.Error() != method+" at "+c.Socket()+tc.want):
				t.Errorf("%s: %d entries, %v", method, n, err)
			}
		}
	}
}

// TestCloseWhileItHangs: a connection to a server that never speaks is dropped too.
func TestCloseWhileItHangs(t *testing.T) {
	t.Parallel()
	l, path := listen(t)
	c, err := Dial(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	accepted := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		cancel()
		if err == nil {
			for err == nil { // until the client has gone
				_, err = conn.Read(make([]byte, 4096))
			}
			_ = conn.Close()
		}
		accepted <- err
	}()
	_, _ = c.Sandboxes(ctx) // it fails: that is not the question
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := <-accepted; err == nil { // or the test hangs
		t.Error("still open")
	}
}

// TestNotFound: runtimes say in their own ways that they have a container no more.
func TestNotFound(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		err  callError
		gone bool
	}{
		{callError{connect.CodeNotFound, `an error occurred when try to find container "x": not found`}, true},
		{callError{connect.CodeUnknown, "Error response from daemon: No such container: x"}, true}, // cri-dockerd
		{callError{connect.CodeUnknown, "no space left on device"}, false},
		{callError{13, "No such container"}, false},
	} {
		if tc.err.notFound() != tc.gone {
			t.Errorf("%v: %t", tc.err, !tc.gone)
		}
	}
}

// TestContentType: CRI-O tells gRPC from HTTP by this very word, without the name of a codec behind it.
func TestContentType(t *testing.T) {
	t.Parallel()
	l, path := listen(t)
	got := make(chan []string, 1)
	s := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, in grpc.ServerStream) error {
		md, _ := metadata.FromIncomingContext(in.Context()) // without it the test fails below
		got <- md.Get("content-type")
		return status.Error(codes.NotFound, "")
	}))
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	_, _ = dial(t, path).Sandboxes(soon(t)) // it fails: that is not the question
	if all := <-got; len(all) != 1 || all[0] != "application/grpc" {
		t.Errorf("content type %q", all)
	}
}

// What a server may send in place of an answer to the first request: frames of RFC 9113.
const (
	settings    = "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	goAway      = "\x00\x00\x08\x07\x00\x00\x00\x00\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00"
	resetStream = "\x00\x00\x04\x03\x00\x00\x00\x00\x01" + "\x00\x00\x00\x01"
)

// framing counts its connections, agrees with each, and answers the first request with these frames.
func framing(t *testing.T, frames string, accepted *atomic.Int32) string {
	t.Helper()
	l, path := listen(t)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			accepted.Add(1)
			go func() {
				defer func() { _ = conn.Close() }() // it may be closed already
				_, _ = conn.Write([]byte(settings))
				_ = conn.SetReadDeadline(time.Now().Add(time.Second))
				for seen := []byte(nil); !bytes.Contains(seen, []byte("\x00\x00\x00\x01")) || len(seen) < 100; {
					some := make([]byte, 4096)
					n, err := conn.Read(some)
					if err != nil {
						return
					}
					seen = append(seen, some[:n]...)
				}
				_, _ = conn.Write([]byte(frames))
				_, _ = conn.Read(make([]byte, 4096)) // until the client has gone
			}()
		}
	}()
	return path
}

// TestConnectsAFewTimes: what sends each request away is not asked until the deadline, as fast as both can.
func TestConnectsAFewTimes(t *testing.T) {
	t.Parallel()
	for name, frames := range map[string]string{"nothing": "", "go away": goAway, "reset": resetStream} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var accepted atomic.Int32
			c := dial(t, framing(t, frames, &accepted))
			for i := range 2 {
				if _, err := c.Sandboxes(soon(t)); !errors.Is(err, errHangsUp) {
					t.Errorf("call %d: %v", i, err)
				}
			}
			if n := accepted.Load(); n > 2*maxDials {
				t.Errorf("%d connections for two calls", n)
			}
		})
	}
}
