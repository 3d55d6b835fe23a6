// Pausego is the program of the sandbox image where no C compiler is at hand: it sleeps until it is asked to end. With an
// argument it ends at once: a job that is done.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if len(os.Args) > 1 {
		return
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
	<-end
}
