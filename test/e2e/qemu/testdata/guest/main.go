// Guest is what the suite has inside the machine.
//
//	guest serve ADDRESS   runs what it is asked to, as root: one request and one reply a connection, both JSON
//	guest ask PROGRAM     runs all checks of PROGRAM and prints one reply a check; it stands in for node-problem-detector
//	                      in a container that has no shell
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"sandbox-checker/test/e2e/internal/guest"
)

func main() {
	var err error
	switch {
	case len(os.Args) == 3 && os.Args[1] == "serve":
		err = serve(os.Args[2])
	case len(os.Args) >= 3 && os.Args[1] == "ask":
		err = ask(os.Args[2], os.Args[3:])
	default:
		err = errors.New("usage: guest serve ADDRESS | guest ask PROGRAM [FLAG...]")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "guest:", err)
		os.Exit(1)
	}
}

func serve(address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		go answer(conn)
	}
}

// answer ends with its connection; who asked sees what is missing.
func answer(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	var r guest.Request
	if json.NewDecoder(conn).Decode(&r) == nil && len(r.Args) > 0 {
		_ = json.NewEncoder(conn).Encode(run(r))
	}
}

func run(r guest.Request) guest.Reply {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.Seconds)*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.Args[0], r.Args[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(r.Stdin), &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.WaitDelay = time.Second // what it left in the background may hold its pipes
	err := cmd.Run()
	out := guest.Reply{Exit: -1, Stdout: stdout.String(), Stderr: stderr.String()}
	if cmd.ProcessState != nil {
		out.Exit = cmd.ProcessState.ExitCode()
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		out.Error = err.Error()
	}
	return out
}

// ask prints to a container's log, which has one line a line.
func ask(program string, flags []string) error {
	for _, check := range []string{"stale-created", "sandbox-crashloop", "sandbox-oom", "cni-config"} {
		r := run(guest.Request{Args: append([]string{program, "check", check}, flags...), Seconds: 60})
		r.Name = check
		raw, err := json.Marshal(r)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(os.Stdout, string(raw)+"\n"); err != nil {
			return err
		}
	}
	_, err := io.WriteString(os.Stdout, "asked all\n")
	return err
}
