package cri

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

var (
	errMalformed = errors.New("malformed message")
	errOtherType = errors.New("a field of another type than CRI has")
)

// checked refuses an answer that is well formed and still none of CRI's.
func checked(ans proto.Message) error {
	if err := typed(ans); err != nil {
		return err
	}
	switch m := ans.(type) {
	case *runtimeapi.ListPodSandboxResponse:
		return checkedSandboxes(m.GetItems())
	case *runtimeapi.ListContainersResponse:
		return checkedContainers(m.GetContainers())
	case *runtimeapi.StatusResponse:
		return checkedStatus(m.GetStatus())
	case *runtimeapi.ContainerStatusResponse:
		return typed(m.GetStatus())
	case *runtimeapi.PodSandboxStatusResponse:
		s := m.GetStatus()
		return typed(s, s.GetLinux(), s.GetLinux().GetNamespaces(), s.GetLinux().GetNamespaces().GetOptions())
	}
	return nil
}

// checkedSandboxes refuses what no runtime may list: without an id nothing can be told from anything else.
func checkedSandboxes(items []*runtimeapi.PodSandbox) error {
	for _, s := range items {
		if err := typed(s, s.GetMetadata()); err != nil {
			return err
		}
		if s.GetId() == "" {
			return errors.New("a sandbox without an id")
		}
	}
	return nil
}

func checkedContainers(items []*runtimeapi.Container) error {
	for _, c := range items {
		if err := typed(c, c.GetMetadata()); err != nil {
			return err
		}
		if c.GetId() == "" {
			return errors.New("a container without an id")
		}
	}
	return nil
}

func checkedStatus(s *runtimeapi.RuntimeStatus) error {
	if err := typed(s); err != nil {
		return err
	}
	for _, c := range s.GetConditions() {
		if err := typed(c); err != nil {
			return err
		}
	}
	return nil
}

// typed refuses fields of another type than CRI has. protobuf takes them for fields of a later version, and the state that is
// then missing would be 0, which is READY, or CREATED.
func typed(messages ...proto.Message) error {
	for _, one := range messages {
		m := one.ProtoReflect()
		fields := m.Descriptor().Fields()
		for rest := m.GetUnknown(); len(rest) > 0; {
			num, _, n := protowire.ConsumeField(rest)
			if n < 0 {
				return errMalformed // protobuf keeps none of these
			}
			if fields.ByNumber(num) != nil {
				return errOtherType
			}
			rest = rest[n:]
		}
	}
	return nil
}
