package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// heartbeat is how often node-problem-detector sends its conditions when none of them changes.
const heartbeat = 5 * time.Minute

// A watcher writes down again and again what the API server says, and when a check was allowed to see nothing.
type watcher struct {
	*cluster
	halt   func()
	began  time.Time
	events map[string]string // those before, by uid

	mark   kernelMark
	kernel []string // the records since the mark that were read

	mu    sync.Mutex
	looks []look
	blind []span
}

// A look is what the API server said at a moment.
type look struct {
	began, ended time.Time
	conditions   map[string]nodeCondition // ours
	detector     []podLook
	pods         []podLook // those with a label app, but for the system's
	finished     []string  // Jobs
}

// podLook is a pod with one container.
type podLook struct {
	app, name, uid, container string
	ready                     bool
	restarts                  int
	states                    []string
}

func (p podLook) shows(states ...string) bool {
	return slices.ContainsFunc(states, func(s string) bool { return slices.Contains(p.states, s) })
}

type span struct{ from, to time.Time }

// watch begins with a look, so that what is compared with it was there before all that follows.
func (c *cluster) watch(t *testing.T) *watcher {
	t.Helper()
	w := &watcher{cluster: c, began: time.Now(), events: c.ourEventStates(t), mark: markKernelLog(t)}
	w.look()
	if len(w.looks) != 1 {
		t.Fatal("cannot look")
	}
	t.Logf("before the watch: %d events of ours", len(w.events))
	w.halt = eachSecond(t, w.look)
	return w
}

func (w *watcher) since(at time.Time) []look {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := slices.IndexFunc(w.looks, func(l look) bool { return !l.began.Before(at) })
	if first < 0 {
		return nil
	}
	return slices.Clone(w.looks[first:])
}

// maySeeNothing does what keeps the checks from looking. One that began just before its end gives up after its timeout of 10 s,
// and the next looks one interval later and may take as long.
func (w *watcher) maySeeNothing(do func()) {
	from := time.Now()
	do()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.blind = append(w.blind, span{from, time.Now().Add(*interval + 20*time.Second)})
}

// mustHaveBeenSilent: in looks that were many enough no condition was True, Unknown or moved but where that is allowed; there
// is no new event and no old one told again; and one detector was there all the time.
func (w *watcher) mustHaveBeenSilent(t *testing.T) {
	t.Helper()
	w.halt()
	took := time.Since(w.began)
	t.Logf("%d looks in %s", len(w.looks), took.Round(time.Second))
	if want := int(took / (5 * time.Second)); len(w.looks) < want {
		t.Errorf("only %d looks in %s, want %d: this proves nothing", len(w.looks), took, want)
	}
	for _, fault := range w.faults() {
		t.Error(fault)
	}
	t.Logf("the conditions were %s", strings.Join(w.statuses(), ", "))
	for uid, state := range w.ourEventStates(t) {
		if w.events[uid] != state {
			t.Errorf("an event of ours: %s (before the watch: %q)\n%s", state, w.events[uid], w.do(t, "get", "pods", "-A"))
		}
	}
}

// faults is what the looks show and must not.
func (w *watcher) faults() []string {
	var found []string
	complain := func(format string, args ...any) {
		if fault := fmt.Sprintf(format, args...); !slices.Contains(found, fault) {
			found = append(found, fault)
		}
	}
	for _, l := range w.looks {
		if len(l.conditions) != len(ourConditions) {
			complain("the node has %d conditions of ours", len(l.conditions))
		}
		for kind, k := range l.conditions {
			is := fmt.Sprintf("%s: %s since %s: %s", kind, k.Status, k.LastTransitionTime.Local().Format(time.TimeOnly), k.Message)
			if k.Status == "True" || k.Status == "Unknown" && !w.allowed(l.began, l.ended) {
				complain("%s", is)
			}
			// The API server has whole seconds.
			if moved := k.LastTransitionTime; moved.After(w.began) && !w.allowed(moved, moved.Add(time.Second)) {
				complain("moved: %s", is)
			}
			if l.began.Sub(k.LastHeartbeatTime) > heartbeat+30*time.Second {
				complain("%s: no heartbeat since %s", kind, k.LastHeartbeatTime.Local().Format(time.TimeOnly))
			}
		}
		if len(l.detector) != 1 {
			complain("%d detectors", len(l.detector))
		} else if is, was := l.detector[0], w.looks[0].detector[0]; is.uid != was.uid || is.container != was.container || is.restarts != was.restarts {
			complain("the detector was %+v and is %+v", was, is)
		}
	}
	if last := w.looks[len(w.looks)-1].detector; len(last) != 1 || !last[0].ready {
		complain("the detector is not ready: %+v", last)
	}
	return found
}

