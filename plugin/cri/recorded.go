package cri

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Records are a runtime's answers as crictl prints them with -o json. A nil field was not recorded.
type Records struct {
	Socket     string
	Version    []byte            // crictl version
	Pods       []byte            // crictl pods
	Containers []byte            // crictl ps -a
	Info       []byte            // crictl info
	Sandbox    map[string][]byte // crictl inspectp ID, by ID
	CRIOConfig []byte            // GET /config on CRI-O's socket
	// Image is the image of sandboxes: its name and "present" or "gone".
	Image []byte
	// Err is why the runtime did not answer; the others are then empty.
	Err string
}

// Recorded replays Records with the methods of [Client].
type Recorded struct {
	socket     string
	sandboxes  []Sandbox
	containers []Container
	status     *Status
	hostNet    map[string]bool
	image      Image
	err        error
	has        struct{ pods, containers bool }
}

// lenient reads answers of later CRI versions too.
var lenient = protojson.UnmarshalOptions{DiscardUnknown: true, AllowPartial: true}

// Replay parses records. The error names the record that does not parse.
func Replay(r Records) (*Recorded, error) {
	out := &Recorded{socket: r.Socket, hostNet: map[string]bool{}}
	if r.Err != "" {
		out.err = errors.New(r.Err)
	}
	if r.Pods != nil {
		var m runtimeapi.ListPodSandboxResponse
		if err := unmarshalPods(r.Pods, &m); err != nil {
			return nil, fmt.Errorf("cri/pods.json: %w", err)
		}
		out.sandboxes, out.has.pods = sandboxesOf(m.GetItems()), true
	}
	if r.Containers != nil {
		var m runtimeapi.ListContainersResponse
		if err := unmarshalContainers(r.Containers, &m); err != nil {
			return nil, fmt.Errorf("cri/ps.json: %w", err)
		}
		out.containers, out.has.containers = containersOf(m.GetContainers()), true
	}
	if r.Info != nil {
		st, err := recordedStatus(r.Info, r.CRIOConfig)
		if err != nil {
			return nil, fmt.Errorf("cri/info.json: %w", err)
		}
		out.status = &st
	}
	if r.Image != nil {
		name, word, _ := strings.Cut(strings.TrimSpace(string(r.Image)), " ")
		if word != "present" && word != "gone" {
			return nil, errors.New("cri/sandbox-image: want a name and present or gone")
		}
		out.image = Image{Name: name, Present: word == "present"}
	}
	for id, raw := range r.Sandbox {
		host, err := recordedNetwork(raw)
		if err != nil {
			return nil, fmt.Errorf("cri/inspectp/%s.json: %w", id, err)
		}
		out.hostNet[id] = host
	}
	return out, nil
}

// recordedNetwork reads the one field that is needed of crictl inspectp. The rest is no protojson: crictl prints times as
// RFC 3339 there, and adds what the runtime tells of itself.
func recordedNetwork(raw []byte) (bool, error) {
	var one struct {
		Status struct {
			Linux struct {
				Namespaces struct {
					Options struct{ Network string }
				}
			}
		}
	}
	if err := json.Unmarshal(raw, &one); err != nil {
		return false, err
	}
	return one.Status.Linux.Namespaces.Options.Network == runtimeapi.NamespaceMode_NODE.String(), nil
}

func recordedStatus(raw, crioConfig []byte) (Status, error) {
	in := info{}
	if err := json.Unmarshal(raw, &in); err != nil {
		return Status{}, err
	}
	var m runtimeapi.RuntimeStatus
	if s, ok := in["status"]; ok {
		if err := lenient.Unmarshal(s, &m); err != nil {
			return Status{}, err
		}
		delete(in, "status")
	}
	st, err := statusOf(&m, in)
	if err != nil {
		return Status{}, err
	}
	if st.Flavor == CRIO {
		if crioConfig == nil {
			st.DirsErr = errors.New("not in the capture: cri/config.toml")
		} else {
			st.addCRIODirs(crioConfig)
		}
	}
	return st, nil
}

// Socket is the path of the runtime's socket, "" when it was not recorded.
func (r *Recorded) Socket() string { return r.socket }

func (r *Recorded) answer(recorded bool, what string) error {
	if r.err != nil {
		return r.err
	}
	if !recorded {
		return fmt.Errorf("not in the capture: %s", what)
	}
	return nil
}

// Sandboxes replays [Client.Sandboxes].
func (r *Recorded) Sandboxes(context.Context) ([]Sandbox, error) {
	return r.sandboxes, r.answer(r.has.pods, "cri/pods.json")
}

// Containers replays [Client.Containers].
func (r *Recorded) Containers(context.Context) ([]Container, error) {
	return r.containers, r.answer(r.has.containers, "cri/ps.json")
}

// CreatedContainers replays [Client.CreatedContainers].
func (r *Recorded) CreatedContainers(context.Context) ([]Container, error) {
	return onlyCreated(r.containers), r.answer(r.has.containers, "cri/ps.json")
}

