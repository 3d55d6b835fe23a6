package e2e

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path"
	"strings"
	"sync"
	"testing"
	"time"
)

// An apiServer is the least that node-problem-detector needs of one: it has the node, and it writes down every condition
// that is patched into it and every event.
type apiServer struct {
	*httptest.Server
	mu       sync.Mutex
	statuses map[string][]string // of each condition, in the order of their patches
	changed  map[string][]string // lastTransitionTime of each patch
	events   [][]byte            // bodies of new events
	repeats  map[string]int      // patches of an event, by the path of its name: the same one again
}

func startAPIServer(t *testing.T) *apiServer {
	t.Helper()
	a := &apiServer{statuses: map[string][]string{}, changed: map[string][]string{}, repeats: map[string]int{}}
	a.Server = httptest.NewServer(http.HandlerFunc(a.serve))
	t.Cleanup(a.Close)
	return a
}

func (a *apiServer) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // what is cut does not parse
	a.mu.Lock()
	defer a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case strings.HasSuffix(r.URL.Path, "/events") && r.Method == http.MethodPost:
		a.events = append(a.events, body)
		w.WriteHeader(http.StatusCreated)
		writeEvent(w, eventName(len(a.events)-1))
	case strings.Contains(r.URL.Path, "/events/") && r.Method == http.MethodPatch:
		name := path.Base(r.URL.Path)
		a.repeats[name]++
		writeEvent(w, name)
	case r.Method == http.MethodPatch:
		a.patched(body)
		fallthrough
	default:
		_, _ = io.WriteString(w, `{"kind":"Node","apiVersion":"v1","metadata":{"name":"e2e"}}`)
	}
}

// eventName is under which the n-th event is kept: whoever sends it again patches that name.
func eventName(n int) string { return fmt.Sprintf("event-%d", n) }

func writeEvent(w io.Writer, name string) {
	_, _ = fmt.Fprintf(w, `{"kind":"Event","apiVersion":"v1","metadata":{"name":%q,"namespace":"default"}}`, name)
}

func (a *apiServer) patched(body []byte) {
	var patch struct {
		Status struct {
			Conditions []struct{ Type, Status, LastTransitionTime string }
		}
	}
	if json.Unmarshal(body, &patch) != nil {
		return
	}
	for _, c := range patch.Status.Conditions {
		a.statuses[c.Type] = append(a.statuses[c.Type], c.Status)
		a.changed[c.Type] = append(a.changed[c.Type], c.LastTransitionTime)
	}
}

// of gives the statuses of a condition so far, and how often its transition time moved.
func (a *apiServer) of(kind string) (statuses []string, moves int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	last := ""
	for _, at := range a.changed[kind] {
		if at != last {
			moves++
		}
		last = at
	}
	return append([]string(nil), a.statuses[kind]...), moves
}

// told counts the events, new and repeated, whose body has all the words. Their form is protobuf, which keeps text as it is.
func (a *apiServer) told(words ...string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for i, e := range a.events {
		all := true
		for _, w := range words {
			all = all && bytes.Contains(e, []byte(w))
		}
		if all {
			n += 1 + a.repeats[eventName(i)]
		}
	}
	return n
}

// toAPI makes a detector speak to the server, and log each run of a plugin.
func (a *apiServer) toAPI(cmd *exec.Cmd) {
	cmd.Args = append(cmd.Args, "-v=3")
	for i, arg := range cmd.Args {
		if strings.HasPrefix(arg, "--apiserver-override=") {
			cmd.Args[i] = "--apiserver-override=" + a.URL + "?inClusterConfig=false"
		}
	}
}

// steady can be made long enough for what repeats slowly, such as the detector's heartbeat every five minutes.
var steady = flag.Duration("steady", 34*time.Second, "how long TestEventsUnderNPD holds its fault")

// runs is how often the detector has run the rule of a reason, by its own log.
func (d *detector) runs(t *testing.T, reason string) int {
	t.Helper()
	n := 0
	for line := range strings.Lines(readFile(t, d.log)) {
		if strings.Contains(line, "Add check result") && strings.Contains(line, " Reason:"+reason+" ") {
			n++
		}
	}
	return n
}

// TestEventsUnderNPD: a steady fault is one event and one condition that does not move, also when node-problem-detector is
// restarted; after the cure the condition clears.
func TestEventsUnderNPD(t *testing.T) {
	useKubepods(t)
	n := newNode(t, containerd1, "events")
	p := n.kubePod("typo")
	n.likeKubelet(t, p, 1)
	a := startAPIServer(t)
	state := t.TempDir()
	start := func(t *testing.T) *detector {
		return startDetectorAs(t, func(cmd *exec.Cmd) { a.toAPI(cmd); inView(cmd, "") },
			shippedConfig(t, "sandbox-oom.json", t.TempDir(), "--runtime-endpoint", n.endpoint(), "--state-dir", state, "--oom-window", "20s"),
			shippedConfig(t, "sandbox-events.json", t.TempDir(), "--runtime-endpoint", n.endpoint(), "--state-dir", state))
	}
	step(t, "a steady fault is told once", func(t *testing.T) {
		d := start(t)
		n.mustKeepFailing(t, p, 2)
		d.mustTell(t, "PodSandboxStartOOM", "MemoryLimitKillsSandbox")
		tries := 0
		for began := time.Now(); time.Since(began) < *steady; tries++ {
			n.mustKeepFailing(t, p, 1)
		}
		events := a.told("PodStartOOMKilled", "default/"+p.name)
		statuses, moves := a.of("PodSandboxStartOOM")
		forEvents, forCondition := d.runs(t, "PodStartOOMKilled"), d.runs(t, "MemoryLimitKillsSandbox")
		t.Logf("steady for %s: %d sandboxes failed; %d runs for the event: the pod told %d times; "+
			"%d runs for the condition: %d patches %v with %d transition times",
			*steady, tries, forEvents, events, forCondition, len(statuses), statuses, moves)
		if forEvents < 2 || forCondition < 2 {
			t.Error("a rule ran less than twice: this proves nothing")
		}
		if events != 1 {
			t.Errorf("the pod is told %d times, want once", events)
		}
		if moves > 2 {
			t.Errorf("the transition time moved %d times: %v", moves, statuses)
		}
	})
	step(t, "a restart of the detector makes no False and no second event", func(t *testing.T) {
		before, _ := a.of("PodSandboxStartOOM")
		d := start(t)
		n.mustKeepFailing(t, p, 3)
		d.mustTell(t, "PodSandboxStartOOM", "MemoryLimitKillsSandbox")
		n.mustKeepFailing(t, p, 3)
		after, _ := a.of("PodSandboxStartOOM")
		if strings.Contains(strings.Join(after[len(before):], " "), "False") {
			t.Errorf("False after the restart: %v", after[len(before):])
		}
		if got := a.told("PodStartOOMKilled", "default/"+p.name); got != 1 {
			t.Errorf("%d events of the pod, want 1", got)
		}
		setMemoryLimit(t, p, 64*mib)
		n.run(t, p)
		d.mustBeWell(t, "PodSandboxStartOOM", "NoPodSandboxStartOOM")
		if !eventually(15*time.Second, func() bool {
			s, _ := a.of("PodSandboxStartOOM")
			return len(s) > 0 && s[len(s)-1] == "False"
		}) {
			t.Error("the node keeps the condition")
		}
	})
}
