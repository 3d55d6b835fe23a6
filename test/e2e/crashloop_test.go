package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// loopFlags let a loop show within seconds.
func (n *node) loopFlags(stateDir string) []string {
	return []string{"--runtime-endpoint", n.endpoint(), "--state-dir", stateDir,
		"--start-grace", "1s", "--boot-grace", "1s", "--settle", "1s"}
}

func (n *node) checkLoop(t *testing.T, w want, stateDir string, flags ...string) answer {
	t.Helper()
	args := append(append([]string{"check", "sandbox-crashloop"}, n.loopFlags(stateDir)...), flags...)
	return judge(t, w, "sandbox-crashloop", askInView(t, "", args...))
}

// TestSandboxCrashLoop makes pods fail as the kubelet would see them fail: pause dies, the CNI refuses, the pod's own limit
// kills, the image is gone. The kubelet's part, the log directory and the pod's cgroup, is done by hand.
func TestSandboxCrashLoop(t *testing.T) {
	useKubepods(t)
	inTurn(t, everyFlavour, func(t *testing.T, f flavour) {
		n := newNode(t, f, "loop", pausing)
		n.checkLoop(t, want{exit: 0}, t.TempDir())
		t.Run("pause killed six times", func(t *testing.T) { n.testPauseDies(t, n.kubePod("dies")) })
		t.Run("pause killed, old sandboxes collected", func(t *testing.T) { n.testPauseDiesUnseen(t, n.kubePod("unseen")) })
		t.Run("own limit", func(t *testing.T) { n.testOwnLimit(t, n.kubePod("typo")) })
		for _, del := range []string{"exit 0", "exit 1"} {
			t.Run("CNI refuses, DEL "+del, func(t *testing.T) {
				n.testCNIRefuses(t, n.kubePod("cni-a-"+del[5:]), n.kubePod("cni-b-"+del[5:]), del)
			})
		}
		t.Run("every pod steps once", func(t *testing.T) { n.testStepOnce(t) })
		t.Run("power cut with a broken CNI", func(t *testing.T) { n.testNeverCameBack(t) })
		t.Run("image gone", func(t *testing.T) { n.testImageGone(t, n.kubePod("image-a"), n.kubePod("image-b")) })
	})
}

