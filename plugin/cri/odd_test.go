package cri

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// TestFieldsOfAnotherType: a field of another type than CRI has is an answer that cannot be understood. Read as if it were not
// there, a state would be 0, which is READY, or CREATED.
func TestFieldsOfAnotherType(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]struct {
		add            func(field) error
		numbers, bytes []protowire.Number
	}{
		"PodSandbox":          {new(podSandbox).add, []protowire.Number{3, 4}, []protowire.Number{1, 2, 5, 7}},
		"a row of sandboxes":  {new(podSandbox).addRow, []protowire.Number{3, 4}, []protowire.Number{1, 2, 5, 7}},
		"a row of containers": {new(container).addRow, []protowire.Number{6, 7}, []protowire.Number{1, 2, 3, 4, 5, 8, 10}},
		"PodSandboxMetadata":  {new(podMetadata).add, []protowire.Number{4}, []protowire.Number{1, 2, 3}},
		"Container":           {new(container).add, []protowire.Number{6, 7}, []protowire.Number{1, 2, 3, 4, 5, 8, 10}},
		"ContainerMetadata":   {new(containerMetadata).add, []protowire.Number{2}, []protowire.Number{1}},
		"RuntimeStatus":       {new(runtimeStatus).add, nil, []protowire.Number{1}},
		"RuntimeCondition":    {new(runtimeCondition).add, []protowire.Number{2}, []protowire.Number{1, 3, 4}},
		"StatusResponse":      {new(statusAnswer).add, nil, []protowire.Number{1, 2}},
		"a list":              {eachEntry(func([]byte) error { return nil }), nil, []protowire.Number{1}},
	} {
		for _, num := range append(m.numbers, m.bytes...) {
			number := protowire.AppendVarint(protowire.AppendTag(nil, num, protowire.VarintType), 1)
			bytes := protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), nil)
			fixed := protowire.AppendFixed64(protowire.AppendTag(nil, num, protowire.Fixed64Type), 1)
			right, wrong := number, bytes
			for _, b := range m.bytes {
				if b == num {
					right, wrong = bytes, number
				}
			}
			if err := eachField(right, m.add); err != nil {
				t.Errorf("%s, field %d: %v", name, num, err)
			}
			for _, raw := range [][]byte{wrong, fixed} {
				if eachField(raw, m.add) == nil {
					t.Errorf("%s, field %d: % x is taken", name, num, raw)
				}
			}
		}
		// A field that only a later version has may be of any type.
		if err := eachField(protowire.AppendFixed32(protowire.AppendTag(nil, 1000, protowire.Fixed32Type), 7), m.add); err != nil {
			t.Errorf("%s, a later field: %v", name, err)
		}
	}
}

// TestListsWithoutIDs: nothing can be told of what has no id, live or replayed.
func TestListsWithoutIDs(t *testing.T) {
	t.Parallel()
	for _, r := range []Records{{Pods: []byte(`{"items":[{"id":"a"},{"metadata":{"name":"x"}}]}`)}, {Containers: []byte(`{"containers":[{"podSandboxId":"a"}]}`)}} {
		if _, err := Replay(r); err == nil || !strings.Contains(err.Error(), "without an id") {
			t.Errorf("%v", err)
		}
	}
}

// TestTooMany: a list that no node can have is an error before it fills the memory.
func TestTooMany(t *testing.T) {
	t.Parallel()
	n := 0
	entry := eachEntry(func([]byte) error { n++; return nil })
	var err error
	for range 10 * maxListed {
		if err = entry(field{num: 1, typ: chunk}); err != nil {
			break
		}
	}
	if err == nil || n != maxListed {
		t.Errorf("%d entries, %v", n, err)
	}
}

// TestCloseWhileItHangs: a connection to a server that never speaks is dropped too.
func TestCloseWhileItHangs(t *testing.T) {
	t.Parallel()
	l, path := listen(t)
	c, err := Dial(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	accepted := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		cancel()
		if err == nil {
			for err == nil { // until the client has gone
				_, err = conn.Read(make([]byte, 4096))
			}
			_ = conn.Close()
		}
		accepted <- err
	}()
	_, _ = c.Sandboxes(ctx) // it fails: that is not the question
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := <-accepted; err == nil { // or the test hangs
		t.Error("still open")
	}
}

// TestNotFound: runtimes say in their own ways that they have a container no more.
func TestNotFound(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		err  callError
		gone bool
	}{
		{callError{codeNotFound, `an error occurred when try to find container "x": not found`}, true},
		{callError{codeUnknown, "Error response from daemon: No such container: x"}, true}, // cri-dockerd
		{callError{codeUnknown, "no space left on device"}, false},
		{callError{13, "No such container"}, false},
	} {
		if tc.err.notFound() != tc.gone {
			t.Errorf("%v: %t", tc.err, !tc.gone)
		}
	}
}
