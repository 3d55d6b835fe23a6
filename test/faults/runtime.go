package faults

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Runtime is what a well-behaved runtime answers.
type Runtime struct {
	Sandboxes  []*runtimeapi.PodSandbox
	Containers []*runtimeapi.Container
	Status     *runtimeapi.StatusResponse
	// Images are the names that ImageStatus finds.
	Images []string

	mu sync.Mutex
}

// ReadOnly are the calls that change nothing.
var ReadOnly = []string{"Version", "Status", "ListPodSandbox", "PodSandboxStatus", "ListContainers", "ContainerStatus", "ImageStatus"}

// answer is the answer to a request in its bytes on the wire. The error is a gRPC status.
func (r *Runtime) answer(method string, request []byte) (proto.Message, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch method {
	case "Version":
		return &runtimeapi.VersionResponse{Version: "0.1.0", RuntimeName: "containerd", RuntimeVersion: "v2.4.2", RuntimeApiVersion: "v1"}, nil
	case "Status":
		return r.status(request)
	case "ListPodSandbox":
		return &runtimeapi.ListPodSandboxResponse{Items: r.Sandboxes}, nil
	case "PodSandboxStatus":
		return r.sandboxStatus(request)
	case "ListContainers":
		return r.listContainers(request)
	case "ContainerStatus":
		return r.containerStatus(request)
	case "RemoveContainer":
		return r.remove(request)
	case "ImageStatus":
		return r.image(request)
	}
	return nil, status.Errorf(codes.Unimplemented, "unknown method %s", method)
}

func (r *Runtime) status(request []byte) (proto.Message, error) {
	var q runtimeapi.StatusRequest
	if err := proto.Unmarshal(request, &q); err != nil {
		return nil, err
	}
	if q.GetVerbose() {
		return r.Status, nil
	}
	return &runtimeapi.StatusResponse{Status: r.Status.GetStatus()}, nil
}

func (r *Runtime) sandboxStatus(request []byte) (proto.Message, error) {
	var q runtimeapi.PodSandboxStatusRequest
	if err := proto.Unmarshal(request, &q); err != nil {
		return nil, err
	}
	for _, s := range r.Sandboxes {
		if s.GetId() != q.GetPodSandboxId() {
			continue
		}
		ans := &runtimeapi.PodSandboxStatusResponse{Status: &runtimeapi.PodSandboxStatus{Id: s.GetId(), Metadata: s.GetMetadata(),
			State: s.GetState(), CreatedAt: s.GetCreatedAt(), Linux: &runtimeapi.LinuxPodSandboxStatus{
				Namespaces: &runtimeapi.Namespace{Options: &runtimeapi.NamespaceOption{Network: runtimeapi.NamespaceMode_POD}}}}}
		if q.GetVerbose() {
			ans.Info = map[string]string{"info": fmt.Sprintf(`{"image": %q}`, pauseImage)}
		}
		return ans, nil
	}
	return nil, status.Errorf(codes.NotFound, "sandbox %q: not found", q.GetPodSandboxId())
}

func (r *Runtime) listContainers(request []byte) (proto.Message, error) {
	var q runtimeapi.ListContainersRequest
	if err := proto.Unmarshal(request, &q); err != nil {
		return nil, err
	}
	ans := &runtimeapi.ListContainersResponse{}
	for _, c := range r.Containers {
		if want := q.GetFilter().GetState(); want == nil || want.GetState() == c.GetState() {
			ans.Containers = append(ans.Containers, c)
		}
	}
	return ans, nil
}

func (r *Runtime) containerStatus(request []byte) (proto.Message, error) {
	var q runtimeapi.ContainerStatusRequest
	if err := proto.Unmarshal(request, &q); err != nil {
		return nil, err
	}
	for _, c := range r.Containers {
		if c.GetId() == q.GetContainerId() {
			return &runtimeapi.ContainerStatusResponse{Status: &runtimeapi.ContainerStatus{Id: c.GetId(), Metadata: c.GetMetadata(),
				State: c.GetState(), CreatedAt: c.GetCreatedAt()}}, nil
		}
	}
	return nil, status.Errorf(codes.NotFound, "an error occurred when try to find container %q: not found", q.GetContainerId())
}

func (r *Runtime) remove(request []byte) (proto.Message, error) {
	var q runtimeapi.RemoveContainerRequest
	if err := proto.Unmarshal(request, &q); err != nil {
		return nil, err
	}
	r.Containers = slices.DeleteFunc(r.Containers, func(c *runtimeapi.Container) bool { return c.GetId() == q.GetContainerId() })
	return &runtimeapi.RemoveContainerResponse{}, nil
}

func (r *Runtime) image(request []byte) (proto.Message, error) {
	var q runtimeapi.ImageStatusRequest
	if err := proto.Unmarshal(request, &q); err != nil {
		return nil, err
	}
	name := q.GetImage().GetImage()
	if slices.ContainsFunc(r.Images, func(have string) bool { return strings.EqualFold(have, name) }) {
		return &runtimeapi.ImageStatusResponse{Image: &runtimeapi.Image{Id: "sha256:0123", RepoTags: []string{name}}}, nil
	}
	return &runtimeapi.ImageStatusResponse{}, nil
}
