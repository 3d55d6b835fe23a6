package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"time"

	"sandbox-checker/plugin/boot"
	"sandbox-checker/plugin/cri"
	"sandbox-checker/plugin/state"
)

// Files is the node's file system. Names are as [fs.FS] has them: "etc/cni/net.d" is /etc/cni/net.d. Symbolic links
// resolve as on the node.
type Files interface {
	fs.ReadLinkFS
	fs.StatFS
	fs.ReadDirFS
}

// Runtime is the container runtime of a host: [cri.Client] or [cri.Recorded].
type Runtime interface {
	Socket() string
	Sandboxes(context.Context) ([]cri.Sandbox, error)
	Containers(context.Context) ([]cri.Container, error)
	CreatedContainers(context.Context) ([]cri.Container, error)
	HostNetwork(ctx context.Context, sandboxID string) (bool, error)
	Status(context.Context) (cri.Status, error)
	SandboxImage(ctx context.Context, sandboxID string) (cri.Image, error)
}

// Host is a node as a check sees it, live or replayed from a capture.
type Host struct {
	Files Files
	// Now is the wall clock when the look began.
	Now time.Time
	// Live: the clocks go on while the host is looked at. In a capture they stand still.
	Live bool
	// Runtime is nil when there is none to ask; RuntimeErr then says why.
	Runtime    Runtime
	RuntimeErr error
	// KernelLog reads the whole kernel log, in any form that package kmsg takes.
	KernelLog func(context.Context) ([]byte, error)
	// KernelClock is the time of the kernel log: like the uptime, but it stands still while the node is suspended.
	KernelClock time.Duration
	// State is what outlives a run; nil keeps nothing.
	State state.Store
	// Log is told what a person may want to know and NPD must not see; nil says nothing.
	Log func(string)
	// Accepts connects to the unix socket at an absolute path and closes it again.
	Accepts func(path string) error
}

// Close drops the connection to a live runtime.
func (h *Host) Close() {
	if c, ok := h.Runtime.(io.Closer); ok {
		_ = c.Close() // nothing is under way any more
	}
}

// Boot reads the boot clock.
func (h *Host) Boot() (boot.Clock, error) {
	now := h.Now
	if h.Live {
		now = time.Now() // a runtime that took seconds to answer must not shift the boot
	}
	return boot.Read(h.Files, now)
}

// CRI returns the runtime, or why there is none.
func (h *Host) CRI() (Runtime, error) {
	if h.Runtime == nil {
		if h.RuntimeErr == nil {
			return nil, errors.New("no runtime in the capture")
		}
		return nil, h.RuntimeErr
	}
	return h.Runtime, nil
}

// Remember lets change see and alter the state. A state that cannot be read or written is told to the log and is empty.
// It returns false when what is altered is lost.
func (h *Host) Remember(c boot.Clock, change func(*state.State)) bool {
	store := h.State
	if store == nil {
		store = &state.Memory{}
	}
	err := store.Update(c.ID, c.Uptime, change)
	if err != nil && h.Log != nil {
		h.Log("state lost: " + err.Error())
	}
	return err == nil
}

// maxFile bounds what is read of one file of the node. Real CNI files have a few KiB.
const maxFile = 1 << 20

var (
	errNotRegular = errors.New("not a regular file")
	errTooLarge   = fmt.Errorf("larger than %d MiB", maxFile>>20)
)

// ReadFile reads the regular file at an absolute path. It never opens anything else: a FIFO would block, a device may do
// harm. Files above 1 MiB are an error.
func (h *Host) ReadFile(path string) ([]byte, error) {
	st, err := h.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w", path, errNotRegular)
	}
	f, err := h.Files.Open(name(path))
	if err != nil {
		return nil, pathError(path, err)
	}
	defer func() { _ = f.Close() }() // read only: nothing is lost
	raw, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, pathError(path, err)
	}
	if len(raw) > maxFile {
		return nil, fmt.Errorf("%s: %w", path, errTooLarge)
	}
	return raw, nil
}

// Stat follows symbolic links.
func (h *Host) Stat(path string) (fs.FileInfo, error) {
	st, err := h.Files.Stat(name(path))
	return st, pathError(path, err)
}

// Born is when what info describes was made, zero where the file system does not tell.
func Born(info fs.FileInfo) time.Time {
	if b, ok := info.(interface{ Born() time.Time }); ok {
		return b.Born()
	}
	return time.Time{}
}

// ReadDir lists an absolute directory, sorted bytewise.
func (h *Host) ReadDir(path string) ([]fs.DirEntry, error) {
	es, err := h.Files.ReadDir(name(path))
	return es, pathError(path, err)
}

// name turns the node's absolute path into an fs.FS name.
func name(path string) string {
	clean := strings.Trim(path, "/")
	parts := make([]string, 0, 8)
	for p := range strings.SplitSeq(clean, "/") {
		switch p {
		case "", ".":
		case "..":
			if len(parts) > 0 {
				parts = parts[:len(parts)-1]
			}
		default:
			parts = append(parts, p)
		}
	}
	if len(parts) == 0 {
		return "."
	}
	return strings.Join(parts, "/")
}

// pathError says an error of the node's file system as "path: cause".
func pathError(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", path, BareError(err))
}

// BareError strips what os and net put around an error: operation, path, address.
func BareError(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	if oe, ok := errors.AsType[*net.OpError](err); ok {
		err = oe.Err
	}
	if se, ok := errors.AsType[*os.SyscallError](err); ok {
		err = se.Err
	}
	return err
}
