package cni

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// hostLocal is a network "podnet" whose bridge has this ipam beside its type.
func hostLocal(tb testing.TB, ipam string) Network {
	tb.Helper()
	return listOf(tb, `{"type":"bridge","ipam":{"type":"host-local",`+ipam+`}}`)
}

// between are the names of the reservations of these addresses, both included.
func between(from, to string) []string {
	var out []string
	last := netip.MustParseAddr(to)
	for a := netip.MustParseAddr(from); !last.Less(a); a = a.Next() {
		out = append(out, a.String())
	}
	return out
}

// beside are the other files of host-local's directory.
var beside = []string{"last_reserved_ip.0", "last_reserved_ip.1", "lock"}

// TestFull gives each pool the addresses that host-local hands out of it, all of them and all but one.
func TestFull(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		ipam string
		out  []string
	}{
		// .0 is the network, .1 the gateway, .255 the broadcast address.
		"subnet":              {`"subnet":"10.251.9.0/24"`, between("10.251.9.2", "10.251.9.254")},
		"ranges":              {`"ranges":[[{"subnet":"10.251.9.0/24"}]]`, between("10.251.9.2", "10.251.9.254")},
		"/16":                 {`"ranges":[[{"subnet":"10.251.0.0/16"}]]`, between("10.251.0.2", "10.251.255.254")},
		"/30":                 {`"subnet":"10.0.0.4/30"`, between("10.0.0.6", "10.0.0.6")},
		"/29 from .8":         {`"subnet":"10.0.0.8/29"`, between("10.0.0.10", "10.0.0.14")},
		"gateway at the end":  {`"subnet":"10.0.0.0/29","gateway":"10.0.0.6"`, between("10.0.0.1", "10.0.0.5")},
		"gateway inside":      {`"subnet":"10.0.0.0/29","gateway":"10.0.0.3"`, append(between("10.0.0.1", "10.0.0.2"), between("10.0.0.4", "10.0.0.6")...)},
		"gateway elsewhere":   {`"subnet":"10.0.0.0/29","gateway":"192.168.0.1"`, between("10.0.0.1", "10.0.0.6")},
		"gateway of v6":       {`"subnet":"10.0.0.0/29","gateway":"fd00::1"`, between("10.0.0.1", "10.0.0.6")},
		"rangeStart":          {`"subnet":"10.0.0.0/28","rangeStart":"10.0.0.10"`, between("10.0.0.10", "10.0.0.14")},
		"rangeEnd":            {`"subnet":"10.0.0.0/28","rangeEnd":"10.0.0.5"`, between("10.0.0.2", "10.0.0.5")},
		"both":                {`"subnet":"10.0.0.0/24","rangeStart":"10.0.0.20","rangeEnd":"10.0.0.22"`, between("10.0.0.20", "10.0.0.22")},
		"both, with gateway":  {`"subnet":"10.0.0.0/24","rangeStart":"10.0.0.20","rangeEnd":"10.0.0.22","gateway":"10.0.0.21"`, []string{"10.0.0.20", "10.0.0.22"}},
		"one address":         {`"subnet":"10.0.0.0/24","rangeStart":"10.0.0.20","rangeEnd":"10.0.0.20"`, []string{"10.0.0.20"}},
		"over a byte":         {`"subnet":"10.0.0.0/16","rangeStart":"10.0.0.250","rangeEnd":"10.0.1.5"`, between("10.0.0.250", "10.0.1.5")},
		"network address too": {`"subnet":"10.0.0.0/29","rangeStart":"10.0.0.0","rangeEnd":"10.0.0.7"`, append([]string{"10.0.0.0"}, between("10.0.0.2", "10.0.0.7")...)},
		// IPv6 has no broadcast address.
		"v6":               {`"subnet":"fd00:1::/120"`, between("fd00:1::2", "fd00:1::ff")},
		"v6 long":          {`"ranges":[[{"subnet":"fd00:0001:0000::0/124"}]]`, between("fd00:1::2", "fd00:1::f")},
		"v6 range":         {`"subnet":"fd00:1::/64","rangeStart":"fd00:1::fffe","rangeEnd":"fd00:1::1:2"`, between("fd00:1::fffe", "fd00:1::1:2")},
		"v6 gateway":       {`"subnet":"fd00:1::/126","gateway":"fd00:1::3"`, between("fd00:1::1", "fd00:1::2")},
		"aws egress":       {`"ranges":[[{"subnet":"fd00::ac:00/118"}]]`, between("fd00::ac:2", "fd00::ac:3ff")},
		"two in a set":     {`"ranges":[[{"subnet":"10.0.0.0/29"},{"subnet":"10.0.1.0/29"}]]`, append(between("10.0.0.2", "10.0.0.6"), between("10.0.1.2", "10.0.1.6")...)},
		"two of a subnet":  {`"ranges":[[{"subnet":"10.0.0.0/24","rangeStart":"10.0.0.5","rangeEnd":"10.0.0.6"},{"subnet":"10.0.0.0/24","rangeStart":"10.0.0.9","rangeEnd":"10.0.0.9"}]]`, []string{"10.0.0.5", "10.0.0.6", "10.0.0.9"}},
		"gateway of other": {`"ranges":[[{"subnet":"10.0.0.0/30","gateway":"10.0.1.1"},{"subnet":"10.0.1.0/30","gateway":"10.0.1.2"}]]`, []string{"10.0.0.1", "10.0.0.2", "10.0.1.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pools := hostLocal(t, tc.ipam).Pools(nil)
			if len(pools) != 1 || pools[0].Dir != "/var/lib/cni/networks/podnet" {
				t.Fatalf("%+v", pools)
			}
			taken, full := pools[0].Full(slices.Concat(beside, tc.out))
			if !full || !slices.Equal(taken, tc.out) {
				t.Errorf("all %d taken: %v, %d", len(tc.out), full, len(taken))
			}
			for _, i := range []int{0, len(tc.out) / 2, len(tc.out) - 1} {
				left := slices.Delete(slices.Clone(tc.out), i, i+1)
				if taken, full := pools[0].Full(slices.Concat(beside, left)); full {
					t.Errorf("%s is left: %d", tc.out[i], len(taken))
				}
			}
			if _, full := pools[0].Full(nil); full {
				t.Error("full without a reservation")
			}
		})
	}
}

