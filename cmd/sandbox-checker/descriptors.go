package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// descriptorsLeft is an error when the process cannot open what Go's runtime needs for its first file. Where that fails it ends
// the process with a stack trace and without the line.
func descriptorsLeft() error {
	poll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return fmt.Errorf("no file can be opened: %w", err)
	}
	defer func() { _ = unix.Close(poll) }() // nothing is in it
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("no file can be opened: %w", err)
	}
	return unix.Close(wake)
}
