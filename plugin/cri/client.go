package cri

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
)

// Client asks a live runtime. It connects at the first call and makes one RPC a method call.
type Client struct {
	path string
	note func(doing string)
	http *http.Transport

	mu    sync.Mutex
	conns []net.Conn
}

// Dial returns a client of the runtime at the socket path. note is told of each call before it is made, so that whoever
// ends the process at the deadline can say what hung; it may be nil.
func Dial(path string, note func(doing string)) (*Client, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, bare(err))
	}
	if st.Mode().Type() != os.ModeSocket {
		return nil, fmt.Errorf("%s: not a socket", path)
	}
	if note == nil {
		note = func(string) {}
	}
	c := &Client{path: path, note: note}
	c.http = overHTTP2(path, func(conn net.Conn) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.conns = append(c.conns, conn)
	})
	return c, nil
}

// Close drops the connection, also one that is not idle: to a server that has not spoken yet net/http would keep it.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		_ = conn.Close() // it may be closed already
	}
	c.conns = nil
	return nil
}

// Socket is the path of the runtime's socket.
func (c *Client) Socket() string { return c.path }

// Sandboxes lists all sandboxes (ListPodSandbox).
func (c *Client) Sandboxes(ctx context.Context) ([]Sandbox, error) {
	var out []Sandbox
	err := c.eachSandbox(ctx, (*podSandbox).addRow, func(s *podSandbox) { out = append(out, s.row()) })
	return out, err
}

func (c *Client) eachSandbox(ctx context.Context, add func(*podSandbox, field) error, do func(*podSandbox)) error {
	return c.call(ctx, runtimeService, "ListPodSandbox", nil, eachEntry(func(raw []byte) error {
		var s podSandbox
		if err := eachField(raw, func(f field) error { return add(&s, f) }); err != nil {
			return err
		}
		do(&s)
		return s.check()
	}))
}

// Containers lists all containers (ListContainers).
func (c *Client) Containers(ctx context.Context) ([]Container, error) {
	var out []Container
	err := c.eachContainer(ctx, nil, (*container).addRow, func(one *container) { out = append(out, one.row()) })
	return out, err
}

// created is ListContainersRequest.filter.state.state = CONTAINER_CREATED, which is 0 and so an empty message.
var created = withBytes(nil, 1, withBytes(nil, 2, nil))

// CreatedContainers lists the containers in state CREATED; the runtime filters, so on a healthy node the answer is empty.
func (c *Client) CreatedContainers(ctx context.Context) ([]Container, error) {
	var out []Container
	err := c.eachContainer(ctx, created, (*container).addRow, func(one *container) {
		if one.State == Created { // a runtime may ignore the filter
			out = append(out, one.row())
		}
	})
	return out, err
}

func (c *Client) eachContainer(ctx context.Context, req []byte, add func(*container, field) error, do func(*container)) error {
	return c.call(ctx, runtimeService, "ListContainers", req, eachEntry(func(raw []byte) error {
		var one container
		if err := eachField(raw, func(f field) error { return add(&one, f) }); err != nil {
			return err
		}
		do(&one)
		return one.check()
	}))
}

// maxListed is more than any node can have: the kubelet's own limits are below a thousand pods. Above it the runtime has gone
// mad, and to judge its list would take all the time and memory there is.
const maxListed = 100_000

// eachEntry hands over the entries of a list, which are field 1 of each answer that has one.
func eachEntry(do func([]byte) error) func(field) error {
	n := 0
	return func(f field) error {
		if err := f.of(0, 1<<1); err != nil || f.num != 1 {
			return err
		}
		if n++; n > maxListed {
			return fmt.Errorf("more than %d entries", maxListed)
		}
		return do(f.b)
	}
}

// HostNetwork says whether a sandbox uses the node's network (PodSandboxStatus).
func (c *Client) HostNetwork(ctx context.Context, sandboxID string) (bool, error) {
	s, _, err := c.sandboxStatus(ctx, sandboxID, false)
	return s.hostNetwork(), err
}

func (c *Client) sandboxStatus(ctx context.Context, id string, verbose bool) (s sandboxStatus, info map[string]string, err error) {
	s = newSandboxStatus()
	req := withText(nil, 1, id)
	if verbose {
		req = withTrue(req, 2)
	}
	err = c.call(ctx, runtimeService, "PodSandboxStatus", req, func(f field) error {
		switch f.num {
		case 1:
			return eachField(f.b, s.add)
		case 2:
			return addEntry(&info, f.b)
		}
		return nil
	})
	return s, info, err
}

// SandboxImage tells of which image sandboxes are made and whether it is there: the name from Status, or else from the
// status of any listed sandbox, then ImageStatus.
func (c *Client) SandboxImage(ctx context.Context, sandboxID string) (Image, error) {
	st, err := c.Status(ctx)
	if err != nil {
		return Image{}, err
	}
	name := st.SandboxImage
	if name == "" && sandboxID != "" {
		_, info, err := c.sandboxStatus(ctx, sandboxID, true)
		if err != nil {
			return Image{}, err
		}
		name = sandboxImage(info)
	}
	if name == "" {
		return Image{}, nil
	}
	img := Image{Name: name}
	err = c.call(ctx, imageService, "ImageStatus", withBytes(nil, 1, withText(nil, 1, name)), func(f field) error {
		img.Present = img.Present || f.num == 1
		return nil
	})
	if err != nil {
		return Image{}, err
	}
	return img, nil
}

// sandboxImage reads info.image of a sandbox's verbose status (containerd).
func sandboxImage(wire map[string]string) string {
	var one struct{ Image string }
	if json.Unmarshal([]byte(wire["info"]), &one) != nil {
		return "" // of another form: not told
	}
	return one.Image
}

// Status asks for the runtime's conditions and its CNI directories (Status with verbose set).
func (c *Client) Status(ctx context.Context) (Status, error) {
	ans, err := c.status(ctx)
	if err != nil {
		return Status{}, err
	}
	st, err := statusOf(ans.status, infoOf(ans.info))
	if err != nil {
		return Status{}, err
	}
	if st.Flavor == CRIO {
		raw, err := c.crioConfig(ctx)
		if err != nil {
			st.DirsErr = err
			return st, nil
		}
		st.addCRIODirs(raw)
	}
	return st, nil
}

func (c *Client) status(ctx context.Context) (statusAnswer, error) {
	var ans statusAnswer
	err := c.call(ctx, runtimeService, "Status", withTrue(nil, 1), ans.add)
	return ans, err
}

// crioConfig is GET /config on CRI-O's socket, which serves HTTP beside gRPC (cri-o server/inspect.go).
func (c *Client) crioConfig(ctx context.Context) ([]byte, error) {
	c.note("GET /config at " + c.path)
	t := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dialUnix(ctx, c.path)
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/config", nil)
	if err != nil {
		return nil, err
	}
	ans, err := t.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("GET /config at %s: %w", c.path, err)
	}
	defer func() { _ = ans.Body.Close() }() // read only: nothing is lost
	if ans.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET /config at %s: %s", c.path, ans.Status)
	}
	raw, err := io.ReadAll(io.LimitReader(ans.Body, maxMessage))
	if err != nil {
		return nil, fmt.Errorf("GET /config at %s: %w", c.path, err)
	}
	return raw, nil
}

// bare strips the operation and path that os puts around an error.
func bare(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
