package bench

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Answers are what a runtime said.
type Answers struct {
	Pods       []*runtimeapi.PodSandbox
	Containers []*runtimeapi.Container
	Status     *runtimeapi.StatusResponse
}

// Ask takes the answers of a runtime.
func Ask(ctx context.Context, socket string) (Answers, error) {
	conn, err := Dial(socket, grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)))
	if err != nil {
		return Answers{}, err
	}
	defer func() { _ = conn.Close() }() // read only
	rt := runtimeapi.NewRuntimeServiceClient(conn)
	pods, err := rt.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		return Answers{}, err
	}
	ctrs, err := rt.ListContainers(ctx, &runtimeapi.ListContainersRequest{})
	if err != nil {
		return Answers{}, err
	}
	st, err := rt.Status(ctx, &runtimeapi.StatusRequest{Verbose: true})
	return Answers{pods.GetItems(), ctrs.GetContainers(), st}, err
}

// Multiplied gives as many pods and containers, each like one of these and with a name, an id and a uid of its own.
func (a Answers) Multiplied(pods, containers int) Answers {
	out := Answers{Status: a.Status}
	for i := range pods {
		p := clone(a.Pods[i%len(a.Pods)])
		m := p.GetMetadata()
		p.Id, m.Name, m.Uid, m.Attempt = id("s", i), fmt.Sprintf("%s-%d", m.Name, i), uid(i), 0
		p.State = runtimeapi.PodSandboxState_SANDBOX_READY
		relabel(p.Labels, m)
		out.Pods = append(out.Pods, p)
	}
	for i := range containers {
		c := clone(a.Containers[i%len(a.Containers)])
		p := out.Pods[i%pods]
		c.Id, c.PodSandboxId, c.State = id("c", i), p.Id, runtimeapi.ContainerState_CONTAINER_RUNNING
		relabel(c.Labels, p.GetMetadata())
		out.Containers = append(out.Containers, c)
	}
	return out
}

func clone[M proto.Message](m M) M {
	c, ok := proto.Clone(m).(M)
	if !ok {
		panic("a clone of another type")
	}
	return c
}

func id(kind string, i int) string { return fmt.Sprintf("%x%063x", kind[0]&0xf, i*2654435761) }
func uid(i int) string             { return fmt.Sprintf("%08x-0000-4000-8000-%012x", i, i) }

func relabel(labels map[string]string, m *runtimeapi.PodSandboxMetadata) {
	labels["io.kubernetes.pod.name"], labels["io.kubernetes.pod.uid"] = m.GetName(), m.GetUid()
}

// LikeKubelet makes a directory of cgroups and one of logs, as the kubelet has them for these pods. The cgroups are plain
// directories.
func (a Answers) LikeKubelet(cgroups, logs string) error {
	for _, p := range a.Pods {
		m := p.GetMetadata()
		dir := filepath.Join(cgroups, "kubepods/burstable/pod"+m.GetUid())
		for _, d := range []string{filepath.Join(dir, p.GetId()), filepath.Join(logs, m.GetNamespace()+"_"+m.GetName()+"_"+m.GetUid(), "main")} {
			if err := os.MkdirAll(d, 0o755); err != nil {
				return err
			}
		}
		for file, content := range map[string]string{"memory.limit_in_bytes": "9223372036854771712", "memory.usage_in_bytes": "4096",
			"memory.failcnt": "0", "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 0"} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(content+"\n"), 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

// standIn serves answers over a real socket.
type standIn struct {
	runtimeapi.UnimplementedRuntimeServiceServer
	pods       *runtimeapi.ListPodSandboxResponse
	containers *runtimeapi.ListContainersResponse
	status     *runtimeapi.StatusResponse
}

// Serve serves the answers until stop is called.
func (a Answers) Serve(socket string) (stop func(), err error) {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	s := grpc.NewServer(grpc.MaxSendMsgSize(64 << 20))
	runtimeapi.RegisterImageServiceServer(s, images{})
	runtimeapi.RegisterRuntimeServiceServer(s, &standIn{pods: &runtimeapi.ListPodSandboxResponse{Items: a.Pods},
		containers: &runtimeapi.ListContainersResponse{Containers: a.Containers}, status: a.Status})
	go func() { _ = s.Serve(l) }()
	return s.Stop, nil
}

func (s *standIn) Version(context.Context, *runtimeapi.VersionRequest) (*runtimeapi.VersionResponse, error) {
	return &runtimeapi.VersionResponse{Version: "0.1.0", RuntimeName: "stand-in", RuntimeVersion: "0", RuntimeApiVersion: "v1"}, nil
}

func (s *standIn) ListPodSandbox(context.Context, *runtimeapi.ListPodSandboxRequest) (*runtimeapi.ListPodSandboxResponse, error) {
	return s.pods, nil
}

// ListContainers knows the one filter that the checks use.
func (s *standIn) ListContainers(_ context.Context, req *runtimeapi.ListContainersRequest) (*runtimeapi.ListContainersResponse, error) {
	want := req.GetFilter().GetState()
	if want == nil {
		return s.containers, nil
	}
	out := &runtimeapi.ListContainersResponse{}
	for _, c := range s.containers.Containers {
		if c.GetState() == want.GetState() {
			out.Containers = append(out.Containers, c)
		}
	}
	return out, nil
}

func (s *standIn) Status(_ context.Context, req *runtimeapi.StatusRequest) (*runtimeapi.StatusResponse, error) {
	if !req.GetVerbose() {
		return &runtimeapi.StatusResponse{Status: s.status.GetStatus()}, nil
	}
	return s.status, nil
}

// images is for crictl, which asks for an image service before it lists containers.
type images struct {
	runtimeapi.UnimplementedImageServiceServer
}

func (images) ImageFsInfo(context.Context, *runtimeapi.ImageFsInfoRequest) (*runtimeapi.ImageFsInfoResponse, error) {
	return &runtimeapi.ImageFsInfoResponse{}, nil
}

func (images) ListImages(context.Context, *runtimeapi.ListImagesRequest) (*runtimeapi.ListImagesResponse, error) {
	return &runtimeapi.ListImagesResponse{}, nil
}
