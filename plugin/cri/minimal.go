package cri

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"google.golang.org/protobuf/encoding/protojson"
	"sandbox-checker/plugin/cri/wire"
)

// imageWord stands for the name of the image of sandboxes.
const imageWord = "sandbox-image"

// minimalInfo keeps of crictl info what statusOf reads. The whole of it names registries, their mirrors and logins, and
// environment variables.
func minimalInfo(raw []byte) ([]byte, error) {
	in := info{}
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	out := map[string]any{}
	for key, minimal := range map[string]func(json.RawMessage) (any, error){
		"status": minimalStatus, "config": minimalConfig,
		"cniconfig":         func(raw json.RawMessage) (any, error) { return as[cniConfig](raw) },
		"lastCNILoadStatus": func(raw json.RawMessage) (any, error) { return as[string](raw) },
	} {
		part, ok := in[key]
		if !ok {
			continue
		}
		var err error
		if out[key], err = minimal(part); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
	}
	all, err := json.Marshal(out)
	if err != nil {
		return nil, err
	}
	return indent(all)
}

// as reads JSON into a T and so drops what T has no field for.
func as[T any](raw json.RawMessage) (T, error) {
	var v T
	err := json.Unmarshal(raw, &v)
	return v, err
}

func minimalStatus(raw json.RawMessage) (any, error) {
	var m, out wire.RuntimeStatus
	if err := lenient.Unmarshal(raw, &m); err != nil {
		return nil, err
	}
	for _, c := range m.GetConditions() {
		if t := c.GetType(); t == runtimeReady || t == networkReady {
			out.Conditions = append(out.Conditions, c)
		}
	}
	kept, err := protojson.MarshalOptions{EmitUnpopulated: true}.Marshal(&out)
	return json.RawMessage(kept), err
}

// minimalConfig keeps the default runtime alone, under a name that tells nothing.
func minimalConfig(raw json.RawMessage) (any, error) {
	rc, err := as[runtimeConfig](raw)
	if err != nil {
		return nil, err
	}
	if rc.SandboxImage != "" {
		rc.SandboxImage = imageWord
	}
	if c := rc.CRIO; c != nil {
		c.DefaultRuntime, c.Runtimes = onlyDefault(c.DefaultRuntime, c.Runtimes)
	}
	if c := rc.Containerd; c != nil {
		c.DefaultRuntimeName, c.Runtimes = onlyDefault(c.DefaultRuntimeName, c.Runtimes)
	}
	return rc, nil
}

// commonRuntimes are names of runtimes that tell nothing of a node.
var commonRuntimes = map[string]bool{"": true, "runc": true, "crun": true, "youki": true, "kata": true, "runsc": true, "nvidia": true}

func onlyDefault[T any](name string, runtimes map[string]T) (string, map[string]T) {
	def, ok := runtimes[name]
	if !commonRuntimes[name] {
		name = "runtime"
	}
	if !ok {
		return name, nil
	}
	return name, map[string]T{name: def}
}

// minimalTOML keeps the directories of CRI-O's configuration. What does not parse becomes something that does not either.
func minimalTOML(raw []byte) []byte {
	var c crioConfig
	if err := toml.Unmarshal(raw, &c); err != nil {
		return []byte("no valid TOML\n")
	}
	out, err := toml.Marshal(c)
	if err != nil {
		return []byte("no valid TOML\n")
	}
	return out
}

// minimalVersion keeps what names the runtime.
func minimalVersion(raw []byte) ([]byte, error) {
	var v struct {
		Name    string `json:"runtimeName"`
		Version string `json:"runtimeVersion"`
		API     string `json:"runtimeApiVersion"`
	}
	if json.Unmarshal(raw, &v) != nil {
		return []byte("{}\n"), nil // the runtime then has no name, as before
	}
	out, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return indent(out)
}

func minimalImage(raw []byte) []byte {
	name, word, ok := strings.Cut(strings.TrimSpace(string(raw)), " ")
	if !ok || name == "" {
		return raw
	}
	return []byte(imageWord + " " + word + "\n")
}

// minimalSandbox keeps what tells the network, beside names and times.
func minimalSandbox(raw []byte, name func(Pod) Pod) ([]byte, error) {
	var in struct {
		Status struct {
			ID        string          `json:"id"`
			State     json.RawMessage `json:"state,omitempty"`
			CreatedAt json.RawMessage `json:"createdAt,omitempty"`
			Metadata  struct {
				Name      string `json:"name"`
				Namespace string `json:"namespace"`
				UID       string `json:"uid"`
			} `json:"metadata"`
			Linux struct {
				Namespaces struct {
					Options struct {
						Network string `json:"network"`
					} `json:"options"`
				} `json:"namespaces"`
			} `json:"linux"`
		} `json:"status"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	m := &in.Status.Metadata
	p := name(Pod{Namespace: m.Namespace, Name: m.Name, UID: m.UID})
	m.Namespace, m.Name, m.UID = p.Namespace, p.Name, p.UID
	out, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	return indent(out)
}
