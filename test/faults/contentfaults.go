package faults

import (
	"bytes"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// maxAnswer is the largest answer that a CRI client takes (k8s.io/cri-client maxMsgSize).
const maxAnswer = 16 << 20

var lists = []string{"ListPodSandbox", "ListContainers"}

// contentFaults are answers that gRPC takes and that are not what CRI wants.
func contentFaults() []ServerFault {
	return []ServerFault{
		{Name: "empty answer", Outcome: Lies, alter: func(string, proto.Message) []byte { return nil }},
		{Name: "fields of a future version", Outcome: Harmless, alter: futureFields},
		{Name: "a field that is no protobuf", alter: func(_ string, m proto.Message) []byte { return append(wire(m), 0x0b, 0xff) }},
		{Name: "random bytes", alter: func(string, proto.Message) []byte { return bytes.Repeat([]byte{0xff, 0x07, 0x9a}, 100) }},
		{Name: "a varint without end", alter: func(_ string, m proto.Message) []byte {
			return append(wire(m), bytes.Repeat([]byte{0xff}, 20)...)
		}},
		{Name: "wrong types", Methods: append([]string{"Status"}, lists...), alter: func(string, proto.Message) []byte {
			return protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 7)
		}},
		{Name: "wrong types in the entries", Methods: lists, alter: entry(func(raw []byte) []byte {
			raw = protowire.AppendVarint(protowire.AppendTag(raw, 1, protowire.VarintType), 7)
			return protowire.AppendString(protowire.AppendTag(raw, 6, protowire.BytesType), "SANDBOX_READY")
		})},
		{Name: "text that is no UTF-8", Methods: lists, alter: entry(func(raw []byte) []byte {
			return protowire.AppendString(protowire.AppendTag(raw, 1, protowire.BytesType), "\xff\xfe")
		})},
		{Name: "states of a future version", Methods: lists, Outcome: Lies, alter: states(99)},
		{Name: "sandbox states of a future version", Methods: lists[:1], Outcome: Lies, alter: states(99)},
		{Name: "container states of a future version", Methods: lists[1:], Outcome: Lies, alter: states(99)},
		{Name: "states below zero", Methods: lists, Outcome: Lies, alter: states(-1)},
		{Name: "empty ids", Methods: lists, alter: emptyIDs},
		{Name: "no metadata", Methods: lists, Outcome: Lies, alter: each(func(m proto.Message) { clear1(m, "metadata") })},
		{Name: "hostile names", Methods: lists, Outcome: Lies, alter: each(hostileNames)},
		{Name: "times of nobody's", Methods: lists, Outcome: Lies, alter: oddTimes},
		{Name: "an answer of 17 MiB", alter: func(_ string, m proto.Message) []byte { return padded(m, 17<<20) }},
		{Name: "an answer of 16 MiB", Outcome: Either, alter: func(_ string, m proto.Message) []byte { return padded(m, maxAnswer-len(wire(m))-16) }},
		{Name: "a million sandboxes", Methods: lists[:1], alter: func(string, proto.Message) []byte { return millionSandboxes() }},
		{Name: "a million containers", Methods: lists[1:], alter: func(string, proto.Message) []byte { return millionContainers() }},
		{Name: "99,000 sandboxes", Methods: lists[:1], Outcome: Either, Hangs: true, alter: many(3, 99_000)},
		{Name: "99,000 containers", Methods: lists[1:], Outcome: Either, Hangs: true, alter: many(6, 99_000)},
		{Name: "eight million nothings", Methods: lists, alter: func(string, proto.Message) []byte { return bytes.Repeat([]byte{1<<3 | 2, 0}, 8<<20-8) }},
		{Name: "no conditions", Methods: []string{"Status"}, Outcome: Either, alter: func(_ string, m proto.Message) []byte {
			m.(*runtimeapi.StatusResponse).GetStatus().Conditions = nil
			return wire(m)
		}},
		{Name: "verbose status of other types", Methods: []string{"Status"}, alter: info("config", `["no", "object"]`)},
		{Name: "verbose status nested deeply", Methods: []string{"Status"}, alter: info("cniconfig", string(bytes.Repeat([]byte("["), 100_000)))},
		{Name: "verbose status with a hostile word", Methods: []string{"Status"}, Outcome: Lies, alter: info("lastCNILoadStatus", hostileText[:40])},
	}
}

// wire is a message in its bytes. What cannot be encoded gives none.
func wire(m proto.Message) []byte {
	raw, err := proto.Marshal(m)
	if err != nil {
		return nil
	}
	return raw
}

// futureFields adds one field of each wire type, with numbers that no version has yet.
func futureFields(_ string, m proto.Message) []byte {
	return future(wire(m))
}

