package faults

import (
	"net"
	"strings"
	"time"
)

// connFaults are those of the connection: no call gets through.
func connFaults() []ServerFault {
	fs := []ServerFault{
		{Name: "nobody accepts", Hangs: true, quiet: true},
		{Name: "hangs after accept", Hangs: true, conn: listens},
		{Name: "deaf after accept", Hangs: true, conn: deaf},
		{Name: "hangs up after accept", conn: hangUp},
		{Name: "hangs up after the preface", conn: says("", hangUp)},
		{Name: "hangs after its settings", Hangs: true, conn: says(settingsFrame, listens)},
		{Name: "hangs after the settings are agreed", Hangs: true, conn: says(settingsFrame+settingsAck, listens)},
		{Name: "hangs in its settings", Hangs: true, conn: says(settingsFrame[:5], listens)},
		{Name: "hangs up in its settings", conn: says(settingsFrame[:5], hangUp)},
		{Name: "half-closed after accept", conn: halfClosed},
		{Name: "half-closed after its settings", conn: says(settingsFrame+settingsAck, halfClosed)},
		{Name: "GOAWAY at once", conn: says(settingsFrame+settingsAck+goAwayFrame, hangUp)},
		{Name: "GOAWAY and stays", Hangs: true, conn: says(settingsFrame+settingsAck+goAwayFrame, listens)},
		{Name: "RST of the first stream", conn: says(settingsFrame+settingsAck+rstFrame, listens)},
		{Name: "a frame that never ends", Hangs: true, conn: says(settingsFrame+settingsAck+hugeFrame, listens)},
		{Name: "speaks HTTP/1", conn: says("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", listens)},
		{Name: "speaks TLS", conn: says("\x15\x03\x01\x00\x02\x02\x46", hangUp)},
		{Name: "speaks garbage", conn: says(strings.Repeat("garbage\x00%s%n\n", 500), listens)},
		{Name: "talks without end", Hangs: true, conn: says("", talks)},
		{Name: "drips slowly", Outcome: Either, Hangs: true, wrap: func(c net.Conn) net.Conn { return drip{c, 1, 50 * time.Millisecond} }},
		{Name: "sends in pieces of 7 bytes", Outcome: Harmless, wrap: func(c net.Conn) net.Conn { return drip{c, 7, 0} }},
	}
	for _, end := range []string{"hangs", "closes", "damages"} {
		for _, n := range []int{9, 40, 100, 300} {
			fs = append(fs, ServerFault{Name: end + " after " + itoa(n) + " bytes", Outcome: Either, Hangs: end != "closes",
				wrap: func(c net.Conn) net.Conn { return &cutAfter{c, n, end} }})
		}
	}
	return fs
}

// talks never stops, in frames that are to be ignored.
func talks(c net.Conn) {
	if _, err := c.Write([]byte(settingsFrame + settingsAck)); err != nil {
		return
	}
	for {
		if _, err := c.Write([]byte(strings.Repeat(oddFrame, 100))); err != nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
