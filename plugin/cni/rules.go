package cni

import (
	"errors"
	"fmt"
)

// Rule is something in the file itself that makes a plugin refuse every ADD, although the file loads.
type Rule struct {
	Err error
	// Agent is who writes what is missing, and Later that it may still do so.
	Agent string
	Later bool
}

// Refused lists what the network's plugins refuse. Only rules of plugins in the table, and of the standard ones, are known:
// keys belong to the plugin.
func (n Network) Refused() []Rule {
	var out []Rule
	for _, p := range n.Plugins {
		for _, check := range []func(Plugin) *Rule{flannelRule, multusRule, hostLocalRule} {
			if r := check(p); r != nil {
				out = append(out, *r)
			}
		}
	}
	return out
}

// flannelRule: the delegate's name and ipam are set by flannel itself (cni-plugin flannel.go cmdAdd).
func flannelRule(p Plugin) *Rule {
	if p.Type != "flannel" {
		return nil
	}
	d, _ := p.Conf["delegate"].(map[string]any)
	for _, key := range []string{"name", "ipam"} {
		if _, ok := d[key]; ok {
			return &Rule{Err: fmt.Errorf("plugin flannel refuses a delegate with %s", key)}
		}
	}
	if t, ok := d["type"]; ok {
		if _, isText := t.(string); !isText {
			return &Rule{Err: errors.New("plugin flannel refuses a delegate whose type is no text")}
		}
	}
	return nil
}

// multusRule: a delegate that is multus again never ends (multus takes its own file for the default network).
func multusRule(p Plugin) *Rule {
	if p.Type != "multus" {
		return nil
	}
	list, _ := p.Conf["delegates"].([]any)
	for _, d := range list {
		conf, _ := d.(map[string]any)
		members, _ := conf["plugins"].([]any)
		for _, m := range append(members, d) {
			if c, ok := m.(map[string]any); ok && text(c, "type") == "multus" {
				return &Rule{Err: errors.New("multus has itself as a delegate, which never ends"), Agent: rowOf("multus").agent}
			}
		}
	}
	return nil
}

// standard are the plugins that hand ipam on as it is (containernetworking/plugins).
var standard = map[string]bool{"bridge": true, "ptp": true, "macvlan": true, "ipvlan": true, "host-device": true, "vlan": true}

// hostLocalRule: without a range host-local says "no IP ranges specified". kube-router, kilo and k0s write it in when their
// daemon has started.
func hostLocalRule(p Plugin) *Rule {
	ipam, _ := p.Conf["ipam"].(map[string]any)
	if !standard[p.Type] || text(ipam, "type") != "host-local" || isTrue(value(p.Conf, "capabilities.ipRanges")) {
		return nil
	}
	if sets, _ := ipam["ranges"].([]any); len(sets) > 0 || text(ipam, "subnet") != "" {
		return nil
	}
	return &Rule{Err: errors.New("ipam host-local has no range of addresses"), Later: true,
		Agent: "the pod of the CNI plugin on this node, which writes the range"}
}
