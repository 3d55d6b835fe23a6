package capture

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/cri"
	"sandbox-checker/plugin/kmsg"
	"sandbox-checker/plugin/state"
)

// Host replays a capture as a host.
func (f *File) Host() (*plugin.Host, error) {
	t, err := newTree(f)
	if err != nil {
		return nil, fmt.Errorf("files: %w", err)
	}
	h := &plugin.Host{Files: t, Now: f.Now, Accepts: t.accepts, KernelLog: t.kernelLog, KernelClock: f.KernelClock}
	if h.KernelClock == 0 {
		if c, err := h.Boot(); err == nil {
			h.KernelClock = c.Uptime
		}
	}
	h.State = &state.Memory{Raw: f.Content[state.Dir+"/"+state.FileName]}
	if !f.hasCRI {
		h.RuntimeErr = errors.New("the capture has no cri/ section")
		return h, nil
	}
	rt, err := cri.Replay(f.CRI)
	if err != nil {
		return nil, err
	}
	h.Runtime = rt
	return h, nil
}

// accepts replays connecting to a socket.
func (t *tree) accepts(path string) error {
	n, err := t.find("connect", fsName(path), true)
	if err != nil {
		return err
	}
	if n.mode.Type() != fs.ModeSocket {
		return errors.New("connection refused")
	}
	return n.err
}

// kernelLog replays the kernel log: the section /dev/kmsg, in any form that a person may have copied it in.
func (t *tree) kernelLog(context.Context) ([]byte, error) {
	name := fsName(kmsg.DevicePath)
	n, err := t.find("open", name, true)
	if err == nil {
		err = n.err
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kmsg.DevicePath, plugin.BareError(err))
	}
	return n.data, nil
}

// SetCRI puts a runtime's answers, or its error, into the capture.
func (f *File) SetCRI(r cri.Records) { f.CRI, f.hasCRI = r, true }