// Files that are no address of the pool take nothing away, however many they are.
func TestFullCountsOnlyItsOwn(t *testing.T) {
	t.Parallel()
	pool := hostLocal(t, `"subnet":"10.0.0.0/29"`).Pools(nil)[0] // 10.0.0.2 to 6
	four := between("10.0.0.2", "10.0.0.5")
	for name, others := range map[string][]string{
		"an older range":       between("10.9.0.1", "10.9.0.200"),
		"of v6":                between("fd00::1", "fd00::20"),
		"gateway":              {"10.0.0.1", "10.0.0.0", "10.0.0.7", "10.0.0.8"},
		"mapped":               {"::ffff:10.0.0.6", "::ffff:a00:6"},
		"leftovers of editors": {"10.0.0.6~", ".10.0.0.6.swp", "10.0.0.6.bak", "10.0.0.06", "10.0.0.6/29", " 10.0.0.6", ""},
	} {
		if _, full := pool.Full(slices.Concat(four, others, beside)); full {
			t.Errorf("%s: full with 10.0.0.6 left", name)
		}
		taken, full := pool.Full(slices.Concat(four, others, []string{"10.0.0.6"}))
		if !full || len(taken) != 5 || slices.ContainsFunc(taken, func(n string) bool { return slices.Contains(others, n) }) {
			t.Errorf("%s: %v %q", name, full, taken)
		}
	}
}

// A sandbox needs an address of every set: one that is full is enough. Within a set the ranges serve each other.
func TestFullOfSets(t *testing.T) {
	t.Parallel()
	v4, v6 := between("10.0.0.2", "10.0.0.6"), between("fd00::2", "fd00::7")
	dual := hostLocal(t, `"ranges":[[{"subnet":"10.0.0.0/29"}],[{"subnet":"fd00::/125"}]]`).Pools(nil)[0]
	mixed := hostLocal(t, `"subnet":"10.0.0.0/29","ranges":[[{"subnet":"fd00::/125"}]]`).Pools(nil)[0]
	large := hostLocal(t, `"ranges":[[{"subnet":"fd00:1::/64"}],[{"subnet":"10.0.0.0/29"}]]`).Pools(nil)[0]
	for _, tc := range []struct {
		name  string
		pool  Pool
		names []string
		taken []string // nil when it is not full
	}{
		{"v4 full", dual, slices.Concat(v4, v6[:2]), v4},
		{"v6 full", dual, slices.Concat(v4[:2], v6), v6},
		{"neither", dual, slices.Concat(v4[1:], v6[1:]), nil},
		// subnet is one more set, before those of ranges.
		{"old form, v4 full", mixed, v4, v4},
		{"old form, v6 full", mixed, v6, v6},
		{"old form, neither", mixed, slices.Concat(v4[1:], v6[1:]), nil},
		{"beside a /64", large, v4, v4},
		{"beside a /64, one left", large, v4[1:], nil},
	} {
		taken, full := tc.pool.Full(tc.names)
		if full != (tc.taken != nil) || !slices.Equal(taken, tc.taken) {
			t.Errorf("%s: %v %q", tc.name, full, taken)
		}
	}
}

