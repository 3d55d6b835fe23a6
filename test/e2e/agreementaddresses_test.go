package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// addressCases are about where a pod's address and interface come from.
var addressCases = []agreementCase{
	{
		name:    "ptp",
		arrange: plugins(func(*node) map[string]any { return map[string]any{"type": "ptp", "ipam": hostLocal()} }, "ptp"),
	},
	{
		name:    "host-local in its older form",
		arrange: bridgeWith(func(n *node) map[string]any { return small(n, map[string]any{"subnet": "203.0.113.0/28"}) }),
	},
	{
		name:    "host-local without a range",
		arrange: bridgeWith(func(n *node) map[string]any { return small(n, map[string]any{}) }),
		want:    want{1, []string{"10-pods.conflist", "host-local", "range"}},
	},
	{
		name: "pool with one address left",
		arrange: func(t *testing.T, n *node) {
			n.fillPool(t)
			n.leak(t, 4)
		},
	},
	{
		name: "pool full, most of it leaked",
		arrange: func(t *testing.T, n *node) {
			n.fillPool(t)
			n.leak(t, 3)
			for i := 3; i < poolSize; i++ {
				id := n.run(t, n.poolPod(i))
				t.Cleanup(func() { n.do(t, "rmp", "-f", id) })
			}
		},
		want: want{1, []string{"no address is left", "gone"}},
	},
	{
		name:    "pool full of living pods",
		arrange: func(t *testing.T, n *node) { n.refillPool(t) },
		differs: "too many pods are no fault of the node's files",
	},
	{
		name: "macvlan",
		arrange: func(t *testing.T, n *node) {
			n.addLink(t)
			plugins(macvlan, "macvlan")(t, n)
		},
	},
	{
		name:    "macvlan on an interface that is not there",
		arrange: plugins(func(n *node) map[string]any { c := macvlan(n); c["master"] = "absent0"; return c }, "macvlan"),
		differs: "interfaces are not looked at",
	},
	{
		name:    "dhcp without its daemon",
		arrange: plugins(dhcp, "dhcp"),
		want:    want{1, []string{"dhcp.sock", "missing"}},
	},
	{
		name: "dhcp, a file where its daemon's socket should be",
		arrange: func(t *testing.T, n *node) {
			writeFile(t, n.agentFile("dhcp.sock"), "")
			plugins(dhcp, "dhcp")(t, n)
		},
		want: want{1, []string{"dhcp.sock", "not a socket"}},
	},
	{
		name: "dhcp, its daemon dead",
		arrange: func(t *testing.T, n *node) {
			refusing(t, n.agentFile("dhcp.sock"))
			plugins(dhcp, "dhcp")(t, n)
		},
		want: want{1, []string{"dhcp.sock", "refused"}},
	},
	{
		name: "dhcp with its daemon",
		arrange: func(t *testing.T, n *node) {
			serveDHCP(t, n.agentFile("dhcp.sock"))
			plugins(dhcp, "dhcp")(t, n)
		},
	},
	{
		name: "static addresses",
		arrange: bridgeWith(func(n *node) map[string]any {
			return map[string]any{"type": "static", "addresses": []any{map[string]any{"address": "203.0.113.9/24"}}}
		}),
	},
}

// plugins makes one plugin the whole network, after its programs have been put in place.
func plugins(conf func(*node) map[string]any, programs ...string) func(*testing.T, *node) {
	return func(t *testing.T, n *node) {
		n.addPlugins(t, programs...)
		n.writeConf(t, "10-pods.conflist", conflist(conf(n)))
	}
}

func bridgeWith(ipam func(*node) map[string]any) func(*testing.T, *node) {
	return plugins(func(n *node) map[string]any {
		return map[string]any{"type": "bridge", "bridge": run.name, "ipam": ipam(n)}
	}, "static")
}

// small is a host-local of the node's own, so that no other test's pods are counted in it.
func small(n *node, more map[string]any) map[string]any {
	ipam := map[string]any{"type": "host-local", "dataDir": n.agentFile("pool")}
	for key, value := range more {
		ipam[key] = value
	}
	return ipam
}

func macvlan(*node) map[string]any {
	return map[string]any{"type": "macvlan", "master": "upper0", "ipam": hostLocal()}
}

func dhcp(n *node) map[string]any {
	return map[string]any{"type": "bridge", "bridge": run.name,
		"ipam": map[string]any{"type": "dhcp", "daemonSocketPath": n.agentFile("dhcp.sock")}}
}

// addLink makes an interface for macvlan in containerd's own network. A veth pair serves: not every kernel has dummies.
func (n *node) addLink(t *testing.T) {
	t.Helper()
	for _, args := range []string{"link add upper0 type veth peer name lower0", "link set upper0 up", "link set lower0 up"} {
		cmd := exec.Command("nsenter", append([]string{"-n", "-t", fmt.Sprint(n.runtime.Process.Pid), "ip"}, strings.Fields(args)...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v\n%s", args, err, out)
		}
	}
}

// poolSize is what host-local has of a /29: eight, without the network, the gateway and the broadcast address.
const poolSize = 5

func (n *node) poolPod(i int) pod { return pod{name: fmt.Sprintf("pool-%s-%d", n.flavour.name, i)} }

// refillPool starts pods until the runtime has no address for one more, so that the size of the pool is the runtime's word.
func (n *node) refillPool(t *testing.T) []string {
	t.Helper()
	bridgeWith(func(n *node) map[string]any { return small(n, map[string]any{"subnet": "203.0.113.0/29"}) })(t, n)
	n.waitReady(t)
	var sandboxes []string
	for i := 0; ; i++ {
		id, err := n.tryRun(t, n.poolPod(i))
		if err != nil {
			break
		}
		sandboxes = append(sandboxes, id)
		t.Cleanup(func() { _, _ = n.try("rmp", "-f", id) }) // it may be gone
	}
	if len(sandboxes) != poolSize {
		t.Fatalf("the pool had addresses for %d pods, want %d", len(sandboxes), poolSize)
	}
	return sandboxes
}

// fillPool does the same and takes the pods away again.
func (n *node) fillPool(t *testing.T) {
	t.Helper()
	for _, id := range n.refillPool(t) {
		n.do(t, "rmp", "-f", id)
	}
}

// leak leaves what a runtime leaves that was killed and has lost its sandboxes: reservations without an owner.
func (n *node) leak(t *testing.T, addresses int) {
	t.Helper()
	pool := filepath.Join(n.agentFile("pool"), run.name)
	for i := range addresses {
		address := filepath.Join(pool, fmt.Sprintf("203.0.113.%d", 2+i))
		if _, err := os.Stat(address); err == nil {
			t.Fatalf("%s is still reserved", address)
		}
		writeFile(t, address, strings.Repeat(fmt.Sprint(i), 64)+"\r\neth0")
	}
}
