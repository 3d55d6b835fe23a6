package cri

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The messages of CRI v1 (k8s.io/cri-api, api.proto), as far as this program reads or records them. As JSON they are what
// crictl prints: times as text, states by name, nothing left out. Annotations are never kept: no verdict needs them and
// they may hold anything. A test holds every field against k8s.io/cri-api.

type podMetadata struct {
	Name      string `json:"name"`
	UID       string `json:"uid"`
	Namespace string `json:"namespace"`
	Attempt   uint32 `json:"attempt"`
}

type podSandbox struct {
	ID             string            `json:"id"`
	Metadata       *podMetadata      `json:"metadata"`
	State          sandboxState      `json:"state"`
	CreatedAt      nanoseconds       `json:"createdAt"`
	Labels         map[string]string `json:"labels"`
	Annotations    nothing           `json:"annotations"`
	RuntimeHandler string            `json:"runtimeHandler"`
}

type sandboxList struct {
	Items []podSandbox `json:"items"`
}

type containerMetadata struct {
	Name    string `json:"name"`
	Attempt uint32 `json:"attempt"`
}

type imageSpec struct {
	Image              string            `json:"image"`
	Annotations        map[string]string `json:"annotations"`
	UserSpecifiedImage string            `json:"userSpecifiedImage"`
	RuntimeHandler     string            `json:"runtimeHandler"`
	ImageRef           string            `json:"imageRef"`
}

type container struct {
	ID           string             `json:"id"`
	PodSandboxID string             `json:"podSandboxId"`
	Metadata     *containerMetadata `json:"metadata"`
	Image        *imageSpec         `json:"image"`
	ImageRef     string             `json:"imageRef"`
	State        State              `json:"state"`
	CreatedAt    nanoseconds        `json:"createdAt"`
	Labels       map[string]string  `json:"labels"`
	Annotations  nothing            `json:"annotations"`
	ImageID      string             `json:"imageId"`
}

type containerList struct {
	Containers []container `json:"containers"`
}

type runtimeVersion struct {
	Version           string `json:"version"`
	RuntimeName       string `json:"runtimeName"`
	RuntimeVersion    string `json:"runtimeVersion"`
	RuntimeAPIVersion string `json:"runtimeApiVersion"`
}

type runtimeCondition struct {
	Type    string `json:"type"`
	Status  bool   `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

type runtimeStatus struct {
	Conditions []runtimeCondition `json:"conditions"`
}

// nothing is written as an empty object, whatever was read.
type nothing struct{}

// nanoseconds since 1970. JSON has them as text, because its numbers lose the last digits.
type nanoseconds int64

func (n nanoseconds) MarshalJSON() ([]byte, error) {
	return []byte(`"` + strconv.FormatInt(int64(n), 10) + `"`), nil
}

func (n *nanoseconds) UnmarshalJSON(raw []byte) error {
	if string(raw) == "null" {
		return nil
	}
	v, err := strconv.ParseInt(strings.Trim(string(raw), `"`), 10, 64)
	*n = nanoseconds(v)
	return err
}

// sandboxState is a sandbox's state as CRI names it. A later CRI may add more.
type sandboxState int32

const sandboxNotReady sandboxState = 1

// State is a container's state as CRI names it.
type State int32

// The states of CRI's ContainerState. A later CRI may add more: they are none of these.
const (
	Created State = iota
	Running
	Exited
	Unknown
)

// networkMode is where a sandbox has its network: node is the host's.
type networkMode int32

const nodeNetwork networkMode = 2

var (
	sandboxStates   = []string{"SANDBOX_READY", "SANDBOX_NOTREADY"}
	containerStates = []string{"CONTAINER_CREATED", "CONTAINER_RUNNING", "CONTAINER_EXITED", "CONTAINER_UNKNOWN"}
	networkModes    = []string{"POD", "CONTAINER", "NODE", "TARGET"}
)

// noState is what no CRI has: a name that we do not know. 0 is READY, or CREATED, and would be a lie.
const noState = -1

func (s sandboxState) MarshalJSON() ([]byte, error)    { return enumJSON(sandboxStates, int(s)) }
func (s State) MarshalJSON() ([]byte, error)           { return enumJSON(containerStates, int(s)) }
func (m networkMode) MarshalJSON() ([]byte, error)     { return enumJSON(networkModes, int(m)) }
func (s *sandboxState) UnmarshalJSON(raw []byte) error { return fromEnum(sandboxStates, raw, s) }
func (s *State) UnmarshalJSON(raw []byte) error        { return fromEnum(containerStates, raw, s) }

// enumJSON is a name, or the number where there is none.
func enumJSON(names []string, n int) ([]byte, error) {
	if n >= 0 && n < len(names) {
		return []byte(`"` + names[n] + `"`), nil
	}
	return strconv.AppendInt(nil, int64(n), 10), nil
}

func fromEnum[E ~int32](names []string, raw []byte, to *E) error {
	if string(raw) == "null" {
		return nil
	}
	if raw[0] != '"' {
		n, err := strconv.ParseInt(string(raw), 10, 32)
		*to = E(n)
		return err
	}
	var name string
	if err := json.Unmarshal(raw, &name); err != nil {
		return err
	}
	*to = E(slices.Index(names, name)) // -1 is noState
	return nil
}

// readJSON reads an object. null is no answer.
func readJSON(raw []byte, to any) error {
	if strings.TrimSpace(string(raw)) == "null" {
		return fmt.Errorf("null")
	}
	return json.Unmarshal(raw, to)
}
