package cni

// Each of these fails today. Copy into plugin/cni (or use -overlay) to run: go test -run TestBug ./plugin/cni

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// 1: a /64 after a small range: 14 + MaxUint64 wraps to 13, and the set counts as full (false alarm).
func TestSizeWraps(t *testing.T) {
	p := hostLocal(t, `"ranges":[[{"subnet":"fd00:1::/124"},{"subnet":"fd00:2::/64"}]]`).Pools(nil)[0]
	if taken, full := p.Full(between("fd00:1::2", "fd00:1::f")); full {
		t.Errorf("full with %d of 2^64", len(taken))
	}
}

// 2: one address in several spellings counts several times (false alarm; host-local itself writes one spelling).
func TestSpellings(t *testing.T) {
	p := hostLocal(t, `"subnet":"fd00:1::/126"`).Pools(nil)[0] // ::2 and ::3
	for _, names := range [][]string{{"fd00:1::2", "FD00:1::2"}, {"fd00:1::2", "fd00:1:0::2"}, {"fd00:1::2", "fd00:1::2%eth0"}} {
		if taken, full := p.Full(names); full {
			t.Errorf("full with %q", taken)
		}
	}
}

// 3: what host-local refuses as a range is taken for a pool, against poolOf's own comment.
func TestRefusedRanges(t *testing.T) {
	for name, ipam := range map[string]string{
		"host bits":        `"subnet":"10.0.0.9/29"`,
		"/31 with a range": `"subnet":"10.0.0.0/31","rangeStart":"10.0.0.0","rangeEnd":"10.0.0.1"`,
		"start outside":    `"subnet":"10.0.0.0/24","rangeStart":"10.0.7.0","rangeEnd":"10.0.7.5"`,
		"start, zone":      `"subnet":"fd00::/64","rangeStart":"fd00::1%eth0","rangeEnd":"fd00::5"`,
		"mapped IPv4":      `"subnet":"::ffff:10.0.0.0/120"`,
	} {
		if pools := hostLocal(t, ipam).Pools(nil); len(pools) != 0 {
			t.Errorf("%s: a pool", name)
		}
	}
}

// 4: two FLANNEL_SUBNET lines: the plugin takes the last, Pools takes both, so the older one's leaks are a false alarm.
func TestTwoSubnets(t *testing.T) {
	env := []byte("FLANNEL_SUBNET=10.244.1.1/29\nFLANNEL_SUBNET=10.244.2.1/24\n")
	p := listOf(t, `{"type":"flannel"}`).Pools(func(string) []byte { return env })
	if taken, full := p[0].Full(between("10.244.1.2", "10.244.1.6")); full {
		t.Errorf("full with %q", taken)
	}
}

// 5: a token that lasts "for ever" counts as expired (int64 overflow; on arm64 it saturates, so the program's answer differs).
func TestFarExpiry(t *testing.T) {
	for _, exp := range []string{"9223372036854775807", "9223372036854775000", "1e19", "1e300"} {
		if err := CheckToken(jwt(`{"exp":%s}`, exp), now); err != nil {
			t.Errorf("exp %s: %v", exp, err)
		}
	}
}

// 6: a PEM file with the key before the certificate works with client-go (tls.X509KeyPair skips other blocks).
func TestKeyBeforeCert(t *testing.T) {
	key := "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n"
	if err := CheckCert(append([]byte(key), certUntil(t, now.Add(time.Hour))...), now); err != nil {
		t.Error(err)
	}
}

// 7: many keys take minutes (yaml.v3 compares each with each), equal keys gigabytes: each pair is one error text.
func TestManyKeys(t *testing.T) {
	var b strings.Builder
	for i := range 20_000 { // 170 kB; the limit of a file is 1 MiB
		fmt.Fprintf(&b, "k%d: 1\n", i)
	}
	start := time.Now()
	_, _ = CheckKubeconfig([]byte(b.String()), now)
	if d := time.Since(start); d > 30*time.Second { // hundreds of times what it takes: the machine may be busy
		t.Errorf("%d bytes took %v", b.Len(), d)
	}
	start = time.Now()
	_, _ = CheckKubeconfig([]byte(strings.Repeat("a: 1\n", 6000)), now)
	if d := time.Since(start); d > 30*time.Second {
		t.Errorf("equal keys took %v", d)
	}
}

// 8: a key twice is no error to client-go (sigs.k8s.io/yaml, not strict): false alarm.
func TestKeyTwice(t *testing.T) {
	if _, err := CheckKubeconfig([]byte("kind: Config\n"+kubeconfigWith("token: x")), now); err != nil {
		t.Error(err)
	}
}

