package cri

import (
	"fmt"
	"maps"
	"slices"

	"sandbox-checker/plugin/cri/wire"
)

// Renamed returns the records with every pod named as name says, and without what else tells whose node it is: images,
// addresses, annotations, labels other than the kubelet's, and all that the runtime tells of itself but what [Status] reads.
// Names of containers stay, and so does what the runtime says in words.
func (r Records) Renamed(name func(Pod) Pod) (Records, error) {
	out := r
	// The order in which name is asked is always the same.
	for _, part := range []struct {
		section string
		in      []byte
		to      *[]byte
		renamed func([]byte) ([]byte, error)
	}{
		{"pods.json", r.Pods, &out.Pods, func(raw []byte) ([]byte, error) { return renamedPods(raw, name) }},
		{"ps.json", r.Containers, &out.Containers, func(raw []byte) ([]byte, error) { return renamedContainers(raw, name) }},
		{"info.json", r.Info, &out.Info, minimalInfo},
		{"version.json", r.Version, &out.Version, minimalVersion},
	} {
		if part.in == nil {
			continue
		}
		var err error
		if *part.to, err = part.renamed(part.in); err != nil {
			return r, fmt.Errorf("cri/%s: %w", part.section, err)
		}
	}
	if r.Image != nil {
		out.Image = minimalImage(r.Image)
	}
	if r.CRIOConfig != nil {
		out.CRIOConfig = minimalTOML(r.CRIOConfig)
	}
	out.Sandbox = map[string][]byte{}
	for _, id := range slices.Sorted(maps.Keys(r.Sandbox)) {
		one, err := minimalSandbox(r.Sandbox[id], name)
		if err != nil {
			return r, fmt.Errorf("cri/inspectp/%s.json: %w", id, err)
		}
		out.Sandbox[id] = one
	}
	return out, nil
}

func renamedPods(raw []byte, name func(Pod) Pod) ([]byte, error) {
	var m wire.RecordedSandboxes
	if err := unmarshalPods(raw, &m); err != nil {
		return nil, err
	}
	for _, s := range m.GetItems() {
		if md := s.GetMetadata(); md != nil {
			p := name(Pod{Namespace: md.Namespace, Name: md.Name, UID: md.Uid})
			md.Namespace, md.Name, md.Uid = p.Namespace, p.Name, p.UID
		}
		s.Labels, s.Annotations, s.RuntimeHandler = renamedLabels(s.GetLabels(), name), nil, ""
	}
	return crictlJSON(&m)
}

func renamedContainers(raw []byte, name func(Pod) Pod) ([]byte, error) {
	var m wire.ListContainersResponse
	if err := unmarshalContainers(raw, &m); err != nil {
		return nil, err
	}
	for _, c := range m.GetContainers() {
		c.Labels, c.Annotations = renamedLabels(c.GetLabels(), name), nil
		c.Image, c.ImageRef, c.ImageId = nil, "", ""
	}
	return crictlJSON(&m)
}

// containerNameLabel is the kubelet's word for the container's name.
const containerNameLabel = "io.kubernetes.container.name"

func renamedLabels(l map[string]string, name func(Pod) Pod) map[string]string {
	out := map[string]string{}
	if c := l[containerNameLabel]; c != "" {
		out[containerNameLabel] = c
	}
	p := Pod{Namespace: l[podNamespaceLabel], Name: l[podNameLabel], UID: l[podUIDLabel]}
	if p == (Pod{}) {
		return out
	}
	p = name(p)
	out[podNamespaceLabel], out[podNameLabel], out[podUIDLabel] = p.Namespace, p.Name, p.UID
	return out
}
