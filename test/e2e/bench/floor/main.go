// Floor is the smallest program that makes CRI calls with the libraries that people use for it, and does nothing with the
// answers: floor SOCKET CALL... The call /dev/kmsg reads the kernel's log.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func main() {
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

func run(socket string, calls []string) error {
	// passthrough, no proxy and no service config: the cheapest that grpc has.
	conn, err := grpc.NewClient("passthrough:///"+socket,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, path string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		}),
		grpc.WithAuthority("localhost"), grpc.WithNoProxy(), grpc.WithDisableServiceConfig(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(16<<20)))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	rt := runtimeapi.NewRuntimeServiceClient(conn)
	for _, c := range calls {
		if err := call(ctx, rt, c); err != nil {
			return fmt.Errorf("%s: %w", c, err)
		}
	}
	return nil
}

func call(ctx context.Context, rt runtimeapi.RuntimeServiceClient, name string) error {
	var err error
	switch name {
	case "ListPodSandbox":
		_, err = rt.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{})
	case "ListContainers":
		_, err = rt.ListContainers(ctx, &runtimeapi.ListContainersRequest{})
	case "ListContainers/CREATED":
		_, err = rt.ListContainers(ctx, &runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{
			State: &runtimeapi.ContainerStateValue{State: runtimeapi.ContainerState_CONTAINER_CREATED}}})
	case "Status":
		_, err = rt.Status(ctx, &runtimeapi.StatusRequest{Verbose: true})
	case "/dev/kmsg":
		err = readLog(name)
	default:
		err = fmt.Errorf("no call that a check makes on a healthy node")
	}
	return err
}

// readLog reads each record of the kernel's log once: it gives one a read.
func readLog(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }() // read only
	buf := make([]byte, 16<<10)
	for {
		_, err := unix.Read(fd, buf)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return nil
		case err != nil && !errors.Is(err, unix.EPIPE):
			return err
		}
	}
}
