package faults

import (
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"path"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// A ServerFault is one way in which a runtime misbehaves. The zero value is none.
type ServerFault struct {
	Name    string
	Outcome Outcome
	// Hangs: the client ends by its deadline alone.
	Hangs bool
	// Methods are the calls that it strikes; none means every one. A fault of the connection strikes them all.
	Methods []string

	// conn replaces what is done with a connection, wrap alters its bytes.
	conn func(net.Conn)
	wrap func(net.Conn) net.Conn
	// call replaces an answer. framed is the right one as gRPC frames it.
	call func(w http.ResponseWriter, r *http.Request, framed []byte)
	// after lets so many calls pass first.
	after int
	// alter changes the content of an answer; what it gives is its bytes.
	alter func(method string, m proto.Message) []byte
	// quiet: nobody accepts.
	quiet bool
}

// strikes says whether the n-th call, from 0, is struck.
func (f ServerFault) strikes(method string, n int) bool {
	return n >= f.after && (len(f.Methods) == 0 || slices.Contains(f.Methods, method))
}

// Met says whether one of the calls was struck. A fault of the connection always is.
func (f ServerFault) Met(called []string) bool {
	if f.quiet || f.conn != nil || f.wrap != nil {
		return true
	}
	for n, method := range called {
		if f.strikes(method, n) {
			return true
		}
	}
	return false
}

// At is the fault for some calls alone.
func (f ServerFault) At(methods ...string) ServerFault {
	f.Methods = methods
	return f
}

// Server is a runtime on a socket.
type Server struct {
	// Path is its socket.
	Path string

	runtime *Runtime
	fault   ServerFault
	done    chan struct{}
	mu      sync.Mutex
	called  []string
	conns   map[net.Conn]bool
}

// Serve serves rt at a new socket in dir until the test ends. A socket's path has 107 bytes at most.
func Serve(t testing.TB, dir string, rt *Runtime, f ServerFault) *Server {
	t.Helper()
	s := &Server{Path: path.Join(dir, "cri.sock"), runtime: rt, fault: f, done: make(chan struct{}), conns: map[net.Conn]bool{}}
	l, err := net.Listen("unix", s.Path)
	if err != nil {
		t.Fatal(err)
	}
	h := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute, Protocols: new(http.Protocols)}
	h.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(func() {
		close(s.done)
		_ = l.Close() // some faults have closed it
		_ = h.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		for c := range s.conns {
			_ = c.Close()
		}
	})
	switch {
	case f.quiet:
	case f.conn != nil:
		go s.acceptEach(l)
	default:
		go func() { _ = h.Serve(wrapped{l, s}) }()
	}
	return s
}

// Called are the methods that were asked so far, in their order.
func (s *Server) Called() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.called)
}

func (s *Server) keep(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[c] = true
}

func (s *Server) acceptEach(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		s.keep(c)
		go s.fault.conn(c)
	}
}

// wrapped is a listener whose connections alter their bytes.
type wrapped struct {
	net.Listener
	s *Server
}

func (w wrapped) Accept() (net.Conn, error) {
	c, err := w.Listener.Accept()
	if err != nil {
		return nil, err
	}
	w.s.keep(c)
	if w.s.fault.wrap != nil {
		return w.s.fault.wrap(c), nil
	}
	return c, nil
}

// ServeHTTP answers one call of gRPC.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || len(body) < 5 {
		return // the client has gone
	}
	method := path.Base(r.URL.Path)
	s.mu.Lock()
	n := len(s.called)
	s.called = append(s.called, method)
	s.mu.Unlock()
	m, err := s.runtime.answer(method, body[5:])
	if err != nil {
		trailersOnly(w, status.Convert(err))
		return
	}
	struck := s.fault.strikes(method, n)
	var raw []byte
	if struck && s.fault.alter != nil {
		raw = s.fault.alter(method, proto.Clone(m))
	} else if raw, err = proto.Marshal(m); err != nil {
		return
	}
	if struck && s.fault.call != nil {
		s.fault.call(w, r.WithContext(untilDone{r.Context(), s.done}), frame(raw))
		return
	}
	good(w, frame(raw))
}

// frame puts gRPC's five bytes before a message.
func frame(raw []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(raw))), raw...)
}

// good sends a framed message as a server should.
func good(w http.ResponseWriter, framed []byte) {
	w.Header().Set("Content-Type", "application/grpc")
	w.Header().Set("Trailer", "Grpc-Status")
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(framed) // the client may have gone
	w.Header().Set("Grpc-Status", "0")
}

// trailersOnly sends a status without a message.
func trailersOnly(w http.ResponseWriter, st *status.Status) {
	w.Header().Set("Content-Type", "application/grpc")
	w.Header().Set("Grpc-Status", itoa(int(st.Code())))
	w.Header().Set("Grpc-Message", percent(st.Message()))
	w.WriteHeader(http.StatusOK)
}
