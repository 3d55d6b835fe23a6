package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Calls is what went through a proxy: the calls as the program floor takes them, and the bytes of their answers.
type Calls struct {
	Names []string
	Bytes int
}

// A Proxy stands before a runtime and counts.
type Proxy struct {
	mu   sync.Mutex
	seen Calls
	stop func()
}

// raw hands messages on as they are.
type raw struct{}

func (raw) Name() string { return "proto" }
func (raw) Marshal(v any) ([]byte, error) {
	b, ok := v.(*[]byte)
	if !ok {
		return nil, fmt.Errorf("%T is no message", v)
	}
	return *b, nil
}
func (raw) Unmarshal(b []byte, v any) error {
	to, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("%T is no message", v)
	}
	*to = append([]byte(nil), b...)
	return nil
}

// NewProxy listens at socket and hands every call on to the runtime.
func NewProxy(socket, runtime string) (*Proxy, error) {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	behind, err := Dial(runtime, grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{}), grpc.MaxCallRecvMsgSize(64<<20)))
	if err != nil {
		return nil, err
	}
	p := &Proxy{}
	s := grpc.NewServer(grpc.ForceServerCodec(raw{}), grpc.UnknownServiceHandler(func(_ any, in grpc.ServerStream) error {
		return p.handOn(in, behind)
	}))
	p.stop = func() {
		s.Stop()
		_ = behind.Close()
	}
	go func() { _ = s.Serve(l) }()
	return p, nil
}

// Dial connects to a runtime's socket.
func Dial(socket string, more ...grpc.DialOption) (*grpc.ClientConn, error) {
	return grpc.NewClient("unix://"+socket, append(more, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
}

func (p *Proxy) handOn(in grpc.ServerStream, behind *grpc.ClientConn) error {
	method, _ := grpc.MethodFromServerStream(in)
	var req, ans []byte
	if err := in.RecvMsg(&req); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := behind.Invoke(context.WithoutCancel(in.Context()), method, &req, &ans); err != nil {
		return err
	}
	p.mu.Lock()
	p.seen.Names = append(p.seen.Names, callName(method, req))
	p.seen.Bytes += len(ans)
	p.mu.Unlock()
	return in.SendMsg(&ans)
}

// callName is the method, and for a list of created containers alone its state too.
func callName(method string, req []byte) string {
	name := path.Base(method)
	var list runtimeapi.ListContainersRequest
	if name == "ListContainers" && proto.Unmarshal(req, &list) == nil && list.GetFilter().GetState() != nil {
		name += "/CREATED"
	}
	return name
}

// Take returns what went through since the last time.
func (p *Proxy) Take() Calls {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.seen
	p.seen = Calls{}
	return c
}

// Stop ends it.
func (p *Proxy) Stop() { p.stop() }
