package cri

import (
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"sandbox-checker/plugin/cri/wire"
)

// ofCRI are the messages whose names differ, because a check and a capture read the same answer.
var ofCRI = map[protoreflect.Name]protoreflect.Name{"RecordedSandboxes": "ListPodSandboxResponse", "RecordedSandbox": "PodSandbox"}

// TestSameAsCRI: each field has the number, the type and the name that k8s.io/cri-api gives it, and each enum all its values.
func TestSameAsCRI(t *testing.T) {
	t.Parallel()
	theirs := runtimeapi.File_staging_src_k8s_io_cri_api_pkg_apis_runtime_v1_api_proto
	messages := wire.File_cri_proto.Messages()
	for i := range messages.Len() {
		m := messages.Get(i)
		other := theirs.Messages().ByName(named(m.Name()))
		if other == nil {
			t.Errorf("CRI has no %s", m.Name())
			continue
		}
		for j := range m.Fields().Len() {
			sameField(t, m.Fields().Get(j), other.Fields())
		}
	}
	enums := wire.File_cri_proto.Enums()
	for i := range enums.Len() {
		e := enums.Get(i)
		other := theirs.Enums().ByName(e.Name())
		if other == nil || other.Values().Len() != e.Values().Len() {
			t.Errorf("%s: CRI has other values", e.Name())
			continue
		}
		for j := range e.Values().Len() {
			if v := e.Values().Get(j); other.Values().ByNumber(v.Number()).Name() != v.Name() {
				t.Errorf("%s: %d is not %s", e.Name(), v.Number(), v.Name())
			}
		}
	}
}

func named(n protoreflect.Name) protoreflect.Name {
	if other, ok := ofCRI[n]; ok {
		return other
	}
	return n
}

func sameField(t *testing.T, f protoreflect.FieldDescriptor, theirs protoreflect.FieldDescriptors) {
	t.Helper()
	other := theirs.ByNumber(f.Number())
	if other == nil || other.Name() != f.Name() || other.Kind() != f.Kind() || other.Cardinality() != f.Cardinality() || other.IsMap() != f.IsMap() {
		t.Errorf("%s is %v in CRI", f.FullName(), other)
		return
	}
	if m := f.Message(); m != nil && !f.IsMap() && other.Message().Name() != named(m.Name()) {
		t.Errorf("%s is a %s in CRI", f.FullName(), other.Message().Name())
	}
	if e := f.Enum(); e != nil && other.Enum().Name() != e.Name() {
		t.Errorf("%s is a %s in CRI", f.FullName(), other.Enum().Name())
	}
	// fits knows no others.
	if k := f.Kind(); f.IsList() && k != protoreflect.MessageKind || k == protoreflect.FloatKind || k == protoreflect.DoubleKind ||
		k == protoreflect.Fixed32Kind || k == protoreflect.Fixed64Kind || k == protoreflect.Sfixed32Kind || k == protoreflect.Sfixed64Kind {
		t.Errorf("%s: conforms does not know this type", f.FullName())
	}
}

// TestRuntimeConditions: their names are CRI's.
func TestRuntimeConditions(t *testing.T) {
	t.Parallel()
	if runtimeReady != runtimeapi.RuntimeReady || networkReady != runtimeapi.NetworkReady {
		t.Errorf("%s and %s", runtimeReady, networkReady)
	}
}
