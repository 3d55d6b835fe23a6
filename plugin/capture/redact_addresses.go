package capture

import (
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// addresses replaces the first half of each: 16 bits of IPv4, 48 of IPv6, and what a maker's hardware address says. What
// belongs together stays so, and neighbours stay neighbours: prefixes are numbered in their order.
type addresses struct {
	v4, v6, mac map[string]int
}

// The replacements are 10.1.x.x and on, fd00:0:1::/48 and on, 02:00:00:00:00:01 and on.
const firstV4 = 10<<8 | 1

// replaceAddresses gathers all first, so that their numbers follow their order.
func (f *File) replaceAddresses() {
	a := addresses{map[string]int{}, map[string]int{}, map[string]int{}}
	f.replaceAll(everywhere(func(s string) string { scan(s, a.learn); return s }))
	for _, m := range []map[string]int{a.v4, a.v6, a.mac} {
		for i, key := range slices.Sorted(maps.Keys(m)) {
			m[key] = i
		}
	}
	f.replaceAll(everywhere(func(s string) string { return scan(s, a.replaced) }))
}

// found is one address in a text: hardware is set for a MAC address, else ip.
type found struct {
	hardware string
	ip       netip.Addr
}

// stays says whether an address tells nothing: loopback, unspecified, link-local, multicast, netmasks.
func stays(ip netip.Addr) bool {
	return ip.IsLoopback() || ip.IsUnspecified() || ip.IsMulticast() || ip.Is4() && (ip.IsLinkLocalUnicast() || ip.As4()[0] == 255 || ip.As4()[0] == 0)
}

func (a addresses) learn(x found) string {
	switch ip := x.ip; {
	case x.hardware != "":
		a.learnMAC(plainMAC(x.hardware))
	case stays(ip):
	case ip.Is4():
		a.v4[prefix(ip.AsSlice(), 2)] = 0
	case ip.Is4In6():
		a.learn(found{ip: ip.Unmap()})
	default:
		if !ip.IsLinkLocalUnicast() {
			a.v6[prefix(ip.AsSlice(), 6)] = 0
		}
		if mac, ok := macOf(ip); ok {
			a.learnMAC(mac)
		}
	}
	return ""
}

func (a addresses) learnMAC(mac string) {
	if !nobodys[mac] {
		a.mac[mac] = 0
	}
}

// nobodys are the hardware addresses of all zeros and all ones.
var nobodys = map[string]bool{"\x00\x00\x00\x00\x00\x00": true, "\xff\xff\xff\xff\xff\xff": true}

func prefix(b []byte, n int) string { return string(b[:n]) }

func (a addresses) replaced(x found) string {
	switch {
	case x.hardware != "":
		m := a.macFor(plainMAC(x.hardware))
		return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
	case x.ip.Is4In6():
		return netip.AddrFrom16(a.ip(x.ip.Unmap()).As16()).String()
	}
	return a.ip(x.ip).String()
}

func (a addresses) ip(ip netip.Addr) netip.Addr {
	if stays(ip) {
		return ip
	}
	if ip.Is4() {
		b := ip.As4()
		n := firstV4 + a.v4[prefix(b[:], 2)]
		b[0], b[1] = byte(n>>8), byte(n)
		return netip.AddrFrom4(b)
	}
	b := ip.As16()
	mac, hasMAC := macOf(ip)
	if !ip.IsLinkLocalUnicast() {
		n := 1 + a.v6[prefix(b[:], 6)]
		copy(b[:], []byte{0xfd, 0, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
	}
	if hasMAC {
		m := a.macFor(mac)
		copy(b[8:], []byte{m[0] ^ 2, m[1], m[2], 0xff, 0xfe, m[3], m[4], m[5]})
	}
	return netip.AddrFrom16(b)
}

// macFor is the hardware address that stands for another.
func (a addresses) macFor(mac string) [6]byte {
	if nobodys[mac] {
		return [6]byte([]byte(mac))
	}
	n := 1 + a.mac[mac]
	return [6]byte{2, 0, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}
}

// macOf is the hardware address that an IPv6 address was made of (RFC 4291, appendix A).
func macOf(ip netip.Addr) (string, bool) {
	b := ip.As16()
	if b[11] != 0xff || b[12] != 0xfe {
		return "", false
	}
	return string([]byte{b[8] ^ 2, b[9], b[10], b[13], b[14], b[15]}), true
}

func plainMAC(s string) string {
	var b [6]byte
	for i := range b {
		_, _ = fmt.Sscanf(s[3*i:3*i+2], "%02x", &b[i]) // the pattern has only digits
	}
	return string(b[:])
}

var (
	macPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[0-9A-Fa-f]{2}(?:(?::[0-9A-Fa-f]{2}){5}|(?:-[0-9A-Fa-f]{2}){5})`)
	})
	v4Pattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]{1,3}(?:\.[0-9]{1,3}){3}`) })
)

// maxAddress is more than the longest address in text.
const maxAddress = 46

// scan replaces every address in s by what put says of it. A token that is none is left as it is.
func scan(s string, put func(found) string) string {
	var out strings.Builder
	for i := 0; i < len(s); {
		n, x := addressAt(s, i)
		if n == 0 {
			out.WriteByte(s[i])
			i++
			continue
		}
		out.WriteString(put(x))
		i += n
	}
	return out.String()
}

// addressAt is the address that begins at i, and its length, 0 for none.
func addressAt(s string, i int) (int, found) {
	if c := s[i]; !isHex(c) && c != ':' {
		return 0, found{}
	}
	rest := s[i:min(len(s), i+maxAddress)]
	if free := !wordBefore(s, i); free {
		if m := macPattern().FindString(rest); m != "" && !wordAt(s, i+len(m)) {
			return len(m), found{hardware: m}
		}
		if n, ip := v6At(rest); n > 0 && !wordAt(s, i+n) {
			return n, found{ip: ip}
		}
	}
	// A letter may stand before, as in \n10.0.0.1: only more digits make it something else.
	if i > 0 && (isDigit(s[i-1]) || s[i-1] == '.') {
		return 0, found{}
	}
	m := v4Pattern().FindString(rest)
	ip, err := netip.ParseAddr(m)
	if end := i + len(m); err != nil || end < len(s) && (isDigit(s[end]) || s[end] == '.' && end+1 < len(s) && isDigit(s[end+1])) {
		return 0, found{}
	}
	return len(m), found{ip: ip}
}

// v6At takes the longest run that may be an IPv6 address, without what ends a sentence.
func v6At(s string) (int, netip.Addr) {
	n := 0
	for n < len(s) && (isHex(s[n]) || s[n] == ':' || s[n] == '.') {
		n++
	}
	if strings.Count(s[:n], ":") < 2 {
		return 0, netip.Addr{}
	}
	for _, end := range []int{n, n - 1} {
		if ip, err := netip.ParseAddr(s[:end]); err == nil && ip.Is6() {
			return end, ip
		}
	}
	return 0, netip.Addr{}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

func isWord(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}

func wordAt(s string, i int) bool { return i < len(s) && isWord(s[i]) }

// wordBefore says whether a word goes on at i. What JSON writes for white space and brackets is no word.
func wordBefore(s string, i int) bool {
	if i == 0 || !isWord(s[i-1]) {
		return false
	}
	escaped := i >= 2 && s[i-2] == '\\' && strings.IndexByte("ntrbf", s[i-1]) >= 0
	unicode := i >= 6 && s[i-6:i-4] == `\u`
	return !escaped && !unicode
}
