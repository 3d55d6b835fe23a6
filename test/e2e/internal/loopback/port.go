// Package loopback is for servers of the suites on 127.0.0.1.
package loopback

import (
	"net"
	"testing"
)

// FreePort asks the kernel for a TCP port that nobody listens on. Another process may take it before the caller does.
func FreePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }() // it gave its number
	return l.Addr().(*net.TCPAddr).Port
}
