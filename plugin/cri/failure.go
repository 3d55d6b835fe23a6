package cri

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// ErrHangsUp is what listens and serves no gRPC. The kernel and grpc word it in many ways, depending on who was faster.
var ErrHangsUp = errors.New("what listens there hangs up or does not speak gRPC")

var (
	errTooMuch = fmt.Errorf("answer above %d MiB, which is the limit of the kubelet too: too many sandboxes or containers", maxMessage>>20)
	errTooLate = errors.New("no answer in time")
)

// callError is a runtime's answer that the call failed.
type callError struct {
	code    codes.Code
	message string
}

// notFound: the runtime has no such container or sandbox any more. cri-dockerd has no code for it.
func (e callError) notFound() bool {
	return e.code == codes.NotFound || e.code == codes.Unknown && strings.Contains(e.message, "No such container")
}

func (e callError) Error() string { return e.code.String() + ": " + firstLine(e.message) }

// unreadable is an answer that is no message of CRI.
type unreadable struct{ err error }

func (e unreadable) Error() string { return "the answer cannot be read: " + e.err.Error() }

// plain turns an error of a call into the few words that tell an operator what is wrong.
func plain(err error) error {
	s := status.Convert(err)
	if c := s.Code(); c == codes.DeadlineExceeded || c == codes.Canceled {
		return errTooLate
	}
	if own := ofGRPC(s.Message()); own != nil {
		return own
	}
	switch s.Code() {
	case codes.ResourceExhausted:
		return errTooMuch
	case codes.Unimplemented:
		return errors.New("the runtime serves no CRI v1: its CRI plugin is disabled or failed to load")
	case codes.Unavailable:
		return dialCause(s.Message())
	}
	return callError{s.Code(), s.Message()}
}

// ofGRPC is what grpc itself has to say of an answer, nil when the words are the runtime's. It gives text alone, and what
// follows its words quotes the server and may be long.
func ofGRPC(msg string) error {
	switch {
	case strings.HasPrefix(msg, "grpc: failed to unmarshal") && strings.HasSuffix(msg, errTooMany.Error()):
		return unreadable{errTooMany}
	case strings.HasPrefix(msg, "grpc: failed to unmarshal"):
		return unreadable{errMalformed}
	case strings.HasPrefix(msg, "grpc: Decompressor is not installed"), strings.HasPrefix(msg, "grpc: compressed flag set"):
		return unreadable{errors.New("it is compressed, unasked")}
	case strings.HasPrefix(msg, "cardinality violation"):
		return unreadable{errors.New("it is not one message")}
	case msg == "unexpected EOF": // the message is shorter than it says
		return ErrHangsUp
	}
	for _, words := range []string{"unexpected HTTP status", "malformed http", "malformed header", "transport: ",
		"stream terminated by RST_STREAM", "server closed the stream", "error reading from server"} {
		if strings.HasPrefix(msg, words) {
			return ErrHangsUp
		}
	}
	return nil
}

// dialCause keeps the last link of grpc's "connection error: desc = "transport: Error while dialing: dial unix X: connect:
// connection refused"", which it gives as text alone.
func dialCause(msg string) error {
	for _, cause := range []error{syscall.ECONNREFUSED, syscall.EACCES, syscall.ENOENT, syscall.EMFILE, syscall.ENFILE} {
		if strings.Contains(msg, cause.Error()) {
			return cause
		}
	}
	for _, sign := range []string{ErrHangsUp.Error(), "preface", "http2", "EOF", "clos", "GOAWAY", syscall.ECONNRESET.Error(), syscall.EPIPE.Error()} {
		if strings.Contains(msg, sign) {
			return ErrHangsUp
		}
	}
	return callError{codes.Unavailable, msg}
}
