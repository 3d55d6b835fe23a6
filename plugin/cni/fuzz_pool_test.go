package cni

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// model is one range of a set as host-local reads it, its addresses as offsets from the network's.
type model struct {
	base             string // the network's address, the last byte 0
	bits             int    // host bits, 2 to 6
	start, end, gate int    // offsets, -1 for "not set"
}

func (m model) v6() bool { return strings.Contains(m.base, ":") }

func (m model) at(offset int) string {
	a := netip.MustParseAddr(m.base)
	for range offset {
		a = a.Next()
	}
	return a.String()
}

func (m model) json() string {
	long := 32
	if m.v6() {
		long = 128
	}
	out := fmt.Sprintf(`{"subnet":"%s/%d"`, m.base, long-m.bits)
	for key, offset := range map[string]int{"rangeStart": m.start, "rangeEnd": m.end, "gateway": m.gate} {
		if offset >= 0 {
			out += fmt.Sprintf(`,"%s":"%s"`, key, m.at(offset))
		}
	}
	return out + "}"
}

// addresses are what host-local hands out of the range, one after the other (allocator.go Next, range.go Canonicalize);
// false when it refuses the range.
func (m model) addresses() ([]string, bool) {
	size := 1 << m.bits
	start, end, gate := m.start, m.end, m.gate
	if start < 0 {
		start = 1
	}
	if end < 0 {
		end = size - 1
		if !m.v6() {
			end-- // the broadcast address
		}
	}
	if gate < 0 {
		gate = 1
	}
	if start >= size || end >= size || end < start {
		return nil, false
	}
	var out []string
	for i := start; i <= end; i++ {
		if i != gate {
			out = append(out, m.at(i))
		}
	}
	return out, true
}

// FuzzPool: a pool is full when host-local could hand out nothing of some set, and only then.
func FuzzPool(f *testing.F) {
	f.Add(uint8(4), int8(-1), int8(-1), int8(-1), false, uint8(0), int8(-1), int8(-1), int8(-1), false, ^uint64(0), ^uint64(0), "lock\nlast_reserved_ip.0")
	f.Add(uint8(3), int8(2), int8(5), int8(3), false, uint8(3), int8(-1), int8(-1), int8(-1), false, ^uint64(0), uint64(0xff), "10.0.0.9~")
	f.Add(uint8(2), int8(-1), int8(-1), int8(-1), true, uint8(6), int8(-1), int8(60), int8(0), true, uint64(7), uint64(1), "::1\nfd00::1:1")
	f.Add(uint8(6), int8(0), int8(63), int8(99), false, uint8(2), int8(1), int8(1), int8(1), true, ^uint64(0)-4, uint64(0), "10.0.0.300\n\n.")
	f.Fuzz(func(t *testing.T, bits1 uint8, start1, end1, gate1 int8, v6 bool, bits2 uint8, start2, end2, gate2 int8, sets bool, taken1, taken2 uint64, others string) {
		base := [2]string{"10.0.0.0", "10.0.1.0"}
		if v6 {
			base = [2]string{"fd00::", "fd00::1:0"}
		}
		offset := func(v int8) int { return max(int(v), -1) }
		one := model{base[0], 2 + int(bits1)%5, offset(start1), offset(end1), offset(gate1)}
		two := model{base[1], 2 + int(bits2)%5, offset(start2), offset(end2), offset(gate2)}
		a1, ok1 := one.addresses()
		a2, ok2 := two.addresses()
		if !ok1 || !ok2 {
			return
		}
		between := ","
		if sets {
			between = "],["
		}
		pools := hostLocal(t, `"ranges":[[`+one.json()+between+two.json()+`]]`).Pools(nil)
		if len(pools) != 1 {
			t.Fatalf("%s %s: %+v", one.json(), two.json(), pools)
		}
		names := someOf(a1, taken1)
		names = append(names, someOf(a2, taken2)...)
		for n := range strings.SplitSeq(others, "\n") {
			// host-local knows an address by one name only, so two spellings of one are not looked at here.
			if a, err := netip.ParseAddr(n); (err != nil || a.String() == n && a.Zone() == "") && !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
		left := func(all []string) bool {
			return slices.ContainsFunc(all, func(a string) bool { return !slices.Contains(names, a) })
		}
		want := !left(slices.Concat(a1, a2)) && len(a1)+len(a2) > 0
		if sets {
			want = len(a1) > 0 && !left(a1) || len(a2) > 0 && !left(a2)
		}
		taken, full := pools[0].Full(names)
		if full != want {
			t.Errorf("%s %s, sets %v: full %v, want %v with %q", one.json(), two.json(), sets, full, want, names)
		}
		for _, n := range taken {
			if !slices.Contains(a1, n) && !slices.Contains(a2, n) {
				t.Errorf("%s is not handed out", n)
			}
		}
	})
}

// someOf are the addresses whose bit is set.
func someOf(all []string, bits uint64) []string {
	var out []string
	for i, a := range all {
		if bits>>(i%64)&1 == 1 {
			out = append(out, a)
		}
	}
	return out
}
