package cri

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// What no message is, is no empty list.
func TestMalformed(t *testing.T) {
	t.Parallel()
	whole, err := proto.Marshal(&recorded(t, "containerd-2.4").pods)
	if err != nil {
		t.Fatal(err)
	}
	for what, raw := range map[string][]byte{
		"field 0":             {0x00, 0x01},
		"a group":             {0x0b},
		"length above all":    {0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f},
		"endless number":      bytes.Repeat([]byte{0xff}, 20),
		"cut in the last one": whole[:len(whole)-1],
		"bad item":            {0x0a, 0x02, 0x0a, 0x05},
		"bad metadata":        {0x0a, 0x04, 0x12, 0x02, 0x0a, 0x05},
		"no UTF-8":            {0x0a, 0x03, 0x0a, 0x01, 0xff},
	} {
		c := dial(t, serveRaw(t, raw))
		if _, err := c.Sandboxes(soon(t)); err == nil || err.Error() != "ListPodSandbox at "+c.Socket()+": the answer cannot be read: malformed message" {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A list of 10,000 containers, which is far above what a kubelet runs, is read whole.
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
