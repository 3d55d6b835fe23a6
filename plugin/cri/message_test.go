package cri

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// What is decoded and recorded of every message is what the generated types and protojson make of it, which is what crictl
// prints: for messages that are empty, whole, and partly filled in.
func TestMessagesAgainstCRIAPI(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range 300 {
		fill := func(m proto.Message) {
			if i > 0 {
				fillIn(m.ProtoReflect(), rnd, i == 1)
			}
		}
		rt := &fakeRuntime{sandbox: map[string]*runtimeapi.PodSandboxStatus{}}
		fill(&rt.pods)
		fill(&rt.containers)
		fill(&rt.status)
		one := &runtimeapi.PodSandboxStatus{}
		fill(one)
		var version runtimeapi.VersionResponse
		fill(&version)

		var pods sandboxList
		decode(t, &rt.pods, func(f field) error {
			var s podSandbox
			err := eachField(f.b, s.add)
			pods.Items = append(pods.Items, s)
			return err
		})
		var ctrs containerList
		decode(t, &rt.containers, func(f field) error {
			var c container
			err := eachField(f.b, c.add)
			ctrs.Containers = append(ctrs.Containers, c)
			return err
		})
		var v runtimeVersion
		decode(t, &version, v.add)
		s := newSandboxStatus()
		decode(t, one, s.add)
		var st statusAnswer
		decode(t, &rt.status, st.add)

		for _, p := range rt.pods.Items {
			p.Annotations = nil
		}
		for _, c := range rt.containers.Containers {
			c.Annotations = nil
		}
		one.Annotations = nil
		agrees(t, &rt.pods, func() ([]byte, error) { return pods.json() })
		agrees(t, &rt.containers, func() ([]byte, error) { return ctrs.json() })
		agrees(t, &version, func() ([]byte, error) { return crictlJSON(v) })
		agrees(t, rt.status.GetStatus(), func() ([]byte, error) {
			raw, err := infoJSON(st)
			if err != nil {
				return nil, err
			}
			var all struct{ Status json.RawMessage }
			return unmarshalled(raw, &all, func() []byte { return all.Status })
		})
		agrees(t, one, func() ([]byte, error) {
			raw, err := inspectpJSON(s)
			if err != nil {
				return nil, err
			}
			var all struct{ Status map[string]any }
			return unmarshalled(raw, &all, func() []byte {
				// crictl prints the time as a date.
				at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(all.Status["createdAt"]))
				if err != nil {
					t.Error(err)
				}
				all.Status["createdAt"] = fmt.Sprint(at.UnixNano())
				out, _ := json.Marshal(all.Status) // what was read is written
				return out
			})
		})
		if len(rt.status.Info) != len(st.info) {
			t.Errorf("%d values of %d", len(st.info), len(rt.status.Info))
		}
		if t.Failed() {
			return
		}
	}
}

func decode(t *testing.T, m proto.Message, add func(field) error) {
	t.Helper()
	raw, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := readFields(bytes.NewReader(raw), int64(len(raw)), add); err != nil {
		t.Fatal(err)
	}
}

func unmarshalled(raw []byte, to any, then func() []byte) ([]byte, error) {
	if err := json.Unmarshal(raw, to); err != nil {
		return nil, err
	}
	return then(), nil
}

func agrees(t *testing.T, m proto.Message, ours func() ([]byte, error)) {
	t.Helper()
	want, err := protojson.MarshalOptions{EmitUnpopulated: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if !m.ProtoReflect().IsValid() {
		want = []byte(`{"conditions":[]}`)
	}
	got, err := ours()
	if err != nil {
		t.Fatal(err)
	}
	if w, g := canonical(t, want), canonical(t, got); w != g {
		t.Errorf("%s\ngot  %s\nwant %s", m.ProtoReflect().Descriptor().FullName(), g, w)
	}
}

func canonical(t *testing.T, raw []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// fillIn sets every field, or each with a chance of a half.
func fillIn(m protoreflect.Message, rnd *rand.Rand, all bool) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if !all && rnd.IntN(2) == 0 {
			continue
		}
		switch {
		case fd.IsMap():
			for k := range 3 {
				m.Mutable(fd).Map().Set(protoreflect.ValueOfString(fmt.Sprint("k<", k)).MapKey(), protoreflect.ValueOfString(text(rnd)))
			}
		case fd.IsList() && fd.Message() != nil:
			for range 2 {
				fillIn(m.Mutable(fd).List().AppendMutable().Message(), rnd, all)
			}
		case fd.IsList():
		case fd.Message() != nil:
			fillIn(m.Mutable(fd).Message(), rnd, all)
		default:
			m.Set(fd, scalar(fd, rnd))
		}
	}
}

func scalar(fd protoreflect.FieldDescriptor, rnd *rand.Rand) protoreflect.Value {
	switch fd.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(text(rnd))
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(rnd.IntN(6) - 1)) // also those of a later CRI
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(rnd.Uint32())
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(rnd.Uint64())
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(int32(rnd.Uint32()))
	default:
		return protoreflect.ValueOfInt64(int64(rnd.Uint64()))
	}
}

