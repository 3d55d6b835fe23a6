package qemu

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sandbox-checker/test/e2e/internal/guest"
	"sandbox-checker/test/e2e/internal/loopback"
	"sandbox-checker/test/e2e/internal/process"
)

// bootTime is how long a machine may take to be ready, on a host that does much else. An idle one needs 12 s.
const bootTime = 8 * time.Minute

// A machine is one node: a state disk that outlives its power, and QEMU while it runs.
type machine struct {
	dir    string
	disks  disks
	power  *power
	bootID string // of the boot that was last seen
}

// power is one run of QEMU.
type power struct {
	cmd  *exec.Cmd
	port int
	out  *bytes.Buffer
	off  chan struct{} // closed when QEMU has ended
}

var machines atomic.Int32

func newMachine(t *testing.T, f flavour) *machine {
	t.Helper()
	d, err := f.disks()
	if err != nil {
		t.Fatal(err)
	}
	m := emptyMachine(t, d)
	for _, step := range [][]string{{"truncate", "-s", "1G", m.state()}, {"mkfs.ext4", "-q", "-F", "-m", "0", m.state()}} {
		if err := process.Run(exec.Command(step[0], step[1:]...)); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// copyOf gives another machine with the same state disk. Neither may be running.
func (m *machine) copyOf(t *testing.T) *machine {
	t.Helper()
	other := emptyMachine(t, m.disks)
	other.bootID = m.bootID
	if err := process.Run(exec.Command("cp", "--sparse=always", m.state(), other.state())); err != nil {
		t.Fatal(err)
	}
	return other
}

func emptyMachine(t *testing.T, d disks) *machine {
	t.Helper()
	m := &machine{dir: filepath.Join(run.dir, fmt.Sprintf("node-%d", machines.Add(1))), disks: d}
	if err := os.MkdirAll(m.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() && m.power != nil {
			t.Logf("end of the console:\n%s", m.consoleEnd())
		}
		m.powerLoss()
		_ = os.RemoveAll(m.dir) // the run's end says what is left
	})
	return m
}

func (m *machine) state() string   { return filepath.Join(m.dir, "state.img") }
func (m *machine) console() string { return filepath.Join(m.dir, "console.log") }
func (m *machine) qmp() string     { return filepath.Join(m.dir, "qmp") }

func (m *machine) consoleEnd() string {
	raw, _ := os.ReadFile(m.console())
	return string(raw[max(0, len(raw)-3000):])
}

// boot turns the power on and waits until the node is ready. clock is where its real-time clock stands; zero is right.
func (m *machine) boot(t *testing.T, clock ...time.Time) {
	t.Helper()
	started := time.Now()
	const tries = 5
	for range tries {
		m.powerOn(t, clock...)
		if m.waitReady(t) {
			t.Logf("ready %s after power on", time.Since(started).Round(time.Second))
			m.mustBeVersion(t)
			return
		}
		if !strings.Contains(m.power.out.String(), "host forwarding") {
			break
		}
		t.Log("somebody took the port: once more")
	}
	t.Fatalf("the node did not get ready: %s\n%s", m.power.out, m.consoleEnd())
}

// mustBeVersion: Debian's containerd is another one on another Debian.
func (m *machine) mustBeVersion(t *testing.T) {
	t.Helper()
	said := m.do(t, "cat", "/run/version")
	if !regexp.MustCompile(`RuntimeVersion: +v?` + regexp.QuoteMeta(m.disks.containerd)).MatchString(said) {
		t.Fatalf("containerd is not %s:\n%s", m.disks.containerd, said)
	}
}

func (m *machine) powerOn(t *testing.T, clock ...time.Time) {
	t.Helper()
	rtc := "base=utc"
	for _, c := range clock {
		rtc = "base=" + c.UTC().Format("2006-01-02T15:04:05")
	}
	p := &power{port: loopback.FreePort(t), out: &bytes.Buffer{}, off: make(chan struct{})}
	p.cmd = exec.Command("qemu-system-x86_64",
		// Without tb-size the translated code alone grows beyond a gigabyte.
		"-accel", "tcg,thread=multi,tb-size=256", "-cpu", "max", "-smp", "2", "-m", "512",
		"-nodefaults", "-no-user-config", "-display", "none", "-rtc", rtc,
		"-kernel", m.disks.kernel, "-initrd", m.disks.initrd,
		// Emulated processors that wait for each other can stay so for ever: a boot that is stuck begins anew. rcS ends that.
		"-append", "console=ttyS0 quiet panic=1 softlockup_panic=1 printk.devkmsg=on log_buf_len=1M",
		"-drive", "file="+m.disks.root+",if=virtio,format=raw,readonly=on",
		// unsafe: what the guest has flushed outlives the kill of QEMU, and no flush waits for a disk of the host.
		"-drive", "file="+m.state()+",if=virtio,format=raw,cache=unsafe",
		// restrict: it is nobody's way into a network.
		"-netdev", fmt.Sprintf("user,id=n0,restrict=on,hostfwd=tcp:127.0.0.1:%d-:2222", p.port),
		"-device", "virtio-net-pci,netdev=n0,romfile=",
		"-serial", "file:"+m.console(), "-qmp", "unix:"+m.qmp()+",server=on,wait=off")
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // a kill is how it ends
		close(p.off)
	}()
	m.power = p
}

// waitReady waits for a boot that was not seen before. No means that QEMU has ended, or that it took too long.
func (m *machine) waitReady(t *testing.T) bool {
	t.Helper()
	for end := time.Now().Add(bootTime); time.Now().Before(end); {
		r, err := m.power.ask(guest.Request{Args: []string{"cat", "/run/ready"}, Seconds: 30})
		if id := strings.TrimSpace(r.Stdout); err == nil && r.Exit == 0 && id != "" && id != m.bootID {
			m.bootID = id
			return true
		}
		select {
		case <-m.power.off:
			return false
		case <-time.After(500 * time.Millisecond):
		}
	}
	return false
}

// powerLoss is what it says: the guest has no moment to write anything.
func (m *machine) powerLoss() {
	if m.power == nil {
		return
	}
	_ = m.power.cmd.Process.Kill() // it may have ended by itself
	<-m.power.off
	m.power = nil
}

// reset presses the reset button and waits for the next boot.
func (m *machine) reset(t *testing.T) {
	t.Helper()
	if err := m.press(); err != nil {
		t.Fatal(err)
	}
	if !m.waitReady(t) {
		t.Fatalf("the node did not get ready after the reset: %s\n%s", m.power.out, m.consoleEnd())
	}
}

func (m *machine) press() error {
	conn, err := net.Dial("unix", m.qmp())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	in := json.NewDecoder(conn)
	for _, word := range []string{"", "qmp_capabilities", "system_reset"} {
		if word != "" {
			if _, err := fmt.Fprintf(conn, `{"execute":%q}`+"\n", word); err != nil {
				return err
			}
		}
		// The greeting, then an answer to each; events may come between.
		for answered := false; !answered; {
			var message map[string]json.RawMessage
			if err := in.Decode(&message); err != nil {
				return err
			}
			if e, bad := message["error"]; bad {
				return errors.New("qmp: " + string(e))
			}
			answered = message["event"] == nil
		}
	}
	return nil
}
