// Package cni reads CNI configuration: which file a runtime loads, what is wrong with it, and what its plugins need on the
// node. It parses with libcni and never executes a plugin.
//
// A file it reads, /etc/cni/net.d/10-flannel.conflist (CNI spec, section 1):
//
//	{
//	  "cniVersion": "0.3.1",
//	  "name": "cbr0",
//	  "plugins": [
//	    {"type": "flannel", "delegate": {"isDefaultGateway": true}},
//	    {"type": "portmap", "capabilities": {"portMappings": true}}
//	  ]
//	}
//
// A .conf or .json file holds one such plugin, with the name beside its type.
package cni

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/types"
	"github.com/containernetworking/cni/pkg/utils"
	"github.com/containernetworking/cni/pkg/version"
)

// Network is one configuration file as a runtime loads it.
type Network struct {
	Name    string
	Version string
	Plugins []Plugin
	// InlinedOnly is loadOnlyInlinedPlugins: no plugins of the network's sub-directory join the list.
	InlinedOnly bool
}

// Plugin is one plugin of a network. Conf is its whole configuration; keys that a reader does not know belong to the plugin.
type Plugin struct {
	Type string
	Conf map[string]any
}

// IsConfig says whether a runtime takes a file of this name for a configuration: by the extension alone, dot files too
// (libcni ConfFiles).
func IsConfig(name string) bool {
	switch path.Ext(name) {
	case ".conf", ".conflist", ".json":
		return true
	}
	return false
}

// Parse reads a configuration file as containerd and CRI-O do. file is its name; its extension decides the form.
func Parse(file string, raw []byte) (Network, error) {
	if path.Ext(file) != ".conflist" {
		return parseSingle(raw)
	}
	list, err := libcni.NetworkConfFromBytes(raw)
	if err != nil {
		return Network{}, short(err)
	}
	return networkOf(list)
}

func parseSingle(raw []byte) (Network, error) {
	one, err := libcni.NetworkPluginConfFromBytes(raw)
	if err != nil {
		// The commonest slip deserves its own words.
		if isList(raw) {
			return Network{}, errors.New("holds a list of plugins, which needs the extension .conflist")
		}
		return Network{}, short(err)
	}
	p, err := pluginOf(one)
	return Network{Name: one.Network.Name, Version: one.Network.CNIVersion, Plugins: []Plugin{p}}, err
}

func isList(raw []byte) bool {
	var l struct{ Plugins []json.RawMessage }
	return json.Unmarshal(raw, &l) == nil && len(l.Plugins) > 0
}

func networkOf(list *libcni.NetworkConfigList) (Network, error) {
	n := Network{Name: list.Name, Version: list.CNIVersion, InlinedOnly: list.LoadOnlyInlinedPlugins}
	for _, pc := range list.Plugins {
		p, err := pluginOf(pc)
		if err != nil {
			return n, err
		}
		n.Plugins = append(n.Plugins, p)
	}
	return n, nil
}

func pluginOf(pc *libcni.PluginConfig) (Plugin, error) {
	p := Plugin{Type: pc.Network.Type}
	if err := json.Unmarshal(pc.Bytes, &p.Conf); err != nil {
		return p, short(err)
	}
	return p, nil
}

// short drops the words that libcni puts before every cause.
func short(err error) error {
	s := err.Error()
	for _, prefix := range []string{"error parsing configuration list: ", "error parsing configuration: "} {
		s = strings.TrimPrefix(s, prefix)
	}
	s = WithoutValues(s)
	if strings.Contains(s, "JSON") || strings.Contains(s, "character") {
		s = "invalid JSON: " + s
	}
	return errors.New(s)
}

// quotedValue is a value of the file in an error of libcni's, our own or the runtime's: it may be a secret in the wrong place.
var quotedValue = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(invalid value) "(?:[^"\\]|\\.)*(?:"|$)`) })

// A version in such an error may have spaces, and the cause repeats it, so nothing after it is kept. Only the error about
// its type holds no value.
var (
	versionValue = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)(invalid cniVersion(?:s entry)?) .*`) })
	versionType  = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`invalid cniVersion type (?:<nil>|bool|float64|\[\]interface \{\}|map\[string\]interface \{\})(?:$|: invalid cni config)`)
	})
)

// WithoutValues takes the file's values out of an error that is about to be shown.
func WithoutValues(s string) string {
	s = quotedValue().ReplaceAllString(s, "$1")
	if versionType().MatchString(s) {
		return s
	}
	return versionValue().ReplaceAllString(s, "$1")
}

// Validate says why every pod would fail although the file loads: no name, a name with odd characters, a type that is no
// file name, a version that no spec has. A name is needed on CRI-O too: it puts the file's name for a missing one, ADD
// succeeds, and the CHECK that follows does not find the network again.
func (n Network) Validate() error {
	if n.Name == "" {
		return errors.New("no name: it loads, and every pod then fails")
	}
	if utils.ValidateNetworkName(n.Name) != nil {
		return fmt.Errorf("network name %q: only letters, digits, _ . and - are valid", n.Name)
	}
	for _, p := range n.Plugins {
		if strings.ContainsAny(p.Type, "/\\") {
			return fmt.Errorf("plugin type %q is no file name", p.Type)
		}
	}
	return validVersion(n.Version)
}

// ErrVersion marks a cniVersion that no specification known to this program has. A later runtime may know it.
var ErrVersion = errors.New("does not exist: the file loads, and every pod then fails")

func validVersion(v string) error {
	if v == "" {
		return nil // means 0.1.0
	}
	if _, _, _, err := version.ParseVersion(v); err != nil {
		return errors.New("cniVersion is no version")
	}
	if slices.Contains(version.All.SupportedVersions(), v) {
		return nil
	}
	return fmt.Errorf("cniVersion %s %w", v, ErrVersion)
}

// OnlyLoopback says whether the network gives a pod nothing but lo.
func (n Network) OnlyLoopback() bool {
	for _, p := range n.Plugins {
		if p.Type != "loopback" {
			return false
		}
	}
	return len(n.Plugins) > 0
}

// ipamType is ipam.type, "" when there is none.
func (p Plugin) ipamType() string {
	var c struct {
		IPAM types.IPAM `json:"ipam"`
	}
	if raw, err := json.Marshal(p.Conf); err == nil {
		_ = json.Unmarshal(raw, &c) // ipam of another shape is the plugin's own affair
	}
	return c.IPAM.Type
}
