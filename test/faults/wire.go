package faults

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

func itoa(n int) string { return strconv.Itoa(n) }

// percent encodes a message as gRPC wants it in a header.
func percent(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '%' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// untilDone also ends when the server does.
type untilDone struct {
	context.Context
	done chan struct{}
}

func (u untilDone) wait() {
	select {
	case <-u.Done():
	case <-u.done:
	}
}

// hang waits until the client or the test gives up.
func hang(ctx context.Context) {
	if u, ok := ctx.(untilDone); ok {
		u.wait()
		return
	}
	<-ctx.Done()
}

// Frames of HTTP/2 that a server sends: length (3 bytes), type, flags, stream (4 bytes), content.
const (
	settingsFrame = "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	settingsAck   = "\x00\x00\x00\x04\x01\x00\x00\x00\x00"
	goAwayFrame   = "\x00\x00\x08\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	rstFrame      = "\x00\x00\x04\x03\x00\x00\x00\x00\x01\x00\x00\x00\x02" // of stream 1, INTERNAL_ERROR
	hugeFrame     = "\xff\xff\xff\x00\x00\x00\x00\x00\x01"                 // DATA of 16 MiB that never comes
	oddFrame      = "\x00\x00\x03\xee\xff\x00\x00\x00\x07abc"              // a type that nobody knows: to be ignored
)

// says answers the client's first bytes with a piece and then does what comes next.
func says(piece string, next func(net.Conn)) func(net.Conn) {
	return func(c net.Conn) {
		if _, err := c.Read(make([]byte, 4096)); err != nil {
			return
		}
		_, _ = c.Write([]byte(piece)) // the client may have gone
		next(c)
	}
}

func hangUp(c net.Conn) { _ = c.Close() }

// listens reads and says no more.
func listens(c net.Conn) {
	buf := make([]byte, 4096)
	for {
		if _, err := c.Read(buf); err != nil {
			return
		}
	}
}

// deaf neither reads nor writes any more.
func deaf(net.Conn) {}

// halfClosed says no more and keeps reading.
func halfClosed(c net.Conn) {
	if u, ok := c.(*net.UnixConn); ok {
		_ = u.CloseWrite()
	}
	listens(c)
}

// drip writes in small pieces with a pause after each.
type drip struct {
	net.Conn
	size  int
	pause time.Duration
}

func (d drip) Write(p []byte) (int, error) {
	for n := 0; n < len(p); {
		k, err := d.Conn.Write(p[n:min(n+d.size, len(p))])
		n += k
		if err != nil {
			return n, err
		}
		time.Sleep(d.pause)
	}
	return len(p), nil
}

// cutAfter writes so many bytes and does then what end says: hang, close or damage.
type cutAfter struct {
	net.Conn
	left int
	end  string
}

func (c *cutAfter) Write(p []byte) (int, error) {
	if len(p) <= c.left {
		c.left -= len(p)
		return c.Conn.Write(p)
	}
	good := c.left
	c.left = 0
	switch c.end {
	case "damages":
		p = append([]byte(nil), p...)
		for i := good; i < len(p); i++ {
			p[i] ^= 0x5a
		}
		return c.Conn.Write(p)
	case "closes":
		_, _ = c.Conn.Write(p[:good])
		_ = c.Close()
	default:
		if good > 0 {
			_, _ = c.Conn.Write(p[:good])
		}
	}
	return len(p), nil // what is lost is not told
}
