package checks

import (
	"regexp"
	"strings"
	"sync"

	"sandbox-checker/plugin"
)

// judgeLoops finds the cause of each loop and whose fault it is.
func judgeLoops(v *loopView, o plugin.Options, loops []loop) plugin.Result {
	var r plugin.Result
	limits := v.limitFindings(o)
	var unknown []plugin.Finding
	for _, l := range loops {
		f, known := v.cause(l, limits)
		held := v.limitExplains(l.uid, o)
		switch {
		case known && f.Blame == plugin.BlameNode:
			r.Findings = append(r.Findings, f)
		case known:
			r.Asides = append(r.Asides, f)
		case l.shape == neverCameBack: // a pod that waits for a volume looks the same
		case held != "":
			r.Held = append(r.Held, f.Pod.String()+": "+held)
		default:
			unknown = append(unknown, f)
		}
	}
	if len(unknown) >= o.MinPods {
		r.Findings = append(r.Findings, unknown...)
		return r
	}
	r.Asides = append(r.Asides, unknown...)
	if len(unknown) > 0 && v.cniErr != nil {
		r.Looked = "too few pods fail to blame the node, and its CNI could not be looked at: " + v.cniErr.Error()
	}
	return r
}

// limitFindings are sandbox-oom's findings of the same moment, by uid.
func (v *loopView) limitFindings(o plugin.Options) map[string]plugin.Finding {
	o.OOMWindow = o.LoopWindow
	out := map[string]plugin.Finding{}
	for _, f := range judgeOOM(v.oomView, o).Findings {
		out[f.Pod.UID] = f
	}
	return out
}

// cause looks for the cause in the order of how surely it explains the loop.
func (v *loopView) cause(l loop, limits map[string]plugin.Finding) (plugin.Finding, bool) {
	f := plugin.Finding{
		Check:    SandboxCrashLoopName,
		Blame:    plugin.BlameNode,
		Pod:      v.pod(l.uid),
		Evidence: []plugin.Evidence{{Source: "shape", Text: string(l.shape) + ": " + l.why}},
	}
	if lim, ok := limits[l.uid]; ok {
		f.Blame, f.Cause, f.Cure, f.Steps, f.Root = lim.Blame, lim.Cause, lim.Cure, lim.Steps, lim.Key()
		f.Evidence = append(f.Evidence, lim.Evidence...)
		return f, true
	}
	host, asked := v.hostNet[l.sandboxID]
	if len(v.cni) > 0 && (!asked || !host) {
		c := v.cni[0]
		short := c.Cause
		if i := strings.LastIndex(short, ", "); i >= 0 && strings.HasSuffix(short, " needs it") {
			short = short[:i]
		}
		f.Cause, f.Cure, f.Steps, f.Root = "no sandbox, "+c.Object+" "+short, c.Cure, c.Steps, c.Key()
		f.Evidence = append(f.Evidence, c.Evidence...)
		return f, true
	}
	if c, ok := v.nodeCause(l.uid); ok {
		if c.steps == nil {
			c.steps = []string{c.cure}
		}
		f.Cause, f.Cure, f.Steps = "no sandbox, "+c.text, c.cure, c.steps
		f.Evidence = append(f.Evidence, plugin.Evidence{Source: c.source, Text: c.seen})
		return f, true
	}
	f.Cause, f.CauseUnknown = string(l.shape)+", cause unknown", true
	if v.cniErr != nil {
		f.Evidence = append(f.Evidence, plugin.Evidence{Source: CNIConfigName, Text: "could not look: " + v.cniErr.Error()})
	}
	f.Cure = "see the events of the pod (kubectl describe pod)"
	f.Steps = []string{"see the events of the pod: FailedCreatePodSandBox has the error of the runtime"}
	if kubectl := kubectlPod("describe", f.Pod); kubectl != "" {
		f.Steps = append([]string{kubectl}, f.Steps...)
	}
	return f, false
}

// nodeCause is a cause in the words of the line, its cure there and in steps, and what was seen where.
type nodeCause struct {
	text, cure   string
	steps        []string
	source, seen string
}

// nodeCause is the first of the node's other causes.
func (v *loopView) nodeCause(uid string) (nodeCause, bool) {
	if v.image.Name != "" && !v.image.Present {
		c := nodeCause{text: "the sandbox image " + v.image.Name + " is gone", source: "CRI ImageStatus", seen: v.image.Name + " is not there",
			cure: "pull it on this node (crictl pull), and keep image clean-up from removing it"}
		if imageName().MatchString(v.image.Name) {
			c.steps = []string{"crictl pull " + v.image.Name, "then keep image clean-up from removing it"}
		}
		return c, true
	}
	if v.apparmor {
		return nodeCause{text: "AppArmor denies runc", cure: "mend or remove the AppArmor profile of runc",
			source: "kernel log", seen: `apparmor="DENIED", with runc`}, true
	}
	if v.userspace[uid] {
		return nodeCause{text: "a userspace OOM killer killed it, not a limit of the pod", source: "kernel log",
			cure: "the node is short of memory: see its OOM controller", seen: "it sent SIGKILL to a cgroup of this pod"}, true
	}
	if text := v.driverMismatch(uid); text != "" {
		return nodeCause{text: text, cure: "give the kubelet and the runtime the same cgroup driver",
			source: "CRI Status and " + v.pods[uid].dir, seen: text}, true
	}
	return nodeCause{}, false
}

// imageName is what a person may copy: it could hold anything.
var imageName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._:/@-]*$`) })
