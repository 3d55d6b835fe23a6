package cri

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
)

// CRI is gRPC, and of gRPC a runtime needs one unary call at a time over a unix socket: a POST over HTTP/2 whose body is one
// message behind five bytes, and a trailer with the status (gRPC over HTTP2, doc/PROTOCOL-HTTP2.md of grpc/grpc). The
// standard library speaks it. grpc-go and the generated types would do it too, but initialising their packages costs more
// CPU than all the rest of a check, and a check is a new process every minute: see test/e2e/README.md for figures.

const (
	runtimeService = "runtime.v1.RuntimeService"
	imageService   = "runtime.v1.ImageService"
)

// maxMessage is the size of answer that the kubelet accepts (k8s.io/cri-client maxMsgSize). A list above it is one that
// the kubelet cannot read either.
const maxMessage = 16 << 20

// buffered is how much of an answer may wait in memory to be read. Lists are read item by item.
const buffered = 256 << 10

// overHTTP2 returns a transport whose every request goes to the socket. opened is told of each connection.
func overHTTP2(path string, opened func(net.Conn)) *http.Transport {
	only := &http.Protocols{}
	only.SetUnencryptedHTTP2(true)
	return &http.Transport{
		Protocols:          only,
		HTTP2:              &http.HTTP2Config{MaxReceiveBufferPerStream: buffered},
		DisableCompression: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := dialUnix(ctx, path)
			if err == nil {
				opened(conn)
			}
			return conn, err
		},
	}
}

func dialUnix(ctx context.Context, path string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "unix", path)
}

// call makes one RPC, hands the answer to each, field by field, and tells a failure plainly.
func (c *Client) call(ctx context.Context, service, method string, req []byte, each func(field) error) error {
	c.note(method + " at " + c.path)
	if err := c.unary(ctx, service, method, req, each); err != nil {
		return fmt.Errorf("%s at %s: %w", method, c.path, plain(err))
	}
	return nil
}

func (c *Client) unary(ctx context.Context, service, method string, req []byte, each func(field) error) error {
	body := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(req))), req...)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/"+service+"/"+method, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header = http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"}, "User-Agent": {"sandbox-checker"}}
	// No Grpc-Timeout: when we stop waiting the stream is reset, and the runtime stops working for us all the same.
	ans, err := c.http.RoundTrip(r)
	if err != nil {
		return err
	}
	defer func() { _ = ans.Body.Close() }() // all that is wanted has been read
	if ans.StatusCode != http.StatusOK || !strings.HasPrefix(ans.Header.Get("Content-Type"), "application/grpc") {
		return ErrHangsUp
	}
	seen, err := readMessage(ans.Body, each)
	if err != nil {
		return err
	}
	// A failure is told in the trailer, or at once in the header.
	trailer := ans.Trailer
	if trailer.Get("Grpc-Status") == "" {
		trailer = ans.Header
	}
	return statusError(trailer, seen)
}

// readMessage reads the one message of an answer, to its end. It returns false when there is none.
func readMessage(body io.Reader, each func(field) error) (bool, error) {
	var head [5]byte
	if _, err := io.ReadFull(body, head[:]); err != nil {
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		return false, err
	}
	size := binary.BigEndian.Uint32(head[1:])
	switch {
	case head[0] != 0:
		return false, unreadable{errors.New("it is compressed, unasked")}
	case size > maxMessage:
		return false, errTooMuch
	}
	if err := readFields(body, int64(size), each); err != nil {
		return false, err
	}
	// The trailer is there when the body has ended.
	n, err := io.ReadFull(body, head[:1])
	switch {
	case n > 0:
		return false, unreadable{errors.New("more than one message")}
	case !errors.Is(err, io.EOF):
		return false, err
	}
	return true, nil
}

// callError is a runtime's answer that the call failed.
type callError struct {
	code    int
	message string
}

// notFound: the runtime has no such container or sandbox any more. cri-dockerd has no code for it.
func (e callError) notFound() bool {
	return e.code == codeNotFound || e.code == codeUnknown && strings.Contains(e.message, "No such container")
}

func (e callError) Error() string { return codeName(e.code) + ": " + firstLine(e.message) }

func statusError(h http.Header, seen bool) error {
	code, err := strconv.Atoi(h.Get("Grpc-Status"))
	if err != nil {
		return ErrHangsUp // cut off
	}
	if code != 0 {
		message := h.Get("Grpc-Message") // percent-encoded
		if text, err := url.PathUnescape(message); err == nil {
			message = text
		}
		return callError{code, message}
	}
	if !seen {
		return unreadable{errors.New("no message")}
	}
	return nil
}

// The codes that need words of their own (google.golang.org/grpc/codes).
const (
	codeCanceled          = 1
	codeUnknown           = 2
	codeDeadlineExceeded  = 4
	codeNotFound          = 5
	codeResourceExhausted = 8
	codeUnimplemented     = 12
)

func codeName(code int) string {
	names := []string{"OK", "Canceled", "Unknown", "InvalidArgument", "DeadlineExceeded", "NotFound", "AlreadyExists",
		"PermissionDenied", "ResourceExhausted", "FailedPrecondition", "Aborted", "OutOfRange", "Unimplemented", "Internal",
		"Unavailable", "DataLoss", "Unauthenticated"}
	if code < 0 || code >= len(names) {
		return fmt.Sprintf("Code(%d)", code)
	}
	return names[code]
}

// ErrHangsUp is what listens and serves no gRPC. The kernel and net/http word it in many ways, depending on who was faster.
var ErrHangsUp = errors.New("what listens there hangs up or does not speak gRPC")

var (
	errTooMuch = fmt.Errorf("answer above %d MiB, which is the limit of the kubelet too: too many sandboxes or containers", maxMessage>>20)
	errTooLate = errors.New("no answer in time")
)

// unreadable is an answer that is no message.
type unreadable struct{ err error }

func (e unreadable) Error() string { return "the answer cannot be read: " + e.err.Error() }

// plain turns an error of a call into the few words that tell an operator what is wrong.
func plain(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return errTooLate
	}
	if e, ok := errors.AsType[callError](err); ok {
		switch e.code {
		case codeCanceled, codeDeadlineExceeded:
			return errTooLate
		case codeResourceExhausted:
			return errTooMuch
		case codeUnimplemented:
			return errors.New("the runtime serves no CRI v1: its CRI plugin is disabled or failed to load")
		}
		return e
	}
	if e, ok := errors.AsType[unreadable](err); ok {
		return e
	}
	if errors.Is(err, errTooMuch) {
		return errTooMuch
	}
	// A connection that could not be made tells its cause; one that broke was not gRPC's.
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Op == "dial" {
		if no, ok := errors.AsType[syscall.Errno](err); ok {
			return no
		}
		return e.Err
	}
	return ErrHangsUp
}
