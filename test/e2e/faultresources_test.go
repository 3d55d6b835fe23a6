package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sandbox-checker/test/faults"
)

// TestMountThatHangs: a file system that never answers, over each directory that a check reads. A check that needs it ends by its
// deadline and names the path; one that does not is not held up.
//
// It is FUSE without anybody who serves it. Requests that wait there can be killed, as those of NFS can.
func TestMountThatHangs(t *testing.T) {
	program := built(t, buildChecker)
	for _, c := range []struct {
		over  string
		exits map[string]int // on a healthy node, where not 0
	}{
		{"etc/cni/net.d", map[string]int{"cni-config": 2}},
		{"opt/cni/bin", map[string]int{"cni-config": 2}},
		{"var/log/pods", map[string]int{"sandbox-oom": 2, "sandbox-crashloop": 2}},
		{"sys/fs/cgroup/kubepods", map[string]int{"sandbox-oom": 2, "sandbox-crashloop": 2}},
		{"run/sandbox-checker", nil}, // it costs history and no verdict
	} {
		t.Run(c.over, func(t *testing.T) {
			root := confinement(t, program)
			n := faults.NewNode(t, root, faults.Healthy)
			n.Serve(t, faults.ServerFault{})
			dir := filepath.Join(root, c.over)
			mkdirAll(t, dir)
			mountDead(t, dir)
			for _, check := range faults.Checks {
				got := askWith(t, confined(root, "check", check, "--runtime-endpoint", faults.Socket, "--timeout", "3s"))
				got.keepsProtocol(t)
				if got.exit != c.exits[check] || got.exit == 2 && !strings.Contains(got.line, c.over) || got.took > atTheLatest {
					t.Errorf("%s: exit %d in %s, want %d and the path: %s", check, got.exit, got.took, c.exits[check], got.line)
				}
			}
		})
	}
}

// mountDead mounts a FUSE file system that nobody serves.
func mountDead(t *testing.T, dir string) {
	t.Helper()
	fuse, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fuse.Fd())
	if err := unix.Mount("nobody", dir, "fuse", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = fuse.Close() // ends whatever still waits
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// TestFullFileSystem: a state that cannot be written costs nothing but history; a capture or a program that cannot be written
// leaves the old one and nothing beside it.
func TestFullFileSystem(t *testing.T) {
	program := built(t, buildChecker)
	root := confinement(t, program)
	n := faults.NewNode(t, root, faults.SickPods)
	n.Serve(t, faults.ServerFault{})
	if err := os.Symlink("/sandbox-checker", filepath.Join(root, "proc/self/exe")); err != nil { // for install
		t.Fatal(err)
	}
	for _, dir := range []string{"run/sandbox-checker", "full"} {
		full := filepath.Join(root, dir)
		mkdirAll(t, full)
		if err := unix.Mount("none", full, "tmpfs", 0, "size=16k"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := unix.Unmount(full, 0); err != nil {
				t.Error(err)
			}
		})
		writeFile(t, filepath.Join(full, "sandbox-checker"), "the old one")
		writeFile(t, filepath.Join(full, "node.txtar"), "the old one")
		fillUp(t, filepath.Join(full, "fill"))
	}
	for _, check := range faults.Checks {
		got := askWith(t, confined(root, "check", check, "--runtime-endpoint", faults.Socket))
		got.keepsProtocol(t)
		if want := faults.SickPods.Exit(check); got.exit != want {
			t.Errorf("%s: exit %d, want %d: %s", check, got.exit, want, got.line)
		}
	}
	for file, args := range map[string][]string{
		"sandbox-checker": {"install", "/full"},
		"node.txtar":      {"capture", "-o", "/full/node.txtar", "--runtime-endpoint", faults.Socket},
	} {
		got := askWith(t, confined(root, args...))
		if got.exit != 2 || !strings.Contains(got.stderr, "no space left") {
			t.Errorf("%v: exit %d %s%s", args, got.exit, got.line, got.stderr)
		}
		if raw, err := os.ReadFile(filepath.Join(root, "full", file)); err != nil || string(raw) != "the old one" {
			t.Errorf("%v: the old one is %.40q, %v", args, raw, err)
		}
	}
	mustLeaveNothing(t, root)
}

// fillUp writes until there is no more room.
func fillUp(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for size := 4096; size > 0; size /= 2 {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, unix.ENOSPC) {
			t.Fatal(err)
		}
	}
	_ = f.Close() // it is full
}

// TestLittleMemory: in a cgroup of 20 MiB the checks work on a node of usual size. On one whose lists do not fit they may be
// killed, which node-problem-detector takes for Unknown, but never say what is not so.
func TestLittleMemory(t *testing.T) {
	program := built(t, buildChecker)
	const limit = 20 << 20
	group := filepath.Join("/sys/fs/cgroup/memory", run.name, "little")
	mkdirAll(t, group)
	t.Cleanup(func() {
		if !removeCgroups(func() []string { return cgroupsBelow(group) }) {
			t.Errorf("%s does not go", group)
		}
	})
	writeFile(t, filepath.Join(group, "memory.limit_in_bytes"), strconv.Itoa(limit))
	for _, b := range faults.Bases {
		for _, f := range append([]faults.ServerFault{{}}, large(t)...) {
			root := confinement(t, program)
			faults.NewNode(t, root, b).Serve(t, f)
			for _, check := range faults.Checks {
				got := askWith(t, inGroup(group, confined(root, "check", check, "--runtime-endpoint", faults.Socket, "--timeout", "5s")))
				t.Logf("%s, %s, %q: exit %d in %s: %s", b, check, f.Name, got.exit, got.took.Round(time.Millisecond), got.line)
				want := b.Exit(check)
				if got.exit != -1 { // killed
					got.keepsProtocol(t)
				}
				if got.exit != want && (f.Name == "" || got.exit != 2 && got.exit != -1) {
					t.Errorf("%s, %s, %q: exit %d, want %d: %s", b, check, f.Name, got.exit, want, got.line)
				}
			}
		}
	}
}

// large are the faults of a runtime that take memory.
func large(t *testing.T) []faults.ServerFault {
	t.Helper()
	var out []faults.ServerFault
	for _, f := range faults.ServerFaults() {
		switch f.Name {
		case "a million sandboxes", "99,000 sandboxes", "99,000 containers", "an answer of 16 MiB", "eight million nothings":
			out = append(out, f)
		}
	}
	if len(out) != 5 {
		t.Fatalf("%d faults", len(out))
	}
	return out
}

// inGroup starts a command in a cgroup of v1: a shell goes in and becomes the program. It needs the shell's files in the
// confinement, so the group is entered before.
func inGroup(group string, cmd *exec.Cmd) *exec.Cmd {
	root := cmd.SysProcAttr.Chroot
	args := append([]string{"-c", `echo $$ > "$0/cgroup.procs" && exec chroot "$@"`, group, root, cmd.Path}, cmd.Args[1:]...)
	return exec.Command("/bin/sh", args...)
}

// TestReadOfARemovedCgroup: what the kernel says of an open file whose cgroup has gone is what the reader takes for gone.
func TestReadOfARemovedCgroup(t *testing.T) {
	group := filepath.Join("/sys/fs/cgroup/memory", run.name, "goes")
	mkdirAll(t, group)
	f, err := os.Open(filepath.Join(group, "memory.limit_in_bytes"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // read only
	if err := os.Remove(group); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Read(make([]byte, 100)); !errors.Is(err, syscall.ENODEV) {
		t.Errorf("%v, want ENODEV", err)
	}
}
