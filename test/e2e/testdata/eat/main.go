// Command eat takes memory until the kernel has had enough of it.
package main

import "time"

func main() {
	var eaten [][]byte
	for {
		bite := make([]byte, 1<<20)
		for i := 0; i < len(bite); i += 4096 {
			bite[i] = 1 // a page that nobody wrote to costs nothing
		}
		eaten = append(eaten, bite)
		if len(eaten) > 1<<10 {
			time.Sleep(time.Hour) // no limit stopped it: better to be found alive than to eat the machine
		}
	}
}
