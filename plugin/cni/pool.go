package cni

// host-local keeps one file per reserved address, in ipam.dataDir (/var/lib/cni/networks) below the network's name:
//
//	/var/lib/cni/networks/podnet/10.251.9.2
//	c6a1f0d84b7e2...            (the sandbox's id)
//	eth0
//
// beside last_reserved_ip.N and lock. Source: containernetworking/plugins plugins/ipam/host-local/backend.

import (
	"math"
	"math/big"
	"net/netip"
	"path"
	"strings"
)

// Pool is the addresses that a host-local ipam hands out.
type Pool struct {
	// Dir holds one file per reserved address.
	Dir string
	// sets are tried each in turn for one address; a sandbox needs one of every set.
	sets [][]span
}

// span is a range of addresses, both ends included, without its gateway.
type span struct{ first, last, gateway netip.Addr }

const dataDir = "/var/lib/cni/networks"

// Pools are the host-local pools of the network. subnetEnv gives the content of flannel's subnet.env, from which the
// flannel plugin makes the ipam of its delegate; it may be nil.
func (n Network) Pools(subnetEnv func(path string) []byte) []Pool {
	var out []Pool
	for _, p := range n.Plugins {
		ipam, _ := p.Conf["ipam"].(map[string]any)
		if p.Type == "flannel" {
			file := firstText(p.Conf, "subnetFile", "/run/flannel/subnet.env")
			ipam = flannelIPAM(p, subnetEnv, file)
		}
		if text(ipam, "type") != "host-local" || rowOf(p.Type).ownIPAM {
			continue
		}
		if pool, ok := poolOf(n.Name, ipam); ok {
			out = append(out, pool)
		}
	}
	return out
}

// flannelIPAM is the ipam that the flannel plugin gives its delegate when the file sets none of another type.
func flannelIPAM(p Plugin, subnetEnv func(string) []byte, file string) map[string]any {
	ipam := map[string]any{"type": "host-local"}
	if own, ok := p.Conf["ipam"].(map[string]any); ok {
		ipam["type"] = firstText(own, "type", "host-local")
		ipam["dataDir"] = own["dataDir"]
	}
	if subnetEnv == nil {
		return nil
	}
	keys, err := parseSubnetEnv(subnetEnv(file))
	if err != nil {
		return nil // the plugin cannot read it either
	}
	var sets []any
	for _, k := range []string{"FLANNEL_SUBNET", "FLANNEL_IPV6_SUBNET"} {
		if pfx, err := netip.ParsePrefix(keys[k]); err == nil {
			sets = append(sets, []any{map[string]any{"subnet": pfx.Masked().String()}})
		}
	}
	ipam["ranges"] = sets
	return ipam
}

func firstText(conf map[string]any, key, def string) string {
	if s := text(conf, key); s != "" {
		return s
	}
	return def
}

// poolOf reads ipam.ranges and the older ipam.subnet. Anything it does not understand is no pool: a wrong count would be a
// false alarm.
func poolOf(network string, ipam map[string]any) (Pool, bool) {
	p := Pool{Dir: path.Join(firstText(ipam, "dataDir", dataDir), network)}
	sets, _ := ipam["ranges"].([]any)
	if text(ipam, "subnet") != "" {
		sets = append([]any{[]any{ipam}}, sets...)
	}
	for _, set := range sets {
		ranges, ok := set.([]any)
		if !ok {
			return p, false
		}
		var spans []span
		for _, r := range ranges {
			conf, _ := r.(map[string]any)
			s, ok := spanOf(conf)
			if !ok {
				return p, false
			}
			spans = append(spans, s)
		}
		p.sets = append(p.sets, spans)
	}
	return p, len(p.sets) > 0 && network != ""
}

func spanOf(conf map[string]any) (span, bool) {
	pfx, err := netip.ParsePrefix(text(conf, "subnet"))
	// host-local refuses host bits, and networks that are too small (range.go Canonicalize).
	if err != nil || pfx != pfx.Masked() || pfx.Addr().Is4In6() || pfx.Bits() > pfx.Addr().BitLen()-2 {
		return span{}, false
	}
	s := span{first: pfx.Addr().Next(), last: lastOf(pfx)}
	if pfx.Addr().Is4() {
		s.last = s.last.Prev() // not the broadcast address
	}
	s.gateway = s.first // host-local's default
	for key, at := range map[string]*netip.Addr{"rangeStart": &s.first, "rangeEnd": &s.last, "gateway": &s.gateway} {
		v := text(conf, key)
		if v == "" {
			continue
		}
		if *at, err = netip.ParseAddr(v); err != nil {
			return span{}, false
		}
	}
	return s, pfx.Contains(s.first) && pfx.Contains(s.last) && !s.last.Less(s.first) // Contains refuses zones and the other family
}

// lastOf is the highest address of a prefix.
func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 1 << (7 - i%8)
	}
	last, _ := netip.AddrFromSlice(b)
	return last
}

// size is how many addresses the span hands out; pools above 2^32 never run out of files.
func (s span) size() uint64 {
	a, b := s.first.AsSlice(), s.last.AsSlice()
	d := new(big.Int).Sub(new(big.Int).SetBytes(b), new(big.Int).SetBytes(a))
	if d.BitLen() > 32 {
		return math.MaxUint64
	}
	n := d.Uint64() + 1
	if s.has(s.gateway) {
		n--
	}
	return n
}

func (s span) has(a netip.Addr) bool {
	return a.BitLen() == s.first.BitLen() && !a.Less(s.first) && !s.last.Less(a)
}

// Full says whether some set of the pool has no address left, given the names of the files in Dir, and returns the names
// of the reservations in it.
func (p Pool) Full(names []string) ([]string, bool) {
	for _, set := range p.sets {
		var size uint64
		for _, s := range set {
			size += min(s.size(), math.MaxUint32) // no wrap: a set has fewer than 2^32 ranges
		}
		if size == 0 || uint64(len(names)) < size {
			continue
		}
		var taken []string
		for _, n := range names {
			// Colons of IPv6 are written as underscores on Windows only.
			a, err := netip.ParseAddr(n)
			if err == nil && a.String() == n && a.Zone() == "" && inSet(set, a) { // host-local's own spelling, each address once
				taken = append(taken, n)
			}
		}
		if uint64(len(taken)) >= size {
			return taken, true
		}
	}
	return nil, false
}

func inSet(set []span, a netip.Addr) bool {
	for _, s := range set {
		if s.has(a) && a != s.gateway {
			return true
		}
	}
	return false
}

// Owner is the sandbox id in a reservation's file; "" when the file has none.
func Owner(raw []byte) string {
	id, _, _ := strings.Cut(string(raw), "\n")
	return strings.TrimSpace(id)
}
