package e2e

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// quiet is how long the look-alikes go on. They go on longer when what must be seen of them has not been seen by then.
var quiet = flag.Duration("quiet", 10*time.Minute, "how long the look-alikes of a cluster go on")

const rollingPods = 20

// lookAlikes are the pods that look as if the node were to blame, with what the API server says of them.
var lookAlikes = []lookAlike{
	{
		app:      "no-volume",
		manifest: deployment("no-volume", 1, ", volumeMounts: [{name: v, mountPath: /v}]") + "      volumes: [{name: v, configMap: {name: missing}}]\n",
		says:     []string{"ContainerCreating"}, silent: []string{"running", "terminated"},
	},
	{
		app:      "no-image",
		manifest: strings.NewReplacer(pauseImage, "localhost:1/absent:1", "Never", "IfNotPresent").Replace(deployment("no-image", 1, "")),
		says:     []string{"ErrImagePull", "ImagePullBackOff"}, silent: []string{"running", "terminated"}, sandbox: true,
	},
	{
		app:      "app-oom",
		manifest: deployment("app-oom", 1, ", command: [/eat], resources: {limits: {memory: 32Mi}}"),
		// containerd often does not hear whose kill it was and says Error and 137. The kernel's log has it.
		says: []string{"OOMKilled", "137"}, restarts: 2, sandbox: true,
	},
}

// testLookAlikes: what goes on in any cluster, all at once. A condition that turns True at any moment, or an event of ours,
// is an alarm about nothing. It proves something only when all of it went on, before and after the drain, and before the eyes
// of a detector that ran all the time.
func (c *cluster) testLookAlikes(t *testing.T) {
	c.mustBeWell(t)
	w := c.watch(t)
	c.apply(t, deployment("rolling", rollingPods, ""))
	for _, l := range lookAlikes {
		c.apply(t, l.manifest)
	}
	c.apply(t, cronJob)
	c.do(t, "rollout", "status", "deployment/rolling", "--timeout=3m")

	since, end := time.Now(), time.Now().Add(*quiet)
	disturbances := []struct {
		name string
		do   func()
	}{
		{"rolling update", func() { c.roll(t) }},
		{"kubelet restart", func() { c.restart(t, "kubelet") }},
		{"containerd restart", func() { w.maySeeNothing(func() { c.restart(t, "containerd") }) }},
		{"drain", func() {
			w.mustSeeLookAlikes(t, "before the drain", since, *quiet/3)
			c.drain(t)
		}},
		{"uncordon", func() {
			c.do(t, "uncordon", nodeName)
			since = time.Now()
		}},
		{"rolling update after the drain", func() { c.roll(t) }},
	}
	for i, d := range disturbances {
		t.Log(d.name)
		d.do()
		left := time.Until(end)
		time.Sleep(left / time.Duration(len(disturbances)-i))
	}
	w.mustSeeLookAlikes(t, "after the drain", since, *quiet/6)
	w.mustSeeJobs(t)
	w.mustHaveBeenSilent(t)
	c.do(t, "delete", "--ignore-not-found", "deployment/rolling", "deployment/no-volume", "deployment/no-image", "deployment/app-oom",
		"cronjob/tick", "--wait=false")
	c.do(t, "delete", "pods", "--all", "--now", "--wait=false")
	c.mustBeWell(t)
}

// roll replaces all pods of the one Deployment that is well.
func (c *cluster) roll(t *testing.T) {
	t.Helper()
	c.do(t, "rollout", "restart", "deployment/rolling")
	c.do(t, "rollout", "status", "deployment/rolling", "--timeout=3m")
}

