package cri

import (
	"errors"

	"sandbox-checker/plugin/cri/wire"
)

// checked refuses an answer that is well formed and lists what no runtime may list: without an id nothing can be told from
// anything else.
func checked(ans any) error {
	switch m := ans.(type) {
	case *wire.ListPodSandboxResponse:
		return checkedSandboxes(m.GetItems())
	case *wire.RecordedSandboxes:
		return checkedSandboxes(m.GetItems())
	case *wire.ListContainersResponse:
		return checkedContainers(m.GetContainers())
	}
	return nil
}

func checkedSandboxes[S sandboxRow](items []S) error {
	for _, s := range items {
		if s.GetId() == "" {
			return errors.New("a sandbox without an id")
		}
	}
	return nil
}

func checkedContainers(items []*wire.Container) error {
	for _, c := range items {
		if c.GetId() == "" {
			return errors.New("a container without an id")
		}
	}
	return nil
}
