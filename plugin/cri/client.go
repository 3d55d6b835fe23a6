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

	"sandbox-checker/plugin/cri/wire"
)

// Client asks a live runtime. It connects at the first call and makes one RPC a method call.
type Client struct {
	path string
	note func(doing string)
	over *transport
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
	return &Client{path: path, note: note, over: newTransport(path)}, nil
}

// Close drops the connection, also one to a server that has not spoken yet.
func (c *Client) Close() error {
	c.over.close()
	return nil
}

// Socket is the path of the runtime's socket.
func (c *Client) Socket() string { return c.path }

// call makes one RPC, tells its failure plainly and refuses an answer that is none of CRI's.
func call[A, Q any](ctx context.Context, c *Client, service, method string, req *Q) (*A, error) {
	c.note(method + " at " + c.path)
	c.over.dials.Store(0)
	ans, err := unary[Q, A](ctx, c.over, service, method, req)
	if err != nil {
		err = plain(ctx, err)
	} else if bad := checked(ans); bad != nil {
		err = unreadable{bad}
	}
	if err != nil {
		return nil, fmt.Errorf("%s at %s: %w", method, c.path, err)
	}
	return ans, nil
}

// Sandboxes lists all sandboxes (ListPodSandbox).
func (c *Client) Sandboxes(ctx context.Context) ([]Sandbox, error) {
	ans, err := c.listSandboxes(ctx)
	return sandboxesOf(ans.GetItems()), err
}

func (c *Client) listSandboxes(ctx context.Context) (*wire.ListPodSandboxResponse, error) {
	return call[wire.ListPodSandboxResponse](ctx, c, runtimeService, "ListPodSandbox", &wire.ListPodSandboxRequest{})
}

// Containers lists all containers (ListContainers).
func (c *Client) Containers(ctx context.Context) ([]Container, error) {
	ans, err := c.listContainers(ctx, nil)
	return containersOf(ans.GetContainers()), err
}

// CreatedContainers lists the containers in state CREATED; the runtime filters, so on a healthy node the answer is empty.
func (c *Client) CreatedContainers(ctx context.Context) ([]Container, error) {
	ans, err := c.listContainers(ctx, &wire.ContainerFilter{
		State: &wire.ContainerStateValue{State: wire.ContainerState_CONTAINER_CREATED}})
	return onlyCreated(containersOf(ans.GetContainers())), err
}

func (c *Client) listContainers(ctx context.Context, f *wire.ContainerFilter) (*wire.ListContainersResponse, error) {
	return call[wire.ListContainersResponse](ctx, c, runtimeService, "ListContainers", &wire.ListContainersRequest{Filter: f})
}

// onlyCreated also guards against a runtime that ignores the filter.
func onlyCreated(all []Container) []Container {
	var out []Container
	for _, c := range all {
		if c.State == Created {
			out = append(out, c)
		}
	}
	return out
}

// HostNetwork says whether a sandbox uses the node's network (PodSandboxStatus).
func (c *Client) HostNetwork(ctx context.Context, sandboxID string) (bool, error) {
	ans, err := c.sandboxStatus(ctx, sandboxID, false)
	return hostNetwork(ans.GetStatus()), err
}

func (c *Client) sandboxStatus(ctx context.Context, id string, verbose bool) (*wire.PodSandboxStatusResponse, error) {
	return call[wire.PodSandboxStatusResponse](ctx, c, runtimeService, "PodSandboxStatus", &wire.PodSandboxStatusRequest{PodSandboxId: id, Verbose: verbose})
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
		ans, err := c.sandboxStatus(ctx, sandboxID, true)
		if err != nil {
			return Image{}, err
		}
		name = sandboxImage(ans.GetInfo())
	}
	if name == "" {
		return Image{}, nil
	}
	ans, err := call[wire.ImageStatusResponse](ctx, c, imageService, "ImageStatus", &wire.ImageStatusRequest{Image: &wire.ImageSpec{Image: name}})
	if err != nil {
		return Image{}, err
	}
	return Image{Name: name, Present: ans.GetImage() != nil}, nil
}

// sandboxImage reads info.image of a sandbox's verbose status (containerd).
func sandboxImage(info map[string]string) string {
	var one struct{ Image string }
	if json.Unmarshal([]byte(info["info"]), &one) != nil {
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
	st, err := statusOf(ans.GetStatus(), infoOf(ans.GetInfo()))
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

func (c *Client) status(ctx context.Context) (*wire.StatusResponse, error) {
	return call[wire.StatusResponse](ctx, c, runtimeService, "Status", &wire.StatusRequest{Verbose: true})
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
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		return pe.Err
	}
	return err
}
