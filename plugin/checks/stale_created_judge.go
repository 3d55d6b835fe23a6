package checks

import (
	"fmt"
	"time"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/cri"
)

// staleContainer is a finding and the sandbox whose network decides whether the kubelet could act on it.
type staleContainer struct {
	sandboxID string
	finding   plugin.Finding
}

// judgeCreated is the rule of stale-created: evidence only, never the age of an attempt or a message.
func judgeCreated(v createdView, o plugin.Options) []staleContainer {
	pods := byPod(v)
	var out []staleContainer
	for _, p := range pods {
		for _, c := range p.containers {
			if c.State != cri.Created || c.Name == "" || c.SandboxID == "" || p.movedOn(c) {
				continue // without a name or a sandbox it cannot be told what it is an attempt of
			}
			if rule, why := p.rule(c, v, o); rule != "" {
				out = append(out, staleContainer{c.SandboxID, staleFinding(p, c, v, rule, why)})
			}
		}
	}
	return out
}

// podView is one pod as CRI lists it.
type podView struct {
	pod        plugin.Pod
	sandboxes  map[string]cri.Sandbox // by id
	containers []cri.Container
}

// byPod groups by the pod's uid, in order of first sight. A container whose sandbox is gone still belongs to its pod by
// the kubelet's labels.
func byPod(v createdView) []*podView {
	var out []*podView
	index := map[string]*podView{}
	get := func(key string, p cri.Pod) *podView {
		if index[key] == nil {
			index[key] = &podView{pod: plugin.Pod(p), sandboxes: map[string]cri.Sandbox{}}
			out = append(out, index[key])
		}
		return index[key]
	}
	keyOf := map[string]string{} // sandbox id to pod
	for _, s := range v.sandboxes {
		key := podKey(s.Pod)
		keyOf[s.ID] = key
		get(key, s.Pod).sandboxes[s.ID] = s
	}
	for _, c := range v.containers {
		key, ok := keyOf[c.SandboxID]
		if !ok {
			key = podKey(c.Pod)
		}
		p := get(key, c.Pod)
		p.containers = append(p.containers, c)
	}
	return out
}

func podKey(p cri.Pod) string {
	if p.UID != "" {
		return p.UID
	}
	return p.Namespace + "/" + p.Name
}

// movedOn says whether the kubelet has gone past c: a newer attempt of the same container, or a ready sandbox of a newer
// attempt than c's own.
func (p *podView) movedOn(c cri.Container) bool {
	for _, other := range p.containers {
		if other.Name == c.Name && other.Attempt > c.Attempt {
			return true
		}
	}
	own, listed := p.sandboxes[c.SandboxID]
	for _, s := range p.sandboxes {
		if s.Ready && s.ID != c.SandboxID && (!listed || s.Attempt > own.Attempt) {
			return true
		}
	}
	return false
}

func (p *podView) anyReady() bool {
	for _, s := range p.sandboxes {
		if s.Ready {
			return true
		}
	}
	return false
}

// The rules, in the words of the line.
const (
	ruleBoot    = "was created before this boot"
	ruleLost    = "was created in a lost sandbox"
	ruleRuntime = "was created before a runtime restart"
)

// rule says which rule makes c stale, "" for none, and the evidence for it.
func (p *podView) rule(c cri.Container, v createdView, o plugin.Options) (string, string) {
	now := v.clock.Now
	if c.Created.IsZero() || c.Created.After(now) {
		return "", "" // such a time proves nothing
	}
	// No container of this boot is surely older than the boot clock says, whatever was done to the wall clock.
	age := min(now.Sub(c.Created), v.clock.Uptime-v.stepped)
	own := p.sandboxes[c.SandboxID]
	if own.StateUnknown {
		return "", "" // it may be anything, also a state in which containers wait
	}
	switch {
	case !own.Ready && c.Created.Before(v.clock.Booted) && v.clock.Uptime > o.Grace && !p.clockLied() && !v.ofThisBoot[own.ID]:
		return ruleBoot, "booted " + stamp(v.clock.Booted)
	case !own.Ready && !p.anyReady() && age > o.StaleAfter:
		return ruleLost, "no ready sandbox of the pod"
	case own.Ready && c.Created.Before(v.runtimeStarted) && !c.Created.Before(own.Created) && age > o.StaleAfter:
		return ruleRuntime, "runtime's socket made " + stamp(v.runtimeStarted)
	}
	return "", ""
}

// clockLied is proof that the wall clock was behind when the pod's things were made: a higher attempt dated before a lower
// one, of sandboxes or of one container.
func (p *podView) clockLied() bool {
	for _, a := range p.sandboxes {
		for _, b := range p.sandboxes {
			if before(a.Attempt, b.Attempt, a.Created, b.Created) {
				return true
			}
		}
	}
	for _, a := range p.containers {
		for _, b := range p.containers {
			if a.Name == b.Name && before(a.Attempt, b.Attempt, a.Created, b.Created) {
				return true
			}
		}
	}
	return false
}

// before says whether attempt a is higher than b and yet dated earlier, by honest-looking times.
func before(a, b uint32, at, bt time.Time) bool {
	return a > b && !at.IsZero() && !bt.IsZero() && at.Before(bt)
}

func staleFinding(p *podView, c cri.Container, v createdView, rule, why string) plugin.Finding {
	s, listed := p.sandboxes[c.SandboxID]
	sandbox := "gone"
	switch {
	case listed && s.Ready:
		sandbox = fmt.Sprintf("%s SANDBOX_READY, attempt %d", shortID(s.ID), s.Attempt)
	case listed:
		sandbox = fmt.Sprintf("%s SANDBOX_NOTREADY, attempt %d", shortID(s.ID), s.Attempt)
	}
	f := plugin.Finding{
		Check:     StaleCreatedName,
		Blame:     plugin.BlamePod,
		Pod:       p.pod,
		Container: c.Name,

		ContainerID:  c.ID,
		SandboxID:    c.SandboxID,
		SandboxReady: s.Ready,
		Cause:        fmt.Sprintf("container %s %s, never started", c.Name, rule),
		Cure:         "run sandbox-checker repair stale-created or delete the pod, keep the node",
		Evidence: []plugin.Evidence{
			{Source: "CRI ListContainers", Text: fmt.Sprintf("%s CONTAINER_CREATED, attempt %d, created %s", shortID(c.ID), c.Attempt, stamp(c.Created))},
			{Source: "CRI ListPodSandbox", Text: "sandbox " + sandbox},
			{Source: "clock", Text: why},
		},
		Steps: []string{
			"sandbox-checker repair stale-created", // it says what --yes would do
			"crictl rm " + shortID(c.ID),
		},
	}
	if kubectl := kubectlPod("delete", p.pod); kubectl != "" {
		f.Steps = append(f.Steps, kubectl)
	}
	if listed && p.clockLied() {
		// The kubelet takes the latest date for the latest sandbox, and then cannot reserve the next name.
		f.Evidence = append(f.Evidence, plugin.Evidence{Source: "clock",
			Text: "a higher attempt is dated before a lower one: the clock was wrong, and the wrongly dated sandbox blocks the next one"})
		f.Steps = append([]string{"crictl rmp " + shortID(s.ID)}, f.Steps...)
	}
	return f
}

// shortID is how crictl prints an id and takes it back.
func shortID(id string) string {
	if len(id) > 13 {
		return id[:13]
	}
	return id
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
