package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A machine is what a cluster's one node runs on: processes, mounts, network and the boot clock of its own, and a disk that
// outlives it. So the product sees each path where the manifests expect it, and nothing of the real machine is touched but
// the cgroups below kubepods and the kernel's log, which the kernel has once.
type machine struct {
	dir  string // on the real machine: disk, root and logs
	init *exec.Cmd
	pid  int // of its init, as the real machine counts
	ns   string
	end  chan struct{}

	booted time.Time
}

const (
	nodeName  = "node-1"
	nodeIP    = "192.168.77.2"
	serviceIP = "10.96.0.1" // where pods look for the API server; on lo, for no kube-proxy is here
)

// machineInit is how a machine's init calls itself: by it and the run's directory it is found.
const machineInit = "machine-init"

// bootScript becomes the machine's init: it makes a root from the real /usr and from the disk, and then only buries orphans.
const bootScript = `set -e
dir=$1 run=$2; root=$dir/root disk=$dir/disk
mount -t tmpfs -o mode=755 machine "$root"
cd "$root"
mkdir usr proc sys dev run tmp root old etc var opt
mount --bind /usr usr
for l in bin sbin lib lib64; do [ ! -e /$l ] || ln -s usr/$l $l; done
mount -t proc proc proc
mount --rbind /sys sys
mount --rbind /dev dev
mount -t tmpfs -o mode=755 run run
for d in etc var opt; do mkdir -p "$disk/$d"; mount --bind "$disk/$d" $d; done
for f in passwd group nsswitch.conf; do cp /etc/$f etc/; done
[ ! -d /etc/alternatives ] || cp -a /etc/alternatives etc/
echo nameserver 127.0.0.1 > etc/resolv.conf
echo 127.0.0.1 localhost > etc/hosts
echo ` + nodeName + ` > etc/hostname
mkdir -p var/log/pods var/log/containers var/lib var/tmp etc/cni/net.d opt/cni "$root$run"
ln -sfn /run var/run
mount --bind "$run" "$root$run"
pivot_root . old
umount -l /old
mount --make-rshared /
hostname ` + nodeName + `
ip link set lo up
ip address add ` + serviceIP + `/32 dev lo
ip link add eth0 type veth peer name wire
ip address add ` + nodeIP + `/24 dev eth0
ip link set eth0 up
ip link set wire up
ip route add default dev eth0
echo up > /run/booted
while :; do sleep 1000 & wait $!; done
`

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{dir: filepath.Join(run.dir, "machine")}
	mkdirAll(t, filepath.Join(m.dir, "root"))
	mkdirAll(t, filepath.Join(m.dir, "disk"))
	mkdirAll(t, m.log(""))
	t.Cleanup(func() { m.powerOff(t) })
	return m
}

func (m *machine) log(program string) string { return filepath.Join(m.dir, "logs", program) }

// disk gives the place on the real machine of a path that outlives a power cut: below /etc, /var or /opt.
func (m *machine) disk(path string) string { return filepath.Join(m.dir, "disk", path) }

// boot starts the machine. Its boot clock begins anew: the kernel's log alone goes on counting, which the product reads by
// another clock.
func (m *machine) boot(t *testing.T) {
	t.Helper()
	args := []string{"--mount", "--uts", "--ipc", "--net", "--pid", "--time", "--boottime", "-" + wholeUptime(t), "--fork", "--kill-child",
		"sh", "-c", bootScript, machineInit, m.dir, run.dir}
	cmd := exec.Command("unshare", args...)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	m.init, m.end = cmd, make(chan struct{})
	startTied(t, cmd, m.end)
	if !eventually(20*time.Second, func() bool { m.pid = childOf(cmd.Process.Pid); return m.pid > 0 && m.isUp() }) {
		t.Fatalf("the machine does not boot: %s", complaint.String())
	}
	m.ns, m.booted = pidNamespace(m.pid), time.Now()
}