// killPause kills the one process of a sandbox.
func (n *node) killPause(t *testing.T, sandbox string) {
	t.Helper()
	pid, err := strconv.Atoi(n.do(t, "inspectp", "-o", "go-template", "--template", "{{.info.pid}}", sandbox))
	if err != nil || pid < 2 {
		t.Fatalf("no pid of sandbox %s: %v", sandbox, err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	dead := func() bool { return strings.Contains(n.do(t, "inspectp", sandbox), "SANDBOX_NOTREADY") }
	if !eventually(10*time.Second, dead) {
		t.Fatalf("sandbox %s lives on without its process", sandbox)
	}
}

// testPauseDies: one pod of unknown cause is nobody's condition; with --min-pods 1 it is.
func (n *node) testPauseDies(t *testing.T, p pod) {
	state := t.TempDir()
	n.checkLoop(t, want{exit: 0}, state) // it saw nothing
	n.likeKubelet(t, p, 0)
	defer n.forget(p)
	for range 6 {
		n.killPause(t, n.run(t, p))
		p.attempt++
	}
	n.run(t, p)
	n.checkLoop(t, want{exit: 0}, state)
	n.checkLoop(t, want{1, []string{"default/" + p.name, "keep dying"}}, state, "--min-pods", "1")
	n.checkLoop(t, want{1, []string{"default/" + p.name}}, t.TempDir(), "--min-pods", "1") // from a single look
}

// testPauseDiesUnseen: the kubelet removes dead sandboxes within a minute, so only the history has them all.
func (n *node) testPauseDiesUnseen(t *testing.T, p pod) {
	state := t.TempDir()
	n.likeKubelet(t, p, 0)
	defer n.forget(p)
	for i := range 5 {
		sandbox := n.run(t, p)
		w := want{exit: 0}
		if i >= 3 { // the first one does not count: the fourth sandbox is the third new one
			w = want{1, []string{"default/" + p.name}}
		}
		n.checkLoop(t, w, state, "--min-pods", "1")
		n.killPause(t, sandbox)
		n.do(t, "rmp", "-f", sandbox)
		p.attempt++
	}
}

// testOwnLimit: no node is to blame, so the condition stays False; the event rule speaks once.
func (n *node) testOwnLimit(t *testing.T, p pod) {
	state := t.TempDir()
	n.likeKubelet(t, p, 1)
	defer n.forget(p)
	n.mustKeepFailing(t, p, 3)
	n.checkLoop(t, want{exit: 0}, state)
	n.checkLoop(t, want{1, []string{"default/" + p.name, "below one page", unitHint}}, state, "--new")
	n.checkLoop(t, want{exit: 0}, state, "--new")
}

// refusingPlugin is a CNI plugin that fails as flannel does without its file.
func refusingPlugin(del string) string {
	return "#!/bin/sh\n[ \"$CNI_COMMAND\" = DEL ] && " + del + "\n" + tellsVersions +
		`echo '{"code": 100, "msg": "open subnet.env: no such file or directory"}'; exit 1` + "\n"
}

func (n *node) breakCNI(t *testing.T, del string) (subnetFile string) {
	t.Helper()
	subnetFile = filepath.Join(n.dir, "subnet.env")
	if err := os.WriteFile(n.plugin("flannel"), []byte(refusingPlugin(del)), 0o755); err != nil {
		t.Fatal(err)
	}
	n.emptyConfDir(t)
	n.writeConf(t, "10-pods.conflist", conflist(map[string]any{"type": "flannel", "subnetFile": subnetFile}))
	if !eventually(5*time.Second, func() bool { return n.networkReady(t) }) {
		t.Fatal("the runtime does not see the configuration")
	}
	time.Sleep(settled)
	return subnetFile
}

// testCNIRefuses: two pods, one cause, and on containerd 2 CRI lists nothing of them.
func (n *node) testCNIRefuses(t *testing.T, a, b pod, del string) {
	file := n.breakCNI(t, del)
	defer n.healNetwork(t)
	for _, p := range []pod{a, b} {
		n.likeKubelet(t, p, 0)
		defer n.forget(p)
		if _, err := n.tryRun(t, p); err == nil {
			t.Fatal("the sandbox starts")
		}
	}
	time.Sleep(settled)
	n.checkLoop(t, want{1, []string{"default/" + a.name, "and 1 more", file, "missing"}}, t.TempDir())
	// Mended before they are forgotten: a DEL that fails keeps a sandbox for ever.
	if err := os.WriteFile(n.plugin("flannel"), []byte("#!/bin/sh\nexit 0\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// testStepOnce: a restart that kills all sandboxes makes each pod step to its next attempt, once.
func (n *node) testStepOnce(t *testing.T) {
	state := t.TempDir()
	var pods []pod
	count := 20
	if n.flavour.name == crio.name {
		count = 8 // conmon takes its time
	}
	for i := range count {
		p := n.kubePod(fmt.Sprintf("step-%d", i))
		n.likeKubelet(t, p, 0)
		defer n.forget(p)
		n.run(t, p)
		pods = append(pods, p)
	}
	n.checkLoop(t, want{exit: 0}, state)
	n.restart(t)
	for _, p := range pods {
		n.killPause(t, n.sandboxesOf(p)[0])
		p.attempt++
		n.run(t, p)
	}
	n.checkLoop(t, want{exit: 0}, state, "--min-pods", "1")
	n.checkLoop(t, want{exit: 0}, t.TempDir(), "--min-pods", "1")
}

// testNeverCameBack: two pods ran before the power cut and cannot come back; a third on the node's network has no sandbox
// for another reason, which the CNI cannot be.
func (n *node) testNeverCameBack(t *testing.T) {
	pods := []pod{n.kubePod("back-a"), n.kubePod("back-b")}
	onHost := n.kubePod("back-host")
	onHost.hostNetwork = true
	if n.flavour.name != crio.name { // it lists nothing after the cut, so nobody can tell that one apart
		pods = append(pods, onHost)
	}
	for _, p := range pods {
		n.likeKubelet(t, p, 0)
		defer n.forget(p)
		n.do(t, "start", n.create(t, n.run(t, p), p, 0))
	}
	n.powerCut(t)
	n.start(t)
	file := n.breakCNI(t, "exit 0")
	defer n.healNetwork(t)
	for _, p := range pods {
		n.likeKubelet(t, p, 0) // after the boot the kubelet makes the pods' cgroups anew
	}
	time.Sleep(settled)
	state := t.TempDir()
	askInView(t, "", append([]string{"check", "sandbox-crashloop"}, n.loopFlags(state)...)...) // CRI-O lists nothing: since when, only a second look tells
	time.Sleep(settled)
	told := n.checkLoop(t, want{1, []string{"default/" + pods[0].name, file, "missing"}}, state)
	if strings.Contains(told.line, onHost.name) || !strings.Contains(told.line, pods[1].name) {
		t.Errorf("want %s and %s named, and not %s: %s", pods[0].name, pods[1].name, onHost.name, told.line)
	}
}

// testImageGone: nobody can pull it here, as on a node whose registry is away.
func (n *node) testImageGone(t *testing.T, a, b pod) {
	if n.flavour.name != crio.name { // it tells the image's name of itself, and keeps an image that a sandbox has
		other := n.kubePod("image-other") // of this one's status containerd 2 tells the image's name
		n.likeKubelet(t, other, 0)
		defer n.forget(other)
		n.run(t, other)
	}
	n.do(t, "rmi", pauseImage)
	defer n.importImage(t)
	for _, p := range []pod{a, b} {
		n.likeKubelet(t, p, 0)
		defer n.forget(p)
		if _, err := n.tryRun(t, p); err == nil {
			t.Fatal("the sandbox starts without its image")
		}
	}
	time.Sleep(settled)
	n.checkLoop(t, want{1, []string{"default/" + a.name, "and 1 more", "sandbox image", "gone"}}, t.TempDir())
}
