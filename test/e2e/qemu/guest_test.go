package qemu

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"sandbox-checker/test/e2e/internal/crictl"
	"sandbox-checker/test/e2e/internal/guest"
)

// patience is for one command in the guest: each start of a program of 40 MB takes a second there, on an idle host.
const patience = 3 * time.Minute

// ask sends one request. While the guest boots nobody answers.
func (p *power) ask(r guest.Request) (guest.Reply, error) {
	var out guest.Reply
	conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", p.port), 10*time.Second)
	if err != nil {
		return out, err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(time.Duration(r.Seconds)*time.Second + 10*time.Second)); err != nil {
		return out, err
	}
	if err := json.NewEncoder(conn).Encode(r); err != nil {
		return out, err
	}
	if err := json.NewDecoder(conn).Decode(&out); err != nil {
		return out, err
	}
	if out.Error != "" {
		return out, errors.New(out.Error)
	}
	return out, nil
}

// run runs a program in the guest, as root.
func (m *machine) run(t testing.TB, stdin string, args ...string) guest.Reply {
	t.Helper()
	if m.power == nil {
		t.Fatal("the machine is off")
	}
	r, err := m.power.ask(guest.Request{Args: args, Stdin: stdin, Seconds: int(patience.Seconds())})
	if err != nil {
		t.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	return r
}

// do runs a program that must succeed.
func (m *machine) do(t testing.TB, args ...string) string {
	t.Helper()
	r := m.run(t, "", args...)
	if r.Exit != 0 {
		t.Fatalf("%s: exit %d: %s%s", strings.Join(args, " "), r.Exit, r.Stdout, crictl.Complaint(r.Stderr))
	}
	return strings.TrimSpace(r.Stdout)
}

// sh runs a script that must succeed.
func (m *machine) sh(t testing.TB, script string) string {
	t.Helper()
	return m.do(t, "sh", "-ec", script)
}

func (m *machine) writeFile(t testing.TB, path, content string) {
	t.Helper()
	if r := m.run(t, content, "sh", "-c", `mkdir -p "${1%/*}" && cat >"$1"`, "sh", path); r.Exit != 0 {
		t.Fatalf("%s: %s", path, r.Stderr)
	}
}
