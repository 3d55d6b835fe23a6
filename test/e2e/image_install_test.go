package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sandbox-checker/test/e2e/internal/build"
)

// productImage is what deploy/image makes of the product.
const productImage = "localhost/sandbox-checker:e2e"

// An installer is the init container of deploy/kustomize, but for what a case sets: no file of its image can be written.
type installer struct {
	user   int
	target string // the emptyDir, on the node
	args   []string
}

func (i installer) config(attempt int) map[string]any {
	config := pod{name: "install", hostNetwork: true}.container(attempt)
	config["image"] = map[string]any{"image": productImage}
	config["args"] = i.args
	config["mounts"] = []map[string]any{{"container_path": "/opt/sandbox-checker", "host_path": i.target}}
	config["linux"] = map[string]any{"security_context": map[string]any{
		"namespace_options": pod{}.namespaces(), "readonly_rootfs": true, "no_new_privs": true,
		"run_as_user":  map[string]any{"value": i.user},
		"capabilities": map[string]any{"drop_capabilities": []string{"ALL"}},
	}}
	return config
}

// install runs the image as the next container of the pod, and gives its line and its exit status.
func (n *node) install(t testing.TB, sandbox string, attempt int, i installer) (string, int) {
	t.Helper()
	p := pod{name: "install", hostNetwork: true}
	mkdirAll(t, filepath.Join(p.logs(n), "main"))
	id := n.do(t, "create", sandbox, n.jsonFile(t, "container-install", i.config(attempt)), n.jsonFile(t, "pod-install", p.config(n)))
	n.do(t, "start", id)
	var s struct {
		Status struct {
			State    string
			ExitCode int
		}
	}
	if !eventually(30*time.Second, func() bool {
		return json.Unmarshal([]byte(n.do(t, "inspect", "-o", "json", id)), &s) == nil && s.Status.State == "CONTAINER_EXITED"
	}) {
		t.Fatalf("it does not end: %+v", s)
	}
	// A line of the log is time, stream, whether the line is whole, text. crictl logs would give one stream only.
	_, text, _ := strings.Cut(strings.TrimSpace(readFile(t, filepath.Join(p.logs(n), "main", fmt.Sprintf("%d.log", attempt)))), " ")
	return text, s.Status.ExitCode
}

// TestImageInstalls: the image that deploy/image makes, in a container whose root is read-only, puts the program into an
// emptyDir: once, again, and while NPD runs the old one.
func TestImageInstalls(t *testing.T) {
	onEachFlavour(t, func(t *testing.T, f flavour) {
		n := newNode(t, f, "image")
		archive := filepath.Join(n.dir, "sandbox-checker.tar")
		program := built(t, buildChecker)
		if err := build.Image(repository, archive, productImage, program); err != nil {
			t.Fatal(err)
		}
		n.importArchive(t, productImage, archive)
		sandbox := n.run(t, pod{name: "install", hostNetwork: true})

		i := installer{user: 65532, target: filepath.Join(n.dir, "emptydir"), args: []string{"install", "/opt/sandbox-checker"}}
		mkdirAll(t, i.target)
		if err := os.Chmod(i.target, 0o777); err != nil { // as the kubelet makes an emptyDir
			t.Fatal(err)
		}
		installed := filepath.Join(i.target, "sandbox-checker")
		for attempt := range 2 {
			n.installs(t, sandbox, attempt, i)
			sameProgram(t, installed, program)
		}
		old := runStopped(t, n, installed)
		n.installs(t, sandbox, 2, i)
		sameProgram(t, installed, program)
		if exe, err := os.Readlink(old); err != nil || exe != installed+" (deleted)" {
			t.Errorf("the old program runs as %q, %v", exe, err)
		}

		// Beside the emptyDir nothing can be written, by root neither.
		i.user, i.args = 0, []string{"install", "/elsewhere"}
		if text, exit := n.install(t, sandbox, 3, i); exit != 2 || !strings.Contains(text, "read-only file system") {
			t.Errorf("into the image's root: exit %d: %s", exit, text)
		}
	})
}

// installs holds a run to the one line of a success.
func (n *node) installs(t testing.TB, sandbox string, attempt int, i installer) {
	t.Helper()
	if text, exit := n.install(t, sandbox, attempt, i); exit != 0 || text != "stdout F installed /opt/sandbox-checker/sandbox-checker" {
		t.Fatalf("exit %d: %s", exit, text)
	}
}

// sameProgram: the directory holds the program, whole, executable for all, and nothing beside it.
func sameProgram(t testing.TB, installed, program string) {
	t.Helper()
	if readFile(t, installed) != readFile(t, program) {
		t.Error("it is not the program of the image")
	}
	info, err := os.Stat(installed)
	if err != nil || info.Mode() != 0o755 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	entries, err := os.ReadDir(filepath.Dir(installed))
	if err != nil || len(entries) != 1 {
		t.Errorf("beside it: %v, %v", entries, err)
	}
}

// runStopped starts the installed program against a silent socket and stops it, so that it is still running whenever the new
// one comes. It gives the path of its exe.
func runStopped(t testing.TB, n *node, installed string) string {
	t.Helper()
	socket := filepath.Join(n.dir, "silent.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	cmd := exec.Command(installed, "check", "stale-created", "-r", "unix://"+socket)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed is how it ends
	})
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	// The case is real: to write into a running program is refused.
	if f, err := os.OpenFile(installed, os.O_WRONLY, 0); !errors.Is(err, syscall.ETXTBSY) {
		_ = f.Close()
		t.Fatalf("open for writing: %v, want text file busy", err)
	}
	return fmt.Sprintf("/proc/%d/exe", cmd.Process.Pid)
}