func (m *machine) isUp() bool {
	_, err := os.Stat(fmt.Sprintf("/proc/%d/root/run/booted", m.pid))
	return err == nil
}

// startTied starts a process that ends with this one, however this one ends. The kernel ties it to a thread, so the thread
// has to stay.
func startTied(t *testing.T, cmd *exec.Cmd, ended chan struct{}) {
	t.Helper()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		started <- cmd.Start()
		_ = cmd.Wait() // killed is how it ends
		close(ended)
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
}

func wholeUptime(t *testing.T) string {
	t.Helper()
	whole, _, _ := strings.Cut(readFile(t, "/proc/uptime"), ".")
	return whole
}

func childOf(pid int) int {
	var child int
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	_, _ = fmt.Sscan(string(children), &child) // none yet is 0
	return child
}

func pidNamespace(pid int) string {
	ns, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
	return ns
}

// powerOff ends all at once: the kernel kills what is in a process namespace together with its init, and the mounts go
// with the last of them. The cgroups are the real machine's, so they are taken away by hand.
func (m *machine) powerOff(t *testing.T) {
	t.Helper()
	if m.pid == 0 {
		return
	}
	_ = syscall.Kill(m.pid, syscall.SIGKILL)
	<-m.end
	if !eventually(20*time.Second, func() bool { return len(m.processes("")) == 0 }) {
		t.Errorf("after the power has gone there are still processes %v", m.processes(""))
	}
	m.pid = 0
	if !removeCgroups(kubepodCgroups) {
		t.Errorf("after the power has gone there are still cgroups %v", kubepodCgroups())
	}
}

// processes are the machine's, by the name of their program; "" is all.
func (m *machine) processes(name string) []int {
	var found []int
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		var pid int
		_, _ = fmt.Sscan(filepath.Base(dir), &pid)
		if m.ns == "" || pidNamespace(pid) != m.ns {
			continue
		}
		exe, _ := os.Readlink(dir + "/exe")
		if name == "" || filepath.Base(exe) == name {
			found = append(found, pid)
		}
	}
	return found
}

// kill ends a program of the machine and waits until it is gone.
func (m *machine) kill(t *testing.T, name string, sig syscall.Signal) {
	t.Helper()
	for _, pid := range m.processes(name) {
		_ = syscall.Kill(pid, sig)
	}
	if !eventually(30*time.Second, func() bool { return len(m.processes(name)) == 0 }) {
		t.Fatalf("%s does not end", name)
	}
}

// command is a program that runs on the machine.
func (m *machine) command(args ...string) *exec.Cmd {
	enter := []string{"-t", fmt.Sprint(m.pid), "-m", "-u", "-i", "-n", "-p", "-T", "--"}
	cmd := exec.Command("nsenter", append(enter, args...)...)
	cmd.Env = []string{"PATH=" + filepath.Join(run.dir, "bin") + ":/usr/sbin:/usr/bin", "HOME=/root", "KUBECONFIG=" + m.adminConfig()}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// onNode runs a program to its end, and ends the test when it fails.
func (m *machine) onNode(t *testing.T, words ...string) string {
	t.Helper()
	out, err := m.try("", words...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// launch starts a program that goes on, its output in a log of its name.
func (m *machine) launch(t *testing.T, args ...string) {
	t.Helper()
	log, err := os.OpenFile(m.log(filepath.Base(args[0])), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }() // the program has its own by then
	cmd := m.command(args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = cmd.Wait() }() // killed is how it ends
}

// try runs a program to its end and gives what it prints.
func (m *machine) try(stdin string, args ...string) (string, error) {
	cmd := m.command(args...)
	var out, complaint bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &complaint
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(complaint.String()))
	}
	return out.String(), nil
}

// kubepodCgroups are all that a kubelet makes, children first.
func kubepodCgroups() []string {
	return suiteRun{name: "kubepods"}.cgroups()
}
