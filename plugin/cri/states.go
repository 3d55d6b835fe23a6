package cri

import (
	"encoding/json"

	"sandbox-checker/plugin/cri/wire"
)

// noState is what no CRI has.
const noState = -1

// unmarshalPods also keeps states of a later CRI apart: protojson takes a name that it does not know for 0, which is READY.
func unmarshalPods(raw []byte, m *wire.RecordedSandboxes) error {
	if err := lenient.Unmarshal(raw, m); err != nil {
		return err
	}
	var named struct{ Items []struct{ State any } }
	if err := json.Unmarshal(raw, &named); err != nil {
		return err
	}
	for i, s := range named.Items[:min(len(named.Items), len(m.Items))] {
		if name, ok := s.State.(string); ok && !known(wire.PodSandboxState_value, name) {
			m.Items[i].State = noState
		}
	}
	return nil
}

// unmarshalContainers does the same for containers, where 0 is CREATED.
func unmarshalContainers(raw []byte, m *wire.ListContainersResponse) error {
	if err := lenient.Unmarshal(raw, m); err != nil {
		return err
	}
	var named struct{ Containers []struct{ State any } }
	if err := json.Unmarshal(raw, &named); err != nil {
		return err
	}
	for i, s := range named.Containers[:min(len(named.Containers), len(m.Containers))] {
		if name, ok := s.State.(string); ok && !known(wire.ContainerState_value, name) {
			m.Containers[i].State = noState
		}
	}
	return nil
}

func known(values map[string]int32, name string) bool {
	_, ok := values[name]
	return ok
}
