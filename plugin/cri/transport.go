package cri

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
)

// maxMessage is the size of answer that the kubelet accepts (k8s.io/cri-client maxMsgSize): a list above it is one that the
// kubelet cannot read either. A recorded container takes about half a KB (testdata): 10,000 of them are 5 MB.
const maxMessage = 16 << 20

const (
	runtimeService = "runtime.v1.RuntimeService"
	imageService   = "runtime.v1.ImageService"
)

// transport makes every request to the socket at path, over HTTP/2 without encryption.
type transport struct {
	http http.Transport
	// dials counts the connections of the call under way.
	dials atomic.Int32

	mu    sync.Mutex
	conns []net.Conn
}

// maxDials is how often a call may connect: again when the runtime has just restarted, or closes after each answer. net/http
// would ask what sends its requests away as fast as both can, until the deadline.
const maxDials = 5

func newTransport(path string) *transport {
	t := &transport{}
	t.http.Protocols = new(http.Protocols)
	t.http.Protocols.SetUnencryptedHTTP2(true)
	t.http.DisableCompression = true
	t.http.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		if t.dials.Add(1) > maxDials {
			return nil, errHangsUp
		}
		conn, err := dialUnix(ctx, path)
		if err == nil {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.conns = append(t.conns, conn)
		}
		return conn, err
	}
	return t
}

func dialUnix(ctx context.Context, path string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "unix", path)
}

// Do makes one request. It follows no redirection: no runtime has any.
func (t *transport) Do(r *http.Request) (*http.Response, error) { return t.http.RoundTrip(r) }

// close drops the connections, also those to a server that has not spoken yet, which net/http would keep.
func (t *transport) close() {
	t.http.CloseIdleConnections()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, conn := range t.conns {
		_ = conn.Close() // it may be closed already
	}
	t.conns = nil
}

// unary makes one call of gRPC. Compression is not offered: the answer comes from the same machine.
func unary[Q, A any](ctx context.Context, t *transport, service, method string, req *Q) (*A, error) {
	one := connect.NewClient[Q, A](t, "http://localhost/"+service+"/"+method, connect.WithGRPC(), connect.WithCodec(codec{}),
		connect.WithReadMaxBytes(maxMessage), connect.WithAcceptCompression("gzip", nil, nil))
	ans, err := one.CallUnary(ctx, connect.NewRequest(req))
	if err != nil {
		return nil, err
	}
	return ans.Msg, nil
}

// codec is protobuf's, for answers that are what CRI says. It is named so that requests have the content type
// application/grpc and no word behind it: CRI-O tells gRPC from HTTP by that.
type codec struct{}

func (codec) Name() string { return "proto" }

func (codec) Marshal(m any) ([]byte, error) { return proto.Marshal(m.(proto.Message)) }

func (codec) Unmarshal(raw []byte, into any) error {
	m := into.(proto.Message)
	if err := conforms(raw, m.ProtoReflect().Descriptor()); err != nil {
		return err
	}
	if (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(raw, m) != nil {
		return errMalformed // its own words name types of ours
	}
	return nil
}
