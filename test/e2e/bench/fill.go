package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// A Crowd is pods that a runtime shall run, with what the kubelet writes on them. They use the node's network: a pod
// network of 500 is slow to set up and changes no answer.
type Crowd struct {
	First              int // number of the first pod
	Pods, Containers   int
	Image              string
	CgroupParent, Logs string
}

// Fill starts them, two at a time.
func Fill(ctx context.Context, socket string, c Crowd) error {
	conn, err := Dial(socket)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // nothing is lost
	rt := runtimeapi.NewRuntimeServiceClient(conn)
	const workers = 2
	errs := make(chan error, workers)
	for w := range workers {
		go func() {
			for i := w; i < c.Pods; i += workers {
				if err := c.start(ctx, rt, i); err != nil {
					errs <- fmt.Errorf("pod %d: %w", i, err)
					return
				}
			}
			errs <- nil
		}()
	}
	for range workers {
		if failed := <-errs; failed != nil {
			err = failed
		}
	}
	return err
}

func (c Crowd) start(ctx context.Context, rt runtimeapi.RuntimeServiceClient, i int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	n := c.First + i
	m := &runtimeapi.PodSandboxMetadata{Name: fmt.Sprintf("web-7d4b9c8f6d-%05d", n), Namespace: "production", Uid: uid(n)}
	logs := filepath.Join(c.Logs, m.Namespace+"_"+m.Name+"_"+m.Uid)
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return err
	}
	network := &runtimeapi.NamespaceOption{Network: runtimeapi.NamespaceMode_NODE}
	config := &runtimeapi.PodSandboxConfig{
		Metadata: m, LogDirectory: logs, Labels: podLabels(m),
		Annotations: map[string]string{"kubernetes.io/config.seen": "2026-11-30T08:00:00.123456789Z", "kubernetes.io/config.source": "api"},
		Linux: &runtimeapi.LinuxPodSandboxConfig{CgroupParent: c.CgroupParent + "/pod" + m.Uid,
			SecurityContext: &runtimeapi.LinuxSandboxSecurityContext{NamespaceOptions: network}},
	}
	sandbox, err := rt.RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: config})
	if err != nil {
		return err
	}
	for k := i; k < c.Containers; k += c.Pods {
		name := fmt.Sprint("app-", k/c.Pods)
		if err := os.MkdirAll(filepath.Join(logs, name), 0o755); err != nil {
			return err
		}
		labels := podLabels(m)
		labels["io.kubernetes.container.name"] = name
		made, err := rt.CreateContainer(ctx, &runtimeapi.CreateContainerRequest{PodSandboxId: sandbox.GetPodSandboxId(), SandboxConfig: config,
			Config: &runtimeapi.ContainerConfig{
				Metadata: &runtimeapi.ContainerMetadata{Name: name}, Image: &runtimeapi.ImageSpec{Image: c.Image}, Labels: labels,
				Annotations: map[string]string{"io.kubernetes.container.hash": "5d1c8a7f", "io.kubernetes.container.restartCount": "0",
					"io.kubernetes.container.terminationMessagePath":   "/dev/termination-log",
					"io.kubernetes.container.terminationMessagePolicy": "File", "io.kubernetes.pod.terminationGracePeriod": "30"},
				LogPath: name + "/0.log",
				Linux:   &runtimeapi.LinuxContainerConfig{SecurityContext: &runtimeapi.LinuxContainerSecurityContext{NamespaceOptions: network}},
			}})
		if err != nil {
			return err
		}
		if _, err := rt.StartContainer(ctx, &runtimeapi.StartContainerRequest{ContainerId: made.GetContainerId()}); err != nil {
			return err
		}
	}
	return nil
}

func podLabels(m *runtimeapi.PodSandboxMetadata) map[string]string {
	return map[string]string{"app": "web", "pod-template-hash": "7d4b9c8f6d", "io.kubernetes.pod.name": m.Name,
		"io.kubernetes.pod.namespace": m.Namespace, "io.kubernetes.pod.uid": m.Uid}
}
