package kmsg

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// DevicePath is the kernel's ring of records.
const DevicePath = "/dev/kmsg"

// maxRing bounds what is read: log_buf_len is at most a few MiB, and records that arrive while we read must not keep us
// for ever.
const maxRing = 64 << 20

// maxRecord is above the kernel's own bound on a record, 8 KiB; usualRing holds the ring of most nodes, log_buf_len 256 KiB.
const (
	maxRecord = 16 << 10
	usualRing = 256 << 10
)

// ReadRing reads the whole ring, from the oldest record to the newest, without waiting for more. One read gives one
// record; EPIPE says that the oldest were overwritten meanwhile, which loses those alone.
func ReadRing(ctx context.Context, path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer func() { _ = unix.Close(fd) }() // read only
	return readAll(ctx, path, func(buf []byte) (int, error) { return unix.Read(fd, buf) })
}

// readAll reads record by record until there is none.
func readAll(ctx context.Context, path string, read func([]byte) (int, error)) ([]byte, error) {
	out := make([]byte, 0, usualRing)
	for reads := 0; len(out) < maxRing; reads++ {
		if reads%64 == 0 && ctx.Err() != nil { // asking costs a tenth of a read
			return out, fmt.Errorf("%s: %w", path, ctx.Err())
		}
		out = slices.Grow(out, maxRecord)
		n, err := read(out[len(out) : len(out)+maxRecord])
		switch {
		case errors.Is(err, unix.EAGAIN), err == nil && n == 0:
			return out, nil
		case errors.Is(err, unix.EPIPE), errors.Is(err, unix.EINTR), errors.Is(err, unix.EINVAL):
			continue // EINVAL: a record above the buffer; the next read gives the next one
		case err != nil:
			return out, fmt.Errorf("%s: %w", path, err)
		}
		out = out[:len(out)+n]
	}
	return out, nil
}
