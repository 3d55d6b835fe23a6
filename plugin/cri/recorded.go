package cri

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"sandbox-checker/plugin/cri/wire"
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
		var m wire.RecordedSandboxes
		if err := unmarshalPods(r.Pods, &m); err != nil {
			return nil, fmt.Errorf("cri/pods.json: %w", err)
		}
		if err := checkedSandboxes(m.GetItems()); err != nil {
			return nil, fmt.Errorf("cri/pods.json: %w", err)
		}
		out.sandboxes, out.has.pods = sandboxesOf(m.GetItems()), true
	}
	if r.Containers != nil {
		var m wire.ListContainersResponse
		if err := unmarshalContainers(r.Containers, &m); err != nil {
			return nil, fmt.Errorf("cri/ps.json: %w", err)
		}
		if err := checkedContainers(m.GetContainers()); err != nil {
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
	return one.Status.Linux.Namespaces.Options.Network == wire.NamespaceMode_NODE.String(), nil
}

func recordedStatus(raw, crioConfig []byte) (Status, error) {
	in := info{}
	if err := json.Unmarshal(raw, &in); err != nil {
		return Status{}, err
	}
	var m wire.RuntimeStatus
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
