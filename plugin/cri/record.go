package cri

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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
	var version runtimeVersion
	if err := c.call(ctx, runtimeService, "Version", nil, version.add); err != nil {
		return err
	}
	st, err := c.status(ctx)
	if err != nil {
		return err
	}
	var pods sandboxList
	if err := c.eachSandbox(ctx, (*podSandbox).add, func(s *podSandbox) { pods.Items = append(pods.Items, *s) }); err != nil {
		return err
	}
	var ctrs containerList
	if err := c.eachContainer(ctx, nil, (*container).add, func(one *container) { ctrs.Containers = append(ctrs.Containers, *one) }); err != nil {
		return err
	}
	var errs [4]error
	r.Version, errs[0] = crictlJSON(version)
	r.Pods, errs[1] = pods.json()
	r.Containers, errs[2] = ctrs.json()
	r.Info, errs[3] = infoJSON(st)
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	r.Sandbox = map[string][]byte{}
	for _, id := range inspect(pods.rows(), ctrs.rows()) {
		one, _, err := c.sandboxStatus(ctx, id, false)
		if err != nil {
			continue // it went away between two calls
		}
		if r.Sandbox[id], err = inspectpJSON(one); err != nil {
			return err
		}
	}
	if img, err := c.SandboxImage(ctx, firstSandbox(pods.Items)); err == nil && img.Name != "" {
		word := "gone"
		if img.Present {
			word = "present"
		}
		r.Image = []byte(img.Name + " " + word + "\n")
	}
	if sum, err := statusOf(st.status, infoOf(st.info)); err == nil && sum.Flavor == CRIO {
		// Without it the capture says so by itself.
		r.CRIOConfig, _ = c.crioConfig(ctx)
	}
	return nil
}

func firstSandbox(items []podSandbox) string {
	if len(items) == 0 {
		return ""
	}
	return items[0].ID
}

// json prints a list as crictl does: with an empty list or map where there is nothing.
func (l sandboxList) json() ([]byte, error) {
	if l.Items == nil {
		l.Items = []podSandbox{}
	}
	for i := range l.Items {
		fillMap(&l.Items[i].Labels)
	}
	return crictlJSON(l)
}

func (l containerList) json() ([]byte, error) {
	if l.Containers == nil {
		l.Containers = []container{}
	}
	for i := range l.Containers {
		fillMap(&l.Containers[i].Labels)
		if img := l.Containers[i].Image; img != nil {
			fillMap(&img.Annotations)
		}
	}
	return crictlJSON(l)
}

func fillMap(m *map[string]string) {
	if *m == nil {
		*m = map[string]string{}
	}
}

// crictlJSON prints a message as crictl does.
func crictlJSON(m any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(m)
	return out.Bytes(), err
}

// inspectpJSON prints a sandbox's status as crictl inspectp does.
func inspectpJSON(s sandboxStatus) ([]byte, error) {
	all, err := json.Marshal(map[string]any{"status": s})
	if err != nil {
		return nil, err
	}
	return indent(all)
}

// infoJSON merges the status and the info map as crictl does.
func infoJSON(st statusAnswer) ([]byte, error) {
	if st.status.Conditions == nil {
		st.status.Conditions = []runtimeCondition{}
	}
	raw, err := json.Marshal(st.status)
	if err != nil {
		return nil, err
	}
	merged := infoOf(st.info)
	merged["status"] = raw
	all, err := json.Marshal(merged)
	if err != nil {
		return nil, err
	}
	return indent(all)
}

func indent(raw []byte) ([]byte, error) {
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}