// Pools of more addresses than any disk has files are never full, and asking takes no time.
func TestHugePools(t *testing.T) {
	t.Parallel()
	names := append(between("10.0.0.0", "10.0.9.255"), between("fd00::", "fd00::9ff")...)
	for _, subnet := range []string{"0.0.0.0/0", "10.0.0.0/8", "::/0", "fd00::/8", "fd00::/64", "fd00::/96", "8000::/1"} {
		pools := hostLocal(t, `"subnet":"`+subnet+`"`).Pools(nil)
		if len(pools) != 1 {
			t.Fatalf("%s: %+v", subnet, pools)
		}
		if taken, full := pools[0].Full(names); full {
			t.Errorf("%s: full with %d", subnet, len(taken))
		}
	}
}

// What host-local refuses, or this program cannot read, is no pool or never full: another number would be a false alarm.
func TestNoPool(t *testing.T) {
	t.Parallel()
	names := slices.Concat(between("10.0.0.0", "10.0.0.255"), between("fd00::", "fd00::ff"), beside)
	for name, ipam := range map[string]string{
		"no range":            `"routes":[]`,
		"calico's word":       `"subnet":"usePodCidr"`,
		"/31":                 `"subnet":"10.0.0.0/31"`, // "too small to allocate from"
		"/32":                 `"subnet":"10.0.0.0/32"`,
		"/127":                `"subnet":"fd00::/127"`,
		"/128":                `"subnet":"fd00::5/128"`,
		"last /32":            `"subnet":"255.255.255.255/32"`,
		"last /128":           `"subnet":"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128"`,
		"mask too long":       `"subnet":"10.0.0.0/33"`,
		"no mask":             `"subnet":"10.0.0.0"`,
		"backwards":           `"subnet":"10.0.0.0/24","rangeStart":"10.0.0.9","rangeEnd":"10.0.0.5"`,
		"start of v6":         `"subnet":"10.0.0.0/24","rangeStart":"fd00::1"`,
		"end of v6":           `"subnet":"10.0.0.0/24","rangeEnd":"fd00::1"`,
		"start a word":        `"subnet":"10.0.0.0/24","rangeStart":"first"`,
		"gateway a word":      `"subnet":"10.0.0.0/24","gateway":"none"`,
		"subnet a number":     `"subnet":10`,
		"ranges an object":    `"ranges":{"subnet":"10.0.0.0/29"}`,
		"set an object":       `"ranges":[{"subnet":"10.0.0.0/29"}]`,
		"range a text":        `"ranges":[["10.0.0.0/29"]]`,
		"one range broken":    `"ranges":[[{"subnet":"10.0.0.0/29"},{"subnet":"x"}]]`,
		"one set broken":      `"ranges":[[{"subnet":"10.0.0.0/29"}],[{}]]`,
		"a set of nothing":    `"ranges":[[]]`,
		"only the gateway":    `"subnet":"10.0.0.0/24","rangeStart":"10.0.0.1","rangeEnd":"10.0.0.1"`,
		"ranges that overlap": `"ranges":[[{"subnet":"10.0.0.0/29"},{"subnet":"10.0.0.0/29"}]]`,
	} {
		for _, p := range hostLocal(t, ipam).Pools(nil) {
			if taken, full := p.Full(names); full {
				t.Errorf("%s: full with %q", name, taken)
			}
		}
	}
	for name, plugin := range map[string]string{
		"another ipam":       `{"type":"bridge","ipam":{"type":"dhcp","subnet":"10.0.0.0/29"}}`,
		"no ipam":            `{"type":"bridge"}`,
		"antrea's own":       `{"type":"antrea","ipam":{"type":"host-local","subnet":"10.0.0.0/29"}}`,
		"aws egress, off":    `{"type":"egress-cni","enabled":"false","ipam":{"type":"host-local","subnet":"10.0.0.0/29"}}`,
		"flannel, no reader": `{"type":"flannel"}`,
	} {
		if pools := listOf(t, plugin).Pools(nil); len(pools) != 0 {
			t.Errorf("%s: %+v", name, pools)
		}
	}
	// Without a name there is no directory to look in.
	if pools := parsed(t, "a.conf", `{"type":"bridge","ipam":{"type":"host-local","subnet":"10.0.0.0/29"}}`).Pools(nil); len(pools) != 0 {
		t.Errorf("nameless: %+v", pools)
	}
}

