package e2e

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

func (c *cluster) tryKubectl(stdin string, args ...string) (string, error) {
	return c.try(stdin, append([]string{c.kubectl}, args...)...)
}

// do asks as an administrator would, and ends the test when that is refused.
func (c *cluster) do(t *testing.T, args ...string) string {
	t.Helper()
	return c.onNode(t, append([]string{c.kubectl}, args...)...)
}

func (c *cluster) apply(t *testing.T, manifest string) {
	t.Helper()
	if _, err := c.tryKubectl(manifest, "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
}

// nodeCondition is one of the node's conditions, as everybody reads it.
type nodeCondition struct {
	Type, Status, Reason, Message         string
	LastTransitionTime, LastHeartbeatTime time.Time
}

func (c *cluster) conditions() map[string]nodeCondition {
	var node struct {
		Status struct{ Conditions []nodeCondition }
	}
	out, err := c.tryKubectl("", "get", "node", nodeName, "-o", "json")
	if err != nil || json.Unmarshal([]byte(out), &node) != nil {
		return nil // not there yet
	}
	all := map[string]nodeCondition{}
	for _, k := range node.Status.Conditions {
		all[k.Type] = k
	}
	return all
}

// waitNode waits for a condition and says how long it took.
func (c *cluster) waitNode(t *testing.T, kind, status string) nodeCondition {
	t.Helper()
	return c.waitNodeFor(t, 3*time.Minute+4**interval, kind, status)
}

func (c *cluster) waitNodeFor(t *testing.T, within time.Duration, kind, status string) nodeCondition {
	t.Helper()
	return c.waitNodeUntil(t, within, kind, status, func(nodeCondition) bool { return true })
}

// waitNodeAnew waits for a status that came after the last boot: the API server still has those from before a power cut.
func (c *cluster) waitNodeAnew(t *testing.T, within time.Duration, kind, status string) nodeCondition {
	t.Helper()
	return c.waitNodeUntil(t, within, kind, status, func(k nodeCondition) bool { return k.LastTransitionTime.After(c.booted) })
}

func (c *cluster) waitNodeUntil(t *testing.T, within time.Duration, kind, status string, is func(nodeCondition) bool) nodeCondition {
	t.Helper()
	began := time.Now()
	var got nodeCondition
	if !eventuallyEach(within, time.Second, func() bool { got = c.conditions()[kind]; return got.Status == status && is(got) }) {
		t.Fatalf("%s is not %s after %s: %+v", kind, status, within, got)
	}
	took := time.Since(began)
	t.Logf("%s is %s after %s (%.1f intervals): %s: %s", kind, status, took.Round(time.Second), took.Seconds()/interval.Seconds(), got.Reason, got.Message)
	return got
}

// podIs gives the phase of a pod, and why it waits.
func (c *cluster) podIs(name string) string {
	out, _ := c.tryKubectl("", "get", "pod", name, "-o",
		"jsonpath={.status.phase} {.status.containerStatuses[*].state.waiting.reason}")
	return strings.TrimSpace(out)
}

func (c *cluster) waitPod(t *testing.T, name, is string) {
	t.Helper()
	last := ""
	if !eventuallyEach(3*time.Minute, time.Second, func() bool { last = c.podIs(name); return strings.HasPrefix(last, is) }) {
		t.Fatalf("pod %s is not %s but %s\n%s", name, is, last, c.do(t, "get", "events", "--field-selector", "involvedObject.name="+name))
	}
}

// podsOf gives the names of the pods with a label.
func (c *cluster) podsOf(t *testing.T, label string) []string {
	t.Helper()
	return strings.Fields(c.do(t, "get", "pods", "-l", label, "-o", "jsonpath={.items[*].metadata.name}"))
}

func (c *cluster) waitPodsOf(t *testing.T, label string, n int) []string {
	t.Helper()
	var names []string
	if !eventuallyEach(time.Minute, time.Second, func() bool { names = c.podsOf(t, label); return len(names) == n }) {
		t.Fatalf("%d pods with %s, want %d", len(names), label, n)
	}
	return names
}

// nodeEvents are ours on the node: those with one of our reasons. One that was told twice stands there twice, though the API
// server keeps it as one object with a count.
func (c *cluster) nodeEvents(t *testing.T, reasons ...string) []string {
	t.Helper()
	var found []string
	for _, e := range c.eventsOfNode(t) {
		if slices.Contains(reasons, e.Reason) {
			found = append(found, slices.Repeat([]string{e.Reason + " " + e.Message}, max(1, e.Count, e.Series.Count))...)
		}
	}
	return found
}

type nodeEvent struct {
	Metadata                      struct{ UID string }
	Reason, Message               string
	Count                         int
	Series                        struct{ Count int }
	FirstTimestamp, LastTimestamp string
}

func (c *cluster) eventsOfNode(t *testing.T) []nodeEvent {
	t.Helper()
	var events struct{ Items []nodeEvent }
	out := c.do(t, "get", "events", "--all-namespaces", "--field-selector", "involvedObject.name="+nodeName, "-o", "json")
	if err := json.Unmarshal([]byte(out), &events); err != nil {
		t.Fatalf("events: %v", err)
	}
	return events.Items
}

// mustTellOnce waits for the events of a reason until they name each pod, and gives further looks the time to repeat one.
func (c *cluster) mustTellOnce(t *testing.T, reason string, pods ...string) {
	t.Helper()
	told := func() map[string]int {
		count := map[string]int{}
		for _, event := range c.nodeEvents(t, reason) {
			for _, pod := range pods {
				count[pod] += strings.Count(event, "default/"+pod)
			}
		}
		return count
	}
	eventuallyEach(2**interval+10*time.Second, time.Second, func() bool { return len(told()) == len(pods) })
	time.Sleep(3 * *interval)
	for _, pod := range pods {
		if n := told()[pod]; n != 1 {
			t.Errorf("%s tells %d times of %s, want once: %v", reason, n, pod, c.nodeEvents(t, reason))
		}
	}
}

var andMore = regexp.MustCompile(`^\S+ \S+ and (\d+) more: `)

// mustTellOfPods waits until the events of a reason and cause tell of so many pods in all, and gives further looks the time to
// repeat one. A line has not the room for the names of them all.
func (c *cluster) mustTellOfPods(t *testing.T, reason, cause string, want int) {
	t.Helper()
	told := func() int {
		pods := 0
		for _, event := range c.nodeEvents(t, reason) {
			if !strings.Contains(event, cause) {
				continue
			}
			pods++
			if m := andMore.FindStringSubmatch(event); m != nil {
				more, _ := strconv.Atoi(m[1]) // digits
				pods += more
			}
		}
		return pods
	}
	eventuallyEach(2**interval+10*time.Second, time.Second, func() bool { return told() >= want })
	time.Sleep(3 * *interval)
	if n := told(); n != want {
		t.Errorf("%s tells of %d pods, want %d: %v", reason, n, want, c.nodeEvents(t, reason))
	}
}

// eventuallyEach asks at a pace that leaves the machine to others.
func eventuallyEach(within, pace time.Duration, is func() bool) bool {
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(pace) {
		if is() {
			return true
		}
	}
	return is()
}

// eachSecond does something beside the test until the test ends or it is halted; after that it is not being done any more.
func eachSecond(t *testing.T, do func()) (halt func()) {
	t.Helper()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Second):
				do()
			}
		}
	}()
	halt = sync.OnceFunc(func() { close(stop); <-stopped })
	t.Cleanup(halt)
	return halt
}

// pausePod is a pod of the pause image. More follows the container, indented by four blanks, or the spec, by two.
func pausePod(name, more string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 0
  containers:
  - name: main
    image: %q
    imagePullPolicy: Never
%s`, name, pauseImage, more)
}
