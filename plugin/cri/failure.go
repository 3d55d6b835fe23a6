package cri

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"

	"connectrpc.com/connect"
)

// errHangsUp is what listens and serves no gRPC. The kernel and net/http word it in many ways, depending on who was faster.
var errHangsUp = errors.New("what listens there hangs up or does not speak gRPC")

var (
	errTooMuch = fmt.Errorf("answer above %d MiB, which is the limit of the kubelet too: too many sandboxes or containers", maxMessage>>20)
	errTooLate = errors.New("no answer in time")
)

// callError is a runtime's answer that the call failed.
type callError struct {
	code    connect.Code
	message string
}

// notFound: the runtime has no such container or sandbox any more. cri-dockerd has no code for it.
func (e callError) notFound() bool {
	return e.code == connect.CodeNotFound || e.code == connect.CodeUnknown && strings.Contains(e.message, "No such container")
}

func (e callError) Error() string { return e.code.String() + ": " + firstLine(e.message) }

// unreadable is an answer that is no message of CRI.
type unreadable struct{ err error }

func (e unreadable) Error() string { return "the answer cannot be read: " + e.err.Error() }

// plain turns an error of a call into the few words that tell an operator what is wrong.
func plain(ctx context.Context, err error) error {
	code, message := connect.CodeOf(err), err.Error()
	if e, ok := errors.AsType[*connect.Error](err); ok {
		message = e.Message()
	}
	switch {
	case ctx.Err() != nil, code == connect.CodeDeadlineExceeded && nearlyOver(ctx):
		return errTooLate
	case !connect.IsWireError(err):
		return ofTheCall(err, message)
	case code == 0: // a status of success where it says failure
		return errHangsUp
	case code == connect.CodeResourceExhausted && strings.Contains(message, "larger than max"):
		return errTooMuch // than grpc-go sends
	case code == connect.CodeUnimplemented && strings.HasPrefix(message, "unknown service"):
		return errors.New("the runtime serves no CRI v1: its CRI plugin is disabled or failed to load")
	}
	return callError{code, message}
}

// nearlyOver: the runtime counts the time of a call too, and may be the first to say that it is over.
func nearlyOver(ctx context.Context) bool {
	end, ok := ctx.Deadline()
	return ok && time.Until(end) < 50*time.Millisecond
}

// ofTheCall tells of a call that the runtime itself said nothing of. connect has text alone for what it refuses.
func ofTheCall(err error, message string) error {
	for _, bad := range []error{errMalformed, errOtherType, errTooMany} {
		if errors.Is(err, bad) {
			return unreadable{bad}
		}
	}
	switch {
	case strings.Contains(message, "is larger than configured max"):
		return errTooMuch
	case strings.HasSuffix(message, "without compression support"), strings.HasPrefix(message, "unknown encoding"):
		return unreadable{errors.New("it is compressed, unasked")}
	case strings.HasPrefix(message, "unary response has"):
		return unreadable{errors.New("it is not one message")}
	}
	// A connection that could not be made tells its cause; one that broke was not gRPC's.
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Op == "dial" {
		if no, ok := errors.AsType[syscall.Errno](err); ok {
			return no
		}
		return e.Err
	}
	return errHangsUp
}