func text(rnd *rand.Rand) string {
	all := []string{"", "a", "grüß", "\x00\x1f", `"\`, "<&>", "sha256:0123456789", "\u2028"}
	return all[rnd.IntN(len(all))]
}

// What no message is, is no empty list.
func TestMalformed(t *testing.T) {
	t.Parallel()
	whole, err := proto.Marshal(&recordedOnce(t).pods)
	if err != nil {
		t.Fatal(err)
	}
	for what, raw := range map[string][]byte{
		"field 0":             {0x00, 0x01},
		"a group":             {0x0b, 0x0c},
		"length above all":    {0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f},
		"endless number":      bytes.Repeat([]byte{0xff}, 20),
		"cut in the last one": whole[:len(whole)-1],
		"bad item":            {0x0a, 0x02, 0x0a, 0x05},
		"bad metadata":        {0x0a, 0x04, 0x12, 0x02, 0x0a, 0x05},
		"bad label":           {0x0a, 0x04, 0x2a, 0x02, 0x0a, 0x05},
	} {
		err := readFields(bytes.NewReader(raw), int64(len(raw)), func(f field) error {
			var s podSandbox
			return eachField(f.b, s.add)
		})
		if err == nil || plain(err).Error() != "the answer cannot be read: malformed message" {
			t.Errorf("%s: %v", what, err)
		}
	}
	// The same bytes when more was promised: the connection broke.
	err = readFields(bytes.NewReader(whole[:9]), int64(len(whole)), func(field) error { return nil })
	if err == nil || plain(err) != ErrHangsUp { //nolint:errorlint // the very value
		t.Errorf("%v", err)
	}
}

func recordedOnce(t *testing.T) *fakeRuntime {
	t.Helper()
	return recorded(t, "containerd-2.4")
}

// FuzzMessages: any bytes are a list or an error. What the generated types make of it is read as they read it.
func FuzzMessages(f *testing.F) {
	f.Add([]byte{0x0a, 0x03, 0x0a, 0x01, 'a'})
	f.Add([]byte{0x0a, 0x04, 0x12, 0x02, 0x0a, 0x00, 0x18, 0x01})
	list := func(raw []byte) ([]Sandbox, error) {
		var out []Sandbox
		err := readFields(bytes.NewReader(raw), int64(len(raw)), func(f field) error {
			if f.num != 1 || f.b == nil {
				return nil
			}
			var s podSandbox
			err := eachField(f.b, s.add)
			out = append(out, s.row())
			return err
		})
		return out, err
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		_, _ = list(raw) // does not panic
		var theirs runtimeapi.ListPodSandboxResponse
		if (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(raw, &theirs) != nil {
			return
		}
		// Sent again, every field has its own type.
		again, err := proto.Marshal(&theirs)
		if err != nil {
			return
		}
		ours, err := list(again)
		if err != nil || len(ours) != len(theirs.Items) {
			t.Fatalf("%d, want %d: %v", len(ours), len(theirs.Items), err)
		}
		for i, s := range theirs.Items {
			m := s.GetMetadata()
			want := Sandbox{ID: s.GetId(), Pod: Pod{Namespace: m.GetNamespace(), Name: m.GetName(), UID: m.GetUid()}, Attempt: m.GetAttempt(),
				Ready: s.GetState() != runtimeapi.PodSandboxState_SANDBOX_NOTREADY, Created: honestTime(nanoseconds(s.GetCreatedAt()))}
			if ours[i] != want {
				t.Errorf("%+v, want %+v", ours[i], want)
			}
		}
	})
}

// The answer of a live runtime is the same whether it is read in one piece or in many.
func TestLongList(t *testing.T) {
	t.Parallel()
	rt := &fakeRuntime{}
	for i := range 10_000 {
		rt.containers.Containers = append(rt.containers.Containers, &runtimeapi.Container{Id: fmt.Sprintf("%064d", i), PodSandboxId: "s",
			Metadata: &runtimeapi.ContainerMetadata{Name: "app", Attempt: uint32(i)}, State: runtimeapi.ContainerState_CONTAINER_RUNNING,
			Labels:      map[string]string{podNameLabel: fmt.Sprint("web-", i), podNamespaceLabel: "n", podUIDLabel: fmt.Sprint(i), "app": "web"},
			Annotations: map[string]string{"long": string(bytes.Repeat([]byte("x"), i%2000))}})
	}
	c := dial(t, serve(t, rt))
	got, err := c.Containers(context.Background())
	if err != nil || len(got) != 10_000 {
		t.Fatalf("%d, %v", len(got), err)
	}
	for i, one := range got {
		if one.Attempt != uint32(i) || one.Pod.Name != fmt.Sprint("web-", i) || one.State != Running || one.ID != fmt.Sprintf("%064d", i) {
			t.Fatalf("%d: %+v", i, one)
		}
	}
}
