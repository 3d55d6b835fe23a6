package e2e

import (
	"flag"
	"strings"
	"testing"
	"time"
)

// quiet is how long the look-alikes go on.
var quiet = flag.Duration("quiet", 10*time.Minute, "how long the look-alikes of a cluster go on")

// testLookAlikes: what goes on in any cluster, all at once. A condition that turns True at any moment, or an event of ours,
// is an alarm about nothing.
func (c *cluster) testLookAlikes(t *testing.T) {
	watch := c.watch(t)
	c.apply(t, deployment("rolling", 20, ""))
	c.apply(t, pausePod("no-volume", `    volumeMounts: [{name: v, mountPath: /v}]
  volumes: [{name: v, configMap: {name: missing}}]
`))
	c.apply(t, strings.NewReplacer(pauseImage, "localhost:1/absent:1", "Never", "IfNotPresent").Replace(pausePod("no-image", "")))
	c.apply(t, pausePod("app-oom", "    command: [/eat]\n    resources: {limits: {memory: 32Mi}}\n"))
	c.apply(t, cronJob)
	c.do(t, "rollout", "status", "deployment/rolling", "--timeout=3m")

	disturbances := []struct {
		name string
		do   func()
	}{
		{"rolling update", func() { c.do(t, "rollout", "restart", "deployment/rolling") }},
		{"kubelet restart", func() { c.restart(t, "kubelet") }},
		{"containerd restart", func() { c.restart(t, "containerd") }},
		{"drain", func() {
			// It waits for pods that never end by themselves.
			_, _ = c.tryKubectl("", "drain", nodeName, "--ignore-daemonsets", "--force", "--delete-emptydir-data", "--timeout=60s")
		}},
		{"uncordon", func() { c.do(t, "uncordon", nodeName) }},
		{"rolling update after the drain", func() { c.do(t, "rollout", "restart", "deployment/rolling") }},
	}
	end := time.Now().Add(*quiet)
	for i, d := range disturbances {
		t.Log(d.name)
		d.do()
		left := time.Until(end)
		time.Sleep(left / time.Duration(len(disturbances)-i))
	}
	if restarts := strings.TrimSpace(c.do(t, "get", "pods", "-A", "-o", `jsonpath={range .items[*]}{.status.containerStatuses[*].lastState.terminated.reason}{" "}{end}`)); !strings.Contains(restarts, "OOMKilled") && *quiet > time.Minute {
		t.Log("no container shows OOMKilled at the end")
	}
	watch.mustHaveBeenSilent(t)
	c.do(t, "delete", "--ignore-not-found", "deployment/rolling", "cronjob/tick", "pod/no-volume", "pod/no-image", "pod/app-oom", "--wait=false")
	c.do(t, "delete", "pods", "--all", "--now", "--wait=false")
	c.mustBeWell(t)
}

const cronJob = `apiVersion: batch/v1
kind: CronJob
metadata: {name: tick}
spec:
  schedule: "* * * * *"
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          automountServiceAccountToken: false
          containers:
          - {name: main, image: "` + pauseImage + `", imagePullPolicy: Never, command: [/pause, done]}
`

// A watcher writes down every status that our conditions have.
type watcher struct {
	*cluster
	seen   map[string]map[string]string // condition, status, message
	looks  int
	events int
	halt   func()
}

func (c *cluster) watch(t *testing.T) *watcher {
	t.Helper()
	w := &watcher{cluster: c, seen: map[string]map[string]string{}, events: len(c.nodeEvents(t, ourEvents...))}
	w.halt = eachSecond(t, w.look)
	return w
}

func (w *watcher) look() {
	for kind, got := range w.conditions() {
		if _, ours := ourConditions[kind]; !ours {
			continue
		}
		if w.seen[kind] == nil {
			w.seen[kind] = map[string]string{}
		}
		w.seen[kind][got.Status] = got.Message
		w.looks++
	}
}

// mustHaveBeenSilent: never True, and no event. Unknown is allowed while the runtime is being restarted.
func (w *watcher) mustHaveBeenSilent(t *testing.T) {
	t.Helper()
	w.halt()
	if len(w.seen) != len(ourConditions) || w.looks < int(quiet.Seconds())/10 {
		t.Errorf("%d looks at %d conditions: this proves nothing", w.looks, len(w.seen))
	}
	for kind, statuses := range w.seen {
		if message, ever := statuses["True"]; ever {
			t.Errorf("%s was True: %s", kind, message)
		}
		t.Logf("%s was %v", kind, statuses)
	}
	if events := w.nodeEvents(t, ourEvents...); len(events) != w.events {
		t.Errorf("events of ours: %v\n%s\n%s", events, w.do(t, "get", "events", "--sort-by=.lastTimestamp",
			"--field-selector", "type=Warning"), w.do(t, "get", "pods", "-A"))
	}
	t.Logf("%d looks", w.looks)
}