func future(raw []byte) []byte {
	raw = protowire.AppendVarint(protowire.AppendTag(raw, 1001, protowire.VarintType), 1<<62)
	raw = protowire.AppendString(protowire.AppendTag(raw, 1002, protowire.BytesType), hostileText)
	raw = protowire.AppendFixed64(protowire.AppendTag(raw, 1003, protowire.Fixed64Type), 7)
	return protowire.AppendFixed32(protowire.AppendTag(raw, 1004, protowire.Fixed32Type), 7)
}

// entry appends to a list one entry with the bytes that add makes.
func entry(add func([]byte) []byte) func(string, proto.Message) []byte {
	return func(_ string, m proto.Message) []byte {
		return protowire.AppendBytes(protowire.AppendTag(wire(m), 1, protowire.BytesType), add(nil))
	}
}

// each alters every entry of a list.
func each(change func(proto.Message)) func(string, proto.Message) []byte {
	return func(_ string, m proto.Message) []byte {
		switch m := m.(type) {
		case *runtimeapi.ListPodSandboxResponse:
			for _, s := range m.GetItems() {
				change(s)
			}
		case *runtimeapi.ListContainersResponse:
			for _, c := range m.GetContainers() {
				change(c)
			}
		}
		return wire(m)
	}
}

func clear1(m proto.Message, field protoreflect.Name) {
	r := m.ProtoReflect()
	r.Clear(r.Descriptor().Fields().ByName(field))
}

func states(n int32) func(string, proto.Message) []byte {
	return each(func(m proto.Message) {
		switch m := m.(type) {
		case *runtimeapi.PodSandbox:
			m.State = runtimeapi.PodSandboxState(n)
		case *runtimeapi.Container:
			m.State = runtimeapi.ContainerState(n)
		}
	})
}

// emptyIDs also adds an entry where a list has none.
func emptyIDs(method string, m proto.Message) []byte {
	raw := each(func(m proto.Message) { clear1(m, "id") })(method, m)
	return protowire.AppendBytes(protowire.AppendTag(raw, 1, protowire.BytesType), nil)
}

func hostileNames(m proto.Message) {
	const name = "a%s\n\"\\\x1b[31m$(id)\u202e"
	switch m := m.(type) {
	case *runtimeapi.PodSandbox:
		m.GetMetadata().Name, m.GetMetadata().Namespace = name, "../../"+name
	case *runtimeapi.Container:
		m.GetMetadata().Name = name
		m.Labels = map[string]string{"io.kubernetes.pod.name": name, "io.kubernetes.pod.namespace": name, "io.kubernetes.pod.uid": "../" + name}
	}
}

func oddTimes(method string, m proto.Message) []byte {
	n := 0
	odd := []int64{-1 << 63, 1<<63 - 1, 0, -1, 1}
	return each(func(m proto.Message) {
		n++
		switch m := m.(type) {
		case *runtimeapi.PodSandbox:
			m.CreatedAt = odd[n%len(odd)]
		case *runtimeapi.Container:
			m.CreatedAt = odd[n%len(odd)]
		}
	})(method, m)
}

// padded makes the answer larger by one field of a future version.
func padded(m proto.Message, by int) []byte {
	return protowire.AppendBytes(protowire.AppendTag(wire(m), 1010, protowire.BytesType), make([]byte, by))
}

// These are lists of a million entries, each with an id of its own and a state: just below what a client takes.
var (
	millionSandboxes  = sync.OnceValue(func() []byte { return entries(3, 1_000_000) })
	millionContainers = sync.OnceValue(func() []byte { return entries(6, 1_000_000) })
)

// many adds so many entries to a list.
func many(stateField protowire.Number, n int) func(string, proto.Message) []byte {
	return func(_ string, m proto.Message) []byte { return append(wire(m), entries(stateField, n)...) }
}

func entries(stateField protowire.Number, n int) []byte {
	raw := make([]byte, 0, 16*n)
	for i := range n {
		var one []byte
		one = protowire.AppendString(protowire.AppendTag(one, 1, protowire.BytesType), itoa(1_000_000+i))
		if stateField == 6 {
			one = protowire.AppendVarint(protowire.AppendTag(one, 6, protowire.VarintType), 1) // RUNNING
		} else {
			one = protowire.AppendVarint(protowire.AppendTag(one, 3, protowire.VarintType), 1) // NOTREADY
		}
		raw = protowire.AppendBytes(protowire.AppendTag(raw, 1, protowire.BytesType), one)
	}
	return raw
}

func info(key, value string) func(string, proto.Message) []byte {
	return func(_ string, m proto.Message) []byte {
		if s, ok := m.(*runtimeapi.StatusResponse); ok {
			s.Info[key] = value
		}
		return wire(m)
	}
}
