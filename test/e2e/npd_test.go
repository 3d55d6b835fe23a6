package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sandbox-checker/test/e2e/internal/loopback"
)

// A detector is a real node-problem-detector. Its API server is an address where nobody listens: it then keeps the
// conditions in memory and shows them on its own port.
type detector struct {
	conditions string // URL
	log        string
	last       string // what it last said
}

// shown is one condition as the detector shows it.
type shown struct{ Type, Status, Reason, Message string }

func startDetector(t *testing.T, configs ...string) *detector {
	t.Helper()
	return startDetectorAs(t, func(cmd *exec.Cmd) {}, configs...)
}

// startDetectorAs lets the command be changed before it runs.
func startDetectorAs(t *testing.T, change func(*exec.Cmd), configs ...string) *detector {
	t.Helper()
	port := loopback.FreePort(t)
	d := &detector{
		conditions: fmt.Sprintf("http://127.0.0.1:%d/conditions", port),
		log:        filepath.Join(t.TempDir(), "npd.log"),
	}
	cmd := exec.Command(built(t, buildNPD),
		"--logtostderr",
		"--config.custom-plugin-monitor="+strings.Join(configs, ","),
		"--apiserver-override=http://127.0.0.1:1?inClusterConfig=false",
		"--apiserver-wait-timeout=1s", "--apiserver-wait-interval=500ms",
		"--port="+strconv.Itoa(port), "--prometheus-port=0")
	cmd.Env = append(os.Environ(), "NODE_NAME=e2e")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	change(cmd)
	log, err := os.Create(d.log)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.stop(t, cmd, log) })
	return d
}

func (d *detector) stop(t *testing.T, cmd *exec.Cmd, log *os.File) {
	_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself: then the test has failed already
	killer := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
	defer killer.Stop()
	_ = cmd.Wait()
	_ = log.Close()
	if t.Failed() {
		t.Logf("the end of node-problem-detector's log:\n%s", tail(d.log, 4000))
	}
}

// waitFor waits until a condition is as wanted, and gives it.
func (d *detector) waitFor(t *testing.T, kind, status string) shown {
	t.Helper()
	var found shown
	// Three rounds, the detector's own second, and a busy machine.
	if !eventually(15*time.Second, func() bool { found = d.condition(kind); return found.Status == status }) {
		t.Fatalf("%s is not %s: %s", kind, status, d.last)
	}
	t.Logf("%s is %s: %s: %s", found.Type, found.Status, found.Reason, found.Message)
	return found
}

// condition gives the zero value while there is none.
func (d *detector) condition(kind string) shown {
	for _, c := range d.all() {
		if c.Type == kind {
			return c
		}
	}
	return shown{}
}

func (d *detector) all() []shown {
	response, err := http.Get(d.conditions)
	if err != nil {
		d.last = err.Error()
		return nil
	}
	defer func() { _ = response.Body.Close() }() // read only
	var conditions []shown
	var text json.RawMessage
	if err := json.NewDecoder(response.Body).Decode(&text); err != nil {
		d.last = err.Error()
		return nil
	}
	d.last = string(text)
	if err := json.Unmarshal(text, &conditions); err != nil {
		d.last = err.Error()
	}
	return conditions
}

// TestNodeProblemDetector takes the shipped configurations through fault and cure, as an operator sees them.
func TestNodeProblemDetector(t *testing.T) {
	n := newNode(t, containerd1, "npd")
	endpoint := []string{"--runtime-endpoint", n.endpoint(), "--state-dir", n.history()}
	d := startDetector(t,
		shippedConfig(t, "stale-created.json", n.dir, append(endpoint, soon...)...),
		shippedConfig(t, "cni-config.json", n.dir, append(endpoint, quick...)...))

	step(t, "both conditions are False on a healthy node", func(t *testing.T) {
		d.mustBeWell(t, "StaleCreatedContainer", "NoStaleCreatedContainer")
		d.mustBeWell(t, "CNIConfigProblem", "NoCNIConfigProblem")
	})
	waits := pod{name: "k7q2x"}
	var stale string
	step(t, "a power cut makes StaleCreatedContainer True", func(t *testing.T) {
		stale = n.create(t, n.run(t, waits), waits, 0)
		n.powerCut(t)
		n.start(t)
		told := d.mustTell(t, "StaleCreatedContainer", "ContainerNeverStarted")
		mustBeLine(t, told, n.checkStale(t, lostSandbox))
	})
	step(t, "RemoveContainer makes it False", func(t *testing.T) {
		n.do(t, "rm", stale)
		d.mustBeWell(t, "StaleCreatedContainer", "NoStaleCreatedContainer")
	})
	step(t, "an empty directory makes CNIConfigProblem True", func(t *testing.T) {
		n.emptyConfDir(t)
		told := d.mustTell(t, "CNIConfigProblem", "PodNetworkSetupWouldFail")
		mustBeLine(t, told, n.checkNetwork(t, want{exit: 1}))
	})
	step(t, "a configuration makes it False", func(t *testing.T) {
		n.writeConf(t, "10-pods.conflist", bridgeConf())
		d.mustBeWell(t, "CNIConfigProblem", "NoCNIConfigProblem")
	})
}

func (d *detector) mustBeWell(t *testing.T, kind, reason string) {
	t.Helper()
	if got := d.waitFor(t, kind, "False"); got.Reason != reason {
		t.Errorf("reason %s, want %s", got.Reason, reason)
	}
}

// mustTell gives the message that the operator reads.
func (d *detector) mustTell(t *testing.T, kind, reason string) string {
	t.Helper()
	got := d.waitFor(t, kind, "True")
	if got.Reason != reason {
		t.Errorf("reason %s, want %s", got.Reason, reason)
	}
	return got.Message
}

// mustBeLine: the message is the very line that the plugin prints, nothing cut off and nothing escaped.
func mustBeLine(t *testing.T, message string, a answer) {
	t.Helper()
	if line := strings.TrimSpace(a.line); message != line {
		t.Errorf("the message is\n%s\nthe line is\n%s", message, line)
	}
}
