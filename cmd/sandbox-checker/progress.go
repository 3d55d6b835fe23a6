package main

import (
	"fmt"
	"time"
)

// showProgress tells a person at a terminal what a long look is at, on stderr. The returned function ends it.
func (c *cli) showProgress(s *settings) func() {
	if !isTerminal(c.err) || s.logLevel != "off" {
		return func() {}
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		shown := false
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				if shown {
					_, _ = fmt.Fprint(c.err, "\r\x1b[K") // a terminal that is gone needs no tidying
				}
				return
			case <-tick.C:
				if at := s.at.Load(); at != nil {
					shown = true
					_, _ = fmt.Fprintf(c.err, "\r\x1b[K%.70s", printable(at.get()))
				}
			}
		}
	}()
	return func() { close(done); <-ended }
}
