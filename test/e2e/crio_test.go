package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sandbox-checker/test/e2e/internal/build"
)

// crio is CRI-O with runc. Its pods have no pause process unless a test asks for one: that is its default.
var crio = flavour{
	name: "crio", title: "CRI-O", version: "1.34.", programs: buildCRIO, config: configCRIO, prepare: prepareCRIO,
	command: func(n *node) *exec.Cmd { return n.program("crio", "-c", n.configFile(), "-d", "") },
	load:    copyImage,
	memory:  []string{"run", "runroot"},
}

// copyImage keeps to itself what is otherwise written below /var/lib/containers, a place with no flag of its own.
func copyImage(n *node, image, archive string) *exec.Cmd {
	copyimg := n.program("copyimg", "--root", n.dir+"/root", "--runroot", n.dir+"/runroot", "--storage-driver", "overlay",
		"--signature-policy", n.trustFile(), "--image-name", image, "--import-from", "oci-archive:"+archive)
	args := append([]string{"sh", "-c", `mount --bind "$0" /var/lib && exec "$@"`, n.dir + "/lib", copyimg.Path}, copyimg.Args[1:]...)
	copyimg.Path, copyimg.Args = "/bin/sh", args
	copyimg.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	return copyimg
}

// pausing makes CRI-O run a pause process in each sandbox, as containerd does.
func pausing(n *node) { n.pausing = true }

// trustFile is CRI-O's policy.json: without one it takes no image.
func (n *node) trustFile() string { return filepath.Join(n.dir, "policy.json") }

// lowerNothing stands before runc: CRI-O gives pause an oom_score_adj of -998 and has no switch against it, as containerd
// has. In a container that may not lower it, runc fails.
const lowerNothing = `#!/bin/sh
want=
for word; do
	case "$want" in --bundle | -b) sed -i -E 's/"oomScoreAdj": *-[0-9]+/"oomScoreAdj":0/' "$word/config.json" ;; esac
	want=$word
done
exec /usr/sbin/runc "$@"
`

// prepareCRIO makes what CRI-O wants to find.
func prepareCRIO(t testing.TB, n *node) {
	t.Helper()
	mkdirAll(t, filepath.Join(n.dir, "hooks"))
	mkdirAll(t, filepath.Join(n.dir, "lib"))
	writeFile(t, n.trustFile(), `{"default":[{"type":"insecureAcceptAnything"}]}`)
	if err := os.WriteFile(filepath.Join(n.dir, "runc-here"), []byte(lowerNothing), 0o755); err != nil {
		t.Fatal(err)
	}
}

// configCRIO keeps everything below our directory that has a default elsewhere.
func configCRIO(n *node) string {
	return fmt.Sprintf(`[crio]
root = "%[1]s/root"
runroot = "%[1]s/runroot"
storage_driver = "overlay"
log_dir = "%[1]s/logs"
version_file = "%[1]s/run/version"
version_file_persist = "%[1]s/lib/version"
clean_shutdown_file = "%[1]s/lib/clean.shutdown"
[crio.api]
listen = "%[1]s/cri.sock"
[crio.runtime]
default_runtime = "runc"
drop_infra_ctr = %[3]t
cgroup_manager = "cgroupfs"
conmon_cgroup = "pod"
container_exits_dir = "%[1]s/run/exits"
container_attach_socket_dir = "%[1]s/run"
namespaces_dir = "%[1]s/run"
pinns_path = "%[2]s/pinns"
hooks_dir = ["%[1]s/hooks"]
irqbalance_config_restore_file = "disable"
selinux = false
apparmor_profile = "unconfined"
[crio.runtime.runtimes.runc]
runtime_path = "%[1]s/runc-here"
runtime_root = "%[1]s/run/runc"
monitor_path = "/usr/bin/conmon"
monitor_cgroup = "pod"
[crio.runtime.runtimes.crun]
runtime_path = "%[1]s/no-crun"
[crio.image]
pause_image = "%[4]s"
pause_command = "/pause"
signature_policy = "%[1]s/policy.json"
signature_policy_dir = "%[1]s/policies"
[crio.network]
network_dir = "%[1]s/net.d"
plugin_dirs = ["%[1]s/bin", "%[1]s/bin2"]
[crio.nri]
enable_nri = false
`, n.dir, n.programs, !n.pausing, pauseImage)
}

const crioModule = "programs/crio"

// compileCRIO gives the directory of CRI-O, the program that puts images into its store, and pinns, which is written in C.
func compileCRIO() (string, error) {
	const dir = "crio"
	out := filepath.Join(run.dir, "bin", dir)
	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", err
	}
	for _, pkg := range []string{"cmd/crio", "test/copyimg"} {
		p := program{
			name:   filepath.Join(dir, filepath.Base(pkg)),
			module: crioModule,
			pkg:    "github.com/cri-o/cri-o/" + pkg,
			tags:   "containers_image_ostree_stub,containers_image_openpgp,exclude_graphdriver_btrfs,seccomp",
			cgo:    true,
			flags:  []string{"-trimpath"},
		}
		if _, err := p.build(); err != nil {
			return "", err
		}
	}
	list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/cri-o/cri-o")
	list.Dir = crioModule
	module, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("find the source of pinns: %w", err)
	}
	source := filepath.Join(strings.TrimSpace(string(module)), "pinns/src")
	gcc := exec.Command("gcc", "-std=c99", "-Os", "-static", "-o", filepath.Join(out, "pinns"),
		filepath.Join(source, "pinns.c"), filepath.Join(source, "sysctl.c"))
	return out, build.Timed("pinns", gcc)
}
