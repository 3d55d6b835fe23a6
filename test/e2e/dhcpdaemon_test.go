package e2e

import (
	"net"
	"net/http"
	"net/rpc"
	"testing"
)

// leases stands in for the daemon of the dhcp plugin, which asks it over net/rpc on a socket. There is no DHCP server
// here to ask in turn, so every pod gets the same address.
type leases struct{}

// Each type has the fields of the plugin's own that matter here, for gob goes by the names of fields. net/rpc wants them
// exported.

// LeaseRequest says which pod asks.
type LeaseRequest struct{ ContainerID, Netns, IfName string }

// Lease is a CNI result.
type Lease struct {
	CNIVersion string
	IPs        []LeasedAddress
}

// LeasedAddress is one address of it.
type LeasedAddress struct {
	Address net.IPNet
	Gateway net.IP
}

// Allocate is what the plugin calls at ADD.
func (leases) Allocate(_ LeaseRequest, answer *Lease) error {
	answer.CNIVersion = "1.0.0"
	answer.IPs = []LeasedAddress{{Address: net.IPNet{IP: net.IPv4(203, 0, 113, 20), Mask: net.CIDRMask(24, 32)}}}
	return nil
}

// Release is what the plugin calls at DEL.
func (leases) Release(LeaseRequest, *struct{}) error { return nil }

func serveDHCP(t *testing.T, path string) {
	t.Helper()
	server := rpc.NewServer()
	if err := server.RegisterName("DHCP", leases{}); err != nil {
		t.Fatal(err)
	}
	l := listen(t, path)
	go func() { _ = http.Serve(l, server) }() // ends when the test closes the socket
}