// HostNetwork replays [Client.HostNetwork].
func (r *Recorded) HostNetwork(_ context.Context, id string) (bool, error) {
	host, ok := r.hostNet[id]
	return host, r.answer(ok, "cri/inspectp/"+id+".json")
}

// SandboxImage replays [Client.SandboxImage]. A capture without it is a runtime that does not tell.
func (r *Recorded) SandboxImage(context.Context, string) (Image, error) {
	return r.image, r.answer(true, "")
}

// Status replays [Client.Status].
func (r *Recorded) Status(context.Context) (Status, error) {
	if err := r.answer(r.status != nil, "cri/info.json"); err != nil {
		return Status{}, err
	}
	return *r.status, nil
}

// Record asks a live runtime everything that Records holds. Pod annotations are left out: no verdict needs them and they
// may hold anything. inspect says of which sandboxes the status is wanted. When the runtime does not answer, Err says why
// and is returned too.
func (c *Client) Record(ctx context.Context, inspect func([]Sandbox, []Container) []string) (Records, error) {
	r := Records{Socket: c.path}
	if err := c.record(ctx, &r, inspect); err != nil {
		return Records{Socket: c.path, Err: err.Error()}, err
	}
	return r, nil
}

func (c *Client) record(ctx context.Context, r *Records, inspect func([]Sandbox, []Container) []string) error {
	version, err := call(ctx, c, "Version", c.rpc.Version, &runtimeapi.VersionRequest{})
	if err != nil {
		return err
	}
	st, err := c.status(ctx)
	if err != nil {
		return err
	}
	pods, err := c.listSandboxes(ctx)
	if err != nil {
		return err
	}
	ctrs, err := c.listContainers(ctx, nil)
	if err != nil {
		return err
	}
	for _, s := range pods.GetItems() {
		s.Annotations = nil
	}
	for _, ct := range ctrs.GetContainers() {
		ct.Annotations = nil
	}
	var errs [4]error
	r.Version, errs[0] = crictlJSON(version)
	r.Pods, errs[1] = crictlJSON(pods)
	r.Containers, errs[2] = crictlJSON(ctrs)
	r.Info, errs[3] = infoJSON(st)
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	r.Sandbox = map[string][]byte{}
	for _, id := range inspect(sandboxesOf(pods.GetItems()), containersOf(ctrs.GetContainers())) {
		one, err := c.sandboxStatus(ctx, id)
		if err != nil {
			continue // it went away between two calls
		}
		if r.Sandbox[id], err = inspectpJSON(one.GetStatus()); err != nil {
			return err
		}
	}
	if img, err := c.SandboxImage(ctx, firstSandbox(pods.GetItems())); err == nil && img.Name != "" {
		word := "gone"
		if img.Present {
			word = "present"
		}
		r.Image = []byte(img.Name + " " + word + "\n")
	}
	if sum, err := statusOf(st.GetStatus(), infoOf(st.GetInfo())); err == nil && sum.Flavor == CRIO {
		// Without it the capture says so by itself.
		r.CRIOConfig, _ = c.crioConfig(ctx)
	}
	return nil
}

func firstSandbox(items []*runtimeapi.PodSandbox) string {
	if len(items) == 0 {
		return ""
	}
	return items[0].GetId()
}

// crictlJSON prints m as crictl does. protojson varies its white space from build to build; Indent takes that out.
func crictlJSON(m proto.Message) ([]byte, error) {
	raw, err := protojson.MarshalOptions{EmitUnpopulated: true}.Marshal(m)
	if err != nil {
		return nil, err
	}
	return indent(raw)
}

// inspectpJSON prints a sandbox's status as crictl inspectp does, with its time as text, and without annotations.
func inspectpJSON(s *runtimeapi.PodSandboxStatus) ([]byte, error) {
	created := time.Unix(0, s.GetCreatedAt()).UTC().Format(time.RFC3339Nano)
	s.Annotations = nil
	raw, err := protojson.MarshalOptions{EmitUnpopulated: true}.Marshal(s)
	if err != nil {
		return nil, err
	}
	fields := map[string]any{}
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, err
	}
	fields["createdAt"] = created
	all, err := json.Marshal(map[string]any{"status": fields})
	if err != nil {
		return nil, err
	}
	return indent(all)
}

// infoJSON merges the status and the info map as crictl does.
func infoJSON(st *runtimeapi.StatusResponse) ([]byte, error) {
	raw, err := protojson.MarshalOptions{EmitUnpopulated: true}.Marshal(st.GetStatus())
	if err != nil {
		return nil, err
	}
	merged := infoOf(st.GetInfo())
	merged["status"] = raw
	all, err := json.Marshal(merged)
	if err != nil {
		return nil, err
	}
	return indent(all)
}

func indent(raw []byte) ([]byte, error) {
	var flat, out bytes.Buffer
	if err := json.Compact(&flat, raw); err != nil {
		return nil, err
	}
	if err := json.Indent(&out, flat.Bytes(), "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}
