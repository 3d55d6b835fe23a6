package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// TestRepairLeavesWhatStarts: the kubelet may start a container after repair has listed it. What runs must not be removed.
// A start after its status was read is not tried: RemoveContainer takes what runs too, and CRI has no condition for it.
func TestRepairLeavesWhatStarts(t *testing.T) { onEachFlavour(t, testRepairLeavesWhatStarts) }

func testRepairLeavesWhatStarts(t *testing.T, f flavour) {
	n := newNode(t, f, "race")
	starts := n.create(t, n.run(t, pod{name: "starts"}), pod{name: "starts"}, 0)
	stays := n.create(t, n.run(t, pod{name: "stays"}), pod{name: "stays"}, 0)
	time.Sleep(grownOld)
	n.restart(t) // now both are stale, and can still be started: their sandboxes live
	time.Sleep(grownOld)

	p := n.proxy(t, func(method string, request []byte) error {
		if method != "ContainerStatus" || !bytes.Contains(request, []byte(starts)) {
			return nil
		}
		_, err := n.try("start", starts)
		return err
	})
	behind := *n // the same node, seen through the proxy
	behind.socket = p.socket

	step(t, "both are listed", func(t *testing.T) {
		got := behind.repair(t)
		if got.exit != 1 || !strings.Contains(got.line, starts) || !strings.Contains(got.line, stays) {
			t.Fatalf("exit %d, want 1 and both containers", got.exit)
		}
		for _, id := range []string{starts, stays} {
			if state := n.stateOf(t, id); state != "CONTAINER_CREATED" {
				t.Errorf("%s is %s before the repair", id, state)
			}
		}
	})
	step(t, "the one that starts is left, the other is removed", func(t *testing.T) {
		got := behind.repair(t, "--yes")
		if got.exit != 0 { // what is left is not stale
			t.Errorf("exit %d, want 0", got.exit)
		}
		mustSay(t, got, starts, "left alone", "changed since")
		mustSay(t, got, stays, "removed")
		if state := n.stateOf(t, starts); state != "CONTAINER_RUNNING" {
			t.Errorf("%s is %s, want it running", starts, state)
		}
		if strings.Contains(n.do(t, "ps", "-a", "-q", "--no-trunc"), stays) {
			t.Errorf("%s is still there", stays)
		}
		p.mustHaveChanged(t, "RemoveContainer")
	})
	step(t, "a second run finds nothing", func(t *testing.T) {
		if got := behind.repair(t, "--yes"); got.exit != 0 || !strings.Contains(got.line, "nothing to repair") {
			t.Errorf("exit %d", got.exit)
		}
	})
}

func (n *node) stateOf(t *testing.T, container string) string {
	t.Helper()
	return n.do(t, "inspect", "-o", "go-template", "--template", "{{.status.state}}", container)
}

// mustSay: there is one line about the container, it begins with what was done, and it has the words.
func mustSay(t *testing.T, got answer, container, done string, words ...string) {
	t.Helper()
	about := slices.DeleteFunc(strings.Split(got.line, "\n"), func(l string) bool { return !strings.Contains(l, container) })
	if len(about) != 1 || !strings.HasPrefix(about[0], done) {
		t.Errorf("want one line about %s that begins with %q: %q", container, done, about)
		return
	}
	for _, w := range words {
		if !strings.Contains(about[0], w) {
			t.Errorf("the line does not say %q: %s", w, about[0])
		}
	}
}

// A proxy stands before the real runtime and forwards every call as it is. It knows no messages, so the runtime and the
// product talk as without it.
type proxy struct {
	socket  string
	before  func(method string, request []byte) error // runs before a call is forwarded
	runtime *grpc.ClientConn
	mu      sync.Mutex
	asked   []string
}

func (n *node) proxy(t *testing.T, before func(method string, request []byte) error) *proxy {
	t.Helper()
	runtime, err := grpc.NewClient(n.endpoint(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(asItIs{})))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = runtime.Close() }) // the test is over
	p := &proxy{socket: filepath.Join(socketDir(t), "cri.sock"), before: before, runtime: runtime}
	serveGRPC(t, p.socket, grpc.NewServer(grpc.ForceServerCodec(asItIs{}), grpc.UnknownServiceHandler(p.forward)))
	// The check takes the socket's time for the runtime's start.
	started := socketTimes(t, n.socket).modified
	if err := os.Chtimes(p.socket, started, started); err != nil {
		t.Fatal(err)
	}
	return p
}

// forward takes calls of one request and one answer: the product makes no others.
func (p *proxy) forward(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	var request, response []byte
	if err := stream.RecvMsg(&request); err != nil {
		return err
	}
	p.mu.Lock()
	p.asked = append(p.asked, path.Base(method))
	p.mu.Unlock()
	if err := p.before(path.Base(method), request); err != nil {
		return err
	}
	if err := p.runtime.Invoke(stream.Context(), method, &request, &response); err != nil {
		return err
	}
	return stream.SendMsg(&response)
}

// mustHaveChanged: of all calls so far these changed something, in this order.
func (p *proxy) mustHaveChanged(t *testing.T, want ...string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	var got []string
	for _, m := range p.asked {
		if m != "Version" && !strings.HasPrefix(m, "List") && !strings.HasSuffix(m, "Status") {
			got = append(got, m)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the calls that change something were %v, want %v", got, want)
	}
}

// asItIs is a codec that leaves messages in their bytes. Its name would go on the wire behind application/grpc, and CRI-O
// answers only calls that have nothing there.
type asItIs struct{}

func (asItIs) Name() string { return "" }

func (asItIs) Marshal(v any) ([]byte, error) {
	b, ok := v.(*[]byte)
	if !ok {
		return nil, fmt.Errorf("%T are no bytes", v)
	}
	return *b, nil
}

// Unmarshal copies: grpc uses its buffer again.
func (asItIs) Unmarshal(data []byte, v any) error {
	b, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("%T are no bytes", v)
	}
	*b = bytes.Clone(data)
	return nil
}