// statuses are all that the conditions had, each once.
func (w *watcher) statuses() []string {
	var all []string
	for _, l := range w.looks {
		for kind, k := range l.conditions {
			all = append(all, fmt.Sprintf("%s %s since %s", kind, k.Status, k.LastTransitionTime.Local().Format(time.TimeOnly)))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// allowed says whether a part of this time is one in which a check may see nothing.
func (w *watcher) allowed(from, to time.Time) bool {
	return slices.ContainsFunc(w.blind, func(s span) bool { return from.Before(s.to) && to.After(s.from) })
}

// ourEventStates are the events of ours by uid, each with all that changes when it is told again.
func (c *cluster) ourEventStates(t *testing.T) map[string]string {
	t.Helper()
	turns := slices.Collect(maps.Values(reasons)) // of the events by which node-problem-detector tells that a condition turned True
	states := map[string]string{}
	for _, e := range c.eventsOfNode(t) {
		if slices.Contains(ourEvents, e.Reason) || slices.Contains(turns, e.Reason) {
			states[e.Metadata.UID] = fmt.Sprintf("%s %d times from %s to %s %d: %s", e.Reason, e.Count, e.FirstTimestamp, e.LastTimestamp, e.Series.Count, e.Message)
		}
	}
	return states
}

// look asks once for everything. What cannot be asked is no look.
func (w *watcher) look() {
	l := look{began: time.Now(), conditions: map[string]nodeCondition{}}
	out, err := w.tryKubectl("", "get", "nodes,pods,jobs", "--all-namespaces", "-o", "json")
	var all struct{ Items []watchedObject }
	if err != nil || json.Unmarshal([]byte(out), &all) != nil {
		return
	}
	l.ended = time.Now()
	for _, o := range all.Items {
		l.add(o)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looks = append(w.looks, l)
}

// watchedObject is a node, a pod or a Job.
type watchedObject struct {
	Kind     string
	Metadata struct {
		Name, Namespace, UID string
		Labels               map[string]string
	}
	Status struct {
		Conditions        []nodeCondition
		ContainerStatuses []struct {
			ContainerID      string
			Ready            bool
			RestartCount     int
			State, LastState map[string]containerState
		}
	}
}

type containerState struct {
	Reason   string
	ExitCode int
}

func (l *look) add(o watchedObject) {
	app := o.Metadata.Labels["app"]
	switch {
	case o.Kind == "Node":
		for _, k := range o.Status.Conditions {
			if _, ours := ourConditions[k.Type]; ours {
				l.conditions[k.Type] = k
			}
		}
	case o.Kind == "Job":
		if slices.ContainsFunc(o.Status.Conditions, func(k nodeCondition) bool { return k.Type == "Complete" && k.Status == "True" }) {
			l.finished = append(l.finished, o.Metadata.Name)
		}
	case o.Metadata.Namespace == "kube-system" && app == "node-problem-detector":
		l.detector = append(l.detector, o.pod(app))
	case o.Metadata.Namespace == "default" && app != "":
		l.pods = append(l.pods, o.pod(app))
	}
}

// pod puts what its container is, and why, among its states: "waiting" and "ImagePullBackOff", "running", "terminated",
// "OOMKilled" and "137". How it ended the last time counts as well.
func (o watchedObject) pod(app string) podLook {
	p := podLook{app: app, name: o.Metadata.Name, uid: o.Metadata.UID}
	for _, s := range o.Status.ContainerStatuses {
		p.container, p.ready, p.restarts = s.ContainerID, s.Ready, s.RestartCount
		for _, states := range []map[string]containerState{s.State, s.LastState} {
			for is, why := range states {
				p.states = append(p.states, strings.Fields(is+" "+why.Reason)...)
				if why.ExitCode != 0 {
					p.states = append(p.states, fmt.Sprint(why.ExitCode))
				}
			}
		}
	}
	return p
}
