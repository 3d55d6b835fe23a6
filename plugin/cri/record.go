package cri

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"sandbox-checker/plugin/cri/wire"
)

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
	version, err := call[wire.VersionResponse](ctx, c, runtimeService, "Version", &wire.VersionRequest{})
	if err != nil {
		return err
	}
	st, err := c.status(ctx)
	if err != nil {
		return err
	}
	pods, err := call[wire.RecordedSandboxes](ctx, c, runtimeService, "ListPodSandbox", &wire.ListPodSandboxRequest{})
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
		one, err := c.sandboxStatus(ctx, id, false)
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

func firstSandbox(items []*wire.RecordedSandbox) string {
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
func inspectpJSON(s *wire.PodSandboxStatus) ([]byte, error) {
	created := time.Unix(0, s.GetCreatedAt()).UTC().Format(time.RFC3339Nano)
	if s == nil {
		s = &wire.PodSandboxStatus{} // with all that crictl prints of one
	}
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
func infoJSON(st *wire.StatusResponse) ([]byte, error) {
	status := st.GetStatus()
	if status == nil {
		status = &wire.RuntimeStatus{}
	}
	raw, err := protojson.MarshalOptions{EmitUnpopulated: true}.Marshal(status)
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