// drain empties the node. All its pods have a controller that makes them again elsewhere, which is nowhere until the uncordon.
func (c *cluster) drain(t *testing.T) {
	t.Helper()
	before := c.placed(t)
	if len(before) < rollingPods+len(lookAlikes) {
		t.Errorf("only %d pods to drain: %v", len(before), before)
	}
	began := time.Now()
	c.do(t, "drain", nodeName, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=2m")
	t.Logf("%d pods are drained after %s", len(before), time.Since(began).Round(time.Second))
	if is := c.do(t, "get", "node", nodeName, "-o", "jsonpath={.spec.unschedulable}"); is != "true" {
		t.Errorf("the node is drained, and unschedulable is %q", is)
	}
	if left := c.placed(t); len(left) != 0 {
		t.Errorf("after the drain the node still has %v", left)
	}
}

// placed are the pods that the node has, but for the system's.
func (c *cluster) placed(t *testing.T) []string {
	t.Helper()
	return strings.Fields(c.do(t, "get", "pods", "--field-selector", "spec.nodeName="+nodeName, "-o", "jsonpath={.items[*].metadata.name}"))
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

// A lookAlike is a pod of a Deployment that never gets ready.
type lookAlike struct {
	app, manifest string
	says          []string // one of these is what it shows
	silent        []string // it never shows one of these
	restarts      int      // at least, for kills by its limit
	sandbox       bool     // it has one
}

// missing says what the looks do not show of it. It must have been shown for at least as long as given.
func (l lookAlike) missing(looks []look, least time.Duration) []string {
	var first, last time.Time
	var why []string
	restarts := map[string]int{}
	for _, at := range looks {
		for _, p := range at.pods {
			if p.app != l.app {
				continue
			}
			restarts[p.uid] = max(restarts[p.uid], p.restarts)
			if p.shows(l.silent...) {
				why = append(why, fmt.Sprintf("%s was %v at %s", l.app, p.states, at.began.Format(time.TimeOnly)))
			}
			if p.shows(l.says...) {
				if last = at.began; first.IsZero() {
					first = at.began
				}
			}
		}
	}
	if first.IsZero() || last.Sub(first) < least {
		why = append(why, fmt.Sprintf("%s was %v for %s, want %s", l.app, l.says, last.Sub(first).Round(time.Second), least))
	}
	sum := 0
	for _, n := range restarts {
		sum += n
	}
	if sum < l.restarts {
		why = append(why, fmt.Sprintf("%s was restarted %d times, want %d", l.app, sum, l.restarts))
	}
	return why
}

// mustSeeLookAlikes: each of them was there since then, and before the eyes of the detector.
func (w *watcher) mustSeeLookAlikes(t *testing.T, when string, since time.Time, least time.Duration) {
	t.Helper()
	var missing []string
	if !eventuallyEach(2*time.Minute+2**interval, time.Second, func() bool {
		looks := w.since(since)
		if missing = nil; len(looks) == 0 {
			return false
		}
		for _, l := range lookAlikes {
			missing = append(missing, l.missing(looks, least)...)
			missing = append(missing, w.unseen(l, looks[len(looks)-1])...)
			if n := w.kills(t, l.app, looks); n < l.restarts {
				missing = append(missing, fmt.Sprintf("the kernel killed %s %d times for its limit, want %d", l.app, n, l.restarts))
			}
		}
		return len(missing) == 0
	}) {
		t.Errorf("%s: %s", when, strings.Join(missing, "; "))
	}
	looks := w.since(since)
	t.Logf("%s, in %d looks: %s", when, len(looks), strings.Join(sightings(looks), "; "))
}

// unseen is what the detector cannot have seen of the pods that are there now. Those with a sandbox are in its history. Of a pod
// that waits for its volume there is nothing but a cgroup, which is not remembered.
func (w *watcher) unseen(l lookAlike, now look) []string {
	history, err := w.try("", "cat", historyDir+"/state.json")
	if err != nil {
		return []string{err.Error()}
	}
	var missing []string
	for _, p := range now.pods {
		switch {
		case p.app != l.app:
		case l.sandbox && !strings.Contains(history, p.uid):
			missing = append(missing, fmt.Sprintf("the detector's history has no %s (%s)", p.name, p.uid))
		case !slices.ContainsFunc(kubepodCgroups(), func(dir string) bool { return strings.Contains(dir, p.uid) }):
			missing = append(missing, fmt.Sprintf("%s (%s) has no cgroup", p.name, p.uid))
		}
	}
	return missing
}

// kills counts the kernel's for the limit of these pods.
func (w *watcher) kills(t *testing.T, app string, looks []look) (n int) {
	t.Helper()
	w.kernel = append(w.kernel, w.mark.since(t)...)
	for _, record := range w.kernel {
		if strings.Contains(record, "oom-kill:") && slices.ContainsFunc(looks[len(looks)-1].pods, func(p podLook) bool {
			return p.app == app && strings.Contains(record, p.uid)
		}) {
			n++
		}
	}
	return n
}

// sightings tells how many looks saw each pod in each of its states.
func sightings(looks []look) []string {
	var order []string
	count := map[string]int{}
	for _, at := range looks {
		for _, p := range at.pods {
			if p.app == "rolling" {
				continue
			}
			key := fmt.Sprintf("%s %v, restarts %d", p.name, p.states, p.restarts)
			if count[key]++; count[key] == 1 {
				order = append(order, key)
			}
		}
	}
	for i, key := range order {
		order[i] = fmt.Sprintf("%s: %d", key, count[key])
	}
	return order
}

// mustSeeJobs: one for each whole minute but the first and the last, which may have begun before and not have ended.
func (w *watcher) mustSeeJobs(t *testing.T) {
	t.Helper()
	done := map[string]bool{}
	for _, at := range w.since(time.Time{}) {
		for _, job := range at.finished {
			done[job] = true
		}
	}
	if want := int(quiet.Minutes()) - 2; len(done) < want {
		t.Errorf("%d Jobs have finished, want %d", len(done), want)
	}
	t.Logf("%d Jobs have finished", len(done))
}
