package cri

import (
	"encoding/json"
	"fmt"
	"strings"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Renamed returns the records with every pod named as name says, and without what else tells whose node it is: images,
// addresses, and labels other than the kubelet's.
func (r Records) Renamed(name func(Pod) Pod) (Records, error) {
	out := r
	if r.Pods != nil {
		var m runtimeapi.ListPodSandboxResponse
		if err := unmarshalPods(r.Pods, &m); err != nil {
			return r, fmt.Errorf("cri/pods.json: %w", err)
		}
		for _, s := range m.GetItems() {
			rename(s.GetMetadata(), name)
			s.Labels, s.Annotations = renamedLabels(s.GetLabels(), name), nil
		}
		var err error
		if out.Pods, err = crictlJSON(&m); err != nil {
			return r, err
		}
	}
	if r.Containers != nil {
		var m runtimeapi.ListContainersResponse
		if err := unmarshalContainers(r.Containers, &m); err != nil {
			return r, fmt.Errorf("cri/ps.json: %w", err)
		}
		for _, c := range m.GetContainers() {
			c.Labels, c.Annotations = renamedLabels(c.GetLabels(), name), nil
			c.Image, c.ImageRef, c.ImageId = nil, "", ""
		}
		var err error
		if out.Containers, err = crictlJSON(&m); err != nil {
			return r, err
		}
	}
	if name, word, ok := strings.Cut(strings.TrimSpace(string(r.Image)), " "); ok && name != "" {
		out.Image = []byte("sandbox-image " + word + "\n")
	}
	out.Sandbox = map[string][]byte{}
	for id, raw := range r.Sandbox {
		one, err := renamedSandbox(raw, name)
		if err != nil {
			return r, fmt.Errorf("cri/inspectp/%s.json: %w", id, err)
		}
		out.Sandbox[id] = one
	}
	return out, nil
}

func renamedSandbox(raw []byte, name func(Pod) Pod) ([]byte, error) {
	var both struct {
		Status map[string]any `json:"status"`
	}
	if err := json.Unmarshal(raw, &both); err != nil {
		return nil, err
	}
	m, _ := both.Status["metadata"].(map[string]any)
	text := func(k string) string { s, _ := m[k].(string); return s }
	p := name(Pod{Namespace: text("namespace"), Name: text("name"), UID: text("uid")})
	// Only what tells the network is kept beside the names.
	kept := map[string]any{"metadata": map[string]any{"namespace": p.Namespace, "name": p.Name, "uid": p.UID}}
	for _, k := range []string{"id", "state", "createdAt", "linux"} {
		kept[k] = both.Status[k]
	}
	out, err := json.Marshal(map[string]any{"status": kept})
	if err != nil {
		return nil, err
	}
	return indent(out)
}

func rename(m *runtimeapi.PodSandboxMetadata, name func(Pod) Pod) {
	if m == nil {
		return
	}
	p := name(Pod{Namespace: m.Namespace, Name: m.Name, UID: m.Uid})
	m.Namespace, m.Name, m.Uid = p.Namespace, p.Name, p.UID
}

func renamedLabels(l map[string]string, name func(Pod) Pod) map[string]string {
	out := map[string]string{}
	for k, v := range l {
		if strings.HasPrefix(k, "io.kubernetes.") {
			out[k] = v
		}
	}
	if l[podNameLabel] == "" && l[podUIDLabel] == "" {
		return out
	}
	p := name(Pod{Namespace: l[podNamespaceLabel], Name: l[podNameLabel], UID: l[podUIDLabel]})
	out[podNamespaceLabel], out[podNameLabel], out[podUIDLabel] = p.Namespace, p.Name, p.UID
	return out
}