// 9: values of the file in errors of Parse.
func TestValuesInErrors(t *testing.T) {
	for _, raw := range []string{
		`{"name":"n","cniVersions":["hunter2"],"plugins":[{"type":"x"}]}`,
		`{"name":"n","cniVersions":["my hunter2"],"plugins":[{"type":"x"}]}`,
		`{"name":"n","cniVersions":["1.0.0"],"cniVersion":"hunter2","plugins":[{"type":"x"}]}`,
		`{"name":"n","cniVersions":["1.hunter2.3.4"],"plugins":[{"type":"x"}]}`,
		`{"name":"n","disableCheck":"a\"hunter2","plugins":[{"type":"x"}]}`,
		`{"name":"n","disableGC":"a\\\" \"hunter2","plugins":[{"type":"x"}]}`,
	} {
		if _, err := Parse("a.conflist", []byte(raw)); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

// 10: the same expression takes the word "type" out of an error that has no value: "invalid cniVersion <nil>".
func TestWordLost(t *testing.T) {
	if _, err := Parse("a.conflist", []byte(`{"name":"n","cniVersion":null}`)); err == nil || err.Error() != "invalid cniVersion type <nil>" {
		t.Error(err)
	}
}

// 11: Listed is "the program of a plugin in the list itself, which CRI-O looks for when it loads the file". The plugins of
// a file that multus names are not: with such a binary missing CRI-O still loads multus' file.
func TestFurtherListed(t *testing.T) {
	n := Need{Kind: NetworkFile, Name: "/etc/cni/net.d/10-net.conflist"}
	for _, f := range n.Further([]byte(`{"name":"n","plugins":[{"type":"flannel"}]}`)) {
		if f.Listed {
			t.Errorf("%v is listed", f)
		}
	}
}

// 12: multus ignores delegates when clusterNetwork is set, and plugins in a delegate that has a type (LoadNetConf,
// LoadDelegateNetConf): their binaries are asked for all the same (false alarm).
func TestMultusIgnores(t *testing.T) {
	got := wants(listOf(t, `{"type":"multus","clusterNetwork":"default","delegates":[{"type":"gone"}]}`).Needs())
	if slices.Contains(got, "binary gone") {
		t.Errorf("clusterNetwork and delegates: %q", got)
	}
	got = wants(listOf(t, `{"type":"multus","delegates":[{"type":"ptp","plugins":[{"type":"gone"}]}]}`).Needs())
	if slices.Contains(got, "binary gone") || !slices.Contains(got, "binary ptp") {
		t.Errorf("type and plugins: %q", got)
	}
}

// 13: plugins are written in Go and read keys in any case; a path that is moved so is sought at its old place (false alarm).
func TestKeyCase(t *testing.T) {
	got := wants(listOf(t, `{"type":"flannel","subnetfile":"/s.env"}`, `{"type":"calico","Nodename_File":"/n"}`).Needs())
	if !slices.Contains(got, "subnet.env /s.env") || !slices.Contains(got, "file /n") {
		t.Errorf("%q", got)
	}
}

// 14: what the flannel plugin refuses in subnet.env and CheckSubnetEnv does not (faults that are missed), and the reverse.
func TestSubnetEnv(t *testing.T) {
	for name, raw := range map[string]string{
		"network a word":    strings.Replace(subnetEnv, "10.244.0.0/16", "auto", 1),
		"network list bad":  strings.Replace(subnetEnv, "10.244.0.0/16", "10.244.0.0/16,", 1),
		"empty v6 subnet":   subnetEnv + "FLANNEL_IPV6_SUBNET=\n",
		"empty v6 network":  subnetEnv + "FLANNEL_IPV6_NETWORK=\n",
		"bad, then good":    "FLANNEL_MTU=x\n" + subnetEnv,
		"a key without a =": subnetEnv + "FLANNEL_MTU\n", // the plugin panics: index out of range
	} {
		if CheckSubnetEnv([]byte(raw)) == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if err := CheckSubnetEnv([]byte(strings.Replace(subnetEnv, "/24", "/024", 1))); err != nil {
		t.Errorf("net.ParseCIDR takes /024: %v", err)
	}
}

// 15: size gives up on v6 spans that cross a byte above the last five, however small: such a pool is never full.
func TestSmallSpanFarUp(t *testing.T) {
	p := hostLocal(t, `"subnet":"fd00::/32","rangeStart":"fd00::ff:ffff:ffff","rangeEnd":"fd00::100:0:1"`).Pools(nil)[0]
	if _, full := p.Full([]string{"fd00::ff:ffff:ffff", "fd00::100:0:0", "fd00::100:0:1"}); !full {
		t.Error("3 of 3 taken and not full")
	}
}