func TestPoolsOfFlannel(t *testing.T) {
	t.Parallel()
	const dual = subnetEnv + "FLANNEL_IPV6_SUBNET=fd00:1::1/125\n"
	for name, tc := range map[string]struct {
		plugin, file, env, dir string
		out                    []string
	}{
		"usual":            {`{"type":"flannel"}`, "/run/flannel/subnet.env", subnetEnv, "/var/lib/cni/networks/podnet", between("10.244.1.2", "10.244.1.254")},
		"CRLF":             {`{"type":"flannel"}`, "/run/flannel/subnet.env", strings.ReplaceAll(subnetEnv, "\n", "\r\n"), "/var/lib/cni/networks/podnet", between("10.244.1.2", "10.244.1.254")},
		"dual, v6 is full": {`{"type":"flannel"}`, "/run/flannel/subnet.env", dual, "/var/lib/cni/networks/podnet", between("fd00:1::2", "fd00:1::7")},
		"moved": {`{"type":"flannel","subnetFile":"/s.env","ipam":{"type":"host-local","dataDir":"/run/ipam"}}`, "/s.env", subnetEnv,
			"/run/ipam/podnet", between("10.244.1.2", "10.244.1.254")},
		"ipam without a type": {`{"type":"flannel","ipam":{"dataDir":"/run/ipam"}}`, "/run/flannel/subnet.env", subnetEnv, "/run/ipam/podnet", between("10.244.1.2", "10.244.1.254")},
		"another ipam":        {`{"type":"flannel","ipam":{"type":"static"}}`, "", subnetEnv, "", nil},
		"no file":             {`{"type":"flannel"}`, "/run/flannel/subnet.env", "", "", nil},
		"a broken file":       {`{"type":"flannel"}`, "/run/flannel/subnet.env", "FLANNEL_SUBNET=10.244.1.1\nFLANNEL_IPV6_SUBNET=\n", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pools := listOf(t, tc.plugin, `{"type":"portmap"}`).Pools(func(path string) []byte {
				if tc.file != "" && path != tc.file {
					t.Errorf("reads %s", path)
				}
				return []byte(tc.env)
			})
			if tc.out == nil {
				if len(pools) != 0 {
					t.Errorf("%+v", pools)
				}
				return
			}
			if len(pools) != 1 || pools[0].Dir != tc.dir {
				t.Fatalf("%+v", pools)
			}
			if taken, full := pools[0].Full(append(tc.out, beside...)); !full || len(taken) != len(tc.out) {
				t.Errorf("%v %d, want %d", full, len(taken), len(tc.out))
			}
			if _, full := pools[0].Full(append(tc.out[1:len(tc.out):len(tc.out)], beside...)); full {
				t.Error("full with one left")
			}
		})
	}
}

func TestPoolDirs(t *testing.T) {
	t.Parallel()
	for dir, ipam := range map[string]string{
		"/var/lib/cni/networks/podnet": `"dataDir":""`,
		"/run/ipam/podnet":             `"dataDir":"/run/ipam/"`,
	} {
		if pools := hostLocal(t, ipam+`,"subnet":"10.0.0.0/29"`).Pools(nil); len(pools) != 1 || pools[0].Dir != dir {
			t.Errorf("%s: %+v", dir, pools)
		}
	}
	two := listOf(t, `{"type":"bridge","ipam":{"type":"host-local","subnet":"10.0.0.0/29"}}`, `{"type":"ptp","ipam":{"type":"host-local","subnet":"10.0.1.0/29","dataDir":"/d"}}`)
	if pools := two.Pools(nil); len(pools) != 2 || pools[1].Dir != "/d/podnet" {
		t.Errorf("%+v", pools)
	}
}

func TestOwner(t *testing.T) {
	t.Parallel()
	const id = "c6a1f0d84b7e2a9f51bcb0a1e7f0d7ce26e53c4c0a6f4e3b2d1c0b9a8f7e6d5c"
	for name, tc := range map[string]struct{ raw, want string }{
		"usual": {id + "\r\neth0", id}, // host-local writes Windows line ends
		"unix":  {id + "\neth0\n", id}, "old": {id, id}, "old with newline": {id + "\n", id}, "spaces": {" " + id + " \r\neth0", id},
		"empty": {"", ""}, "no id": {"\r\neth0", ""}, "blank": {"  ", ""},
	} {
		if got := Owner([]byte(tc.raw)); got != tc.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := Owner([]byte(fmt.Sprintf("%s\n%s", strings.Repeat("x", 1<<20), "eth0"))); len(got) != 1<<20 {
		t.Errorf("%d bytes", len(got))
	}
}
