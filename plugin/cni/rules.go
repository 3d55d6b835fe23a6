package cni

import (
	"errors"
	"fmt"
	"net"
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
	sets, _ := ipam["ranges"].([]any)
	if bad := badSubnet(ipam, sets); bad {
		return &Rule{Err: errors.New("ipam host-local has a subnet that is none")}
	}
	if len(sets) > 0 || text(ipam, "subnet") != "" {
		return nil
	}
	return &Rule{Err: errors.New("ipam host-local has no range of addresses"), Later: true,
		Agent: "the pod of the CNI plugin on this node, which writes the range"}
}

// badSubnet finds a subnet that net.ParseCIDR refuses, as host-local does at each ADD.
func badSubnet(ipam map[string]any, sets []any) bool {
	subnets := []string{text(ipam, "subnet")}
	for _, set := range sets {
		ranges, _ := set.([]any)
		for _, r := range ranges {
			conf, _ := r.(map[string]any)
			subnets = append(subnets, text(conf, "subnet"))
		}
	}
	for _, s := range subnets {
		if _, _, err := net.ParseCIDR(s); s != "" && err != nil {
			return true
		}
	}
	return false
}

// meta are plugins that change what another one made.
var meta = map[string]bool{"portmap": true, "bandwidth": true, "firewall": true, "sbr": true, "tuning": true, "loopback": true, "vrf": true}

// NoAddress is an error for a network made of standard plugins alone, none of which has an ipam: the pod gets an interface
// and no address, which containerd refuses ("failed to find network info for sandbox").
func (n Network) NoAddress() error {
	main := false
	for _, p := range n.Plugins {
		if !standard[p.Type] && !meta[p.Type] {
			return nil
		}
		if p.ipamType() != "" {
			return nil
		}
		main = main || standard[p.Type]
	}
	if !main {
		return nil
	}
	return errors.New("no plugin has an ipam, pods get no address")
}
