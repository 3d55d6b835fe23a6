package capture

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"sandbox-checker/plugin/cgroup"
	"sandbox-checker/plugin/cri"
)

// renamer gives every name its word.
type renamer struct {
	// Pods by name and namespace, namespaces, and parts of paths.
	pods      map[podName]string
	ns, parts map[string]string
	hosts     *hostNames
	// words are the pods' names that stand for nothing else, for free text.
	words map[string]string
}

type podName struct{ name, namespace string }

func newRenamer() *renamer {
	return &renamer{ns: map[string]string{}, pods: map[podName]string{}, parts: map[string]string{}, words: map[string]string{},
		hosts: &hostNames{names: map[string]string{}}}
}

// learnPods gathers all pods, those too that are known by their log directory alone, and numbers them in the order of their
// names: that is the order in a line, and the words of a redacted capture stay what they are.
func (r *renamer) learnPods(f *File) error {
	note := func(p cri.Pod) cri.Pod {
		if p.Name != "" {
			r.pods[podName{p.Name, p.Namespace}] = ""
		}
		if !commonNamespaces[p.Namespace] {
			r.ns[p.Namespace] = ""
		}
		return p
	}
	if _, err := f.CRI.Renamed(note); err != nil {
		return err
	}
	inLog := func(p string) string { return renamedLogs(p, note, unchanged) }
	inText := func(b []byte) []byte {
		return logInText().ReplaceAllFunc(b, func(m []byte) []byte { return []byte(inLog(string(m))) })
	}
	f.replaceAll(replacer{inText, inText, inLog})
	number(r.pods, "pod", func(a, b podName) int {
		return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.namespace, b.namespace))
	})
	number(r.ns, "namespace", strings.Compare)
	for p, w := range r.pods {
		if len(p.name) > 3 && strings.ContainsAny(p.name, "-0123456789") {
			r.words[p.name] = w
		}
	}
	return nil
}

// number gives each key its number, with zeros before it: the words are in the order of the keys.
func number[K comparable](m map[K]string, kind string, compare func(a, b K) int) {
	width := len(strconv.Itoa(len(m)))
	for i, k := range slices.SortedFunc(maps.Keys(m), compare) {
		m[k] = fmt.Sprintf("%s-%0*d", kind, width, i+1)
	}
}

// Namespaces that every cluster has tell nothing.
var commonNamespaces = map[string]bool{"": true, "default": true, "kube-system": true, "kube-public": true, "kube-node-lease": true}

func (r *renamer) pod(p cri.Pod) cri.Pod {
	name := r.pods[podName{p.Name, p.Namespace}]
	if name == "" && p.Name != "" {
		name = "pod" // not learned
	}
	return cri.Pod{Namespace: r.namespace(p.Namespace), Name: name, UID: p.UID}
}

// namespace also takes one that no pod is in.
func (r *renamer) namespace(ns string) string {
	if commonNamespaces[ns] {
		return ns
	}
	return numbered(r.ns, ns, "namespace")
}

func numbered(m map[string]string, key, kind string) string {
	if m[key] == "" {
		m[key] = fmt.Sprintf("%s-%d", kind, len(m)+1)
	}
	return m[key]
}

// numberedWord matches what names have become.
var numberedWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(cgroup|host|other)-[0-9]+$`) })

func (r *renamer) cgroup(p string) string {
	return cgroup.Renamed(p, func(part string) string {
		return r.part(part, "cgroup")
	})
}

const podLogs = "/var/log/pods/"

// podLogDir matches NAMESPACE_NAME_UID wherever a link may have led to: the uid tells.
var podLogDir = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([A-Za-z0-9.-]+)_([A-Za-z0-9.-]+)_([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32})$`)
})

// podOfLog reads a log directory's name. surely: it is where the kubelet makes them, so the uid may look like anything.
func podOfLog(part string, surely bool) (cri.Pod, bool) {
	if m := podLogDir().FindStringSubmatch(part); m != nil {
		return cri.Pod{Namespace: m[1], Name: m[2], UID: m[3]}, true
	}
	parts := strings.Split(part, "_")
	if !surely || len(parts) != 3 {
		return cri.Pod{}, false
	}
	return cri.Pod{Namespace: parts[0], Name: parts[1], UID: parts[2]}, true
}

const cgroupRoot = "/sys/fs/cgroup/"

// path renames log directories and cgroups.
func (r *renamer) path(p string) string {
	if rest, ok := strings.CutPrefix(p, cgroupRoot); ok {
		return cgroupRoot + r.cgroup(rest)
	}
	return renamedLogs(p, r.pod, r.other)
}

// other is the word for what lies among the log directories and is no pod's.
func (r *renamer) other(part string) string { return r.part(part, "other") }

// part is the word for a part of a path.
func (r *renamer) part(part, kind string) string {
	if numberedWord().MatchString(part) {
		return part
	}
	return numbered(r.parts, part, kind)
}

// renamedLogs renames the pods in a path of log directories.
func renamedLogs(p string, name func(cri.Pod) cri.Pod, other func(string) string) string {
	parts := strings.Split(p, "/")
	for i, part := range parts {
		surely := strings.HasPrefix(p, podLogs) && i == 4
		if pod, ok := podOfLog(part, surely); ok {
			pod = name(pod)
			parts[i] = pod.Namespace + "_" + pod.Name + "_" + pod.UID
		} else if surely && part != "" {
			parts[i] = other(part)
		}
	}
	return strings.Join(parts, "/")
}

var (
	logInText = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:/var/log/pods/)?[A-Za-z0-9.-]+_[A-Za-z0-9.-]+_[0-9a-f-]{32,36}`)
	})
	podInText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:[a-z0-9-]+/)?[a-z0-9][a-z0-9.-]*[a-z0-9]`) })
	// namespaceKey matches keys such as multus' globalNamespaces and what they hold.
	namespaceKey = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(["']?[a-z_-]*namespaces?["']?[ \t]*[:=][ \t]*)(\[[^\[\]{}]*\]|"[^"\n]*"|'[^'\n]*'|[^\s"'\[\]{}]+)`)
	})
	nameInValue = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[A-Za-z0-9-]+`) })
)

// text renames pods and namespaces where a text names them.
func (r *renamer) text(b []byte) []byte {
	return podInText().ReplaceAllFunc(r.content(b), func(m []byte) []byte { return []byte(r.podWord(string(m))) })
}

// content is more careful: a pod may be called like a plugin or a file.
func (r *renamer) content(b []byte) []byte {
	b = logInText().ReplaceAllFunc(b, func(m []byte) []byte { return []byte(r.path(string(m))) })
	return namespaceKey().ReplaceAllFunc(b, func(m []byte) []byte {
		parts := namespaceKey().FindSubmatch(m)
		val := nameInValue().ReplaceAllFunc(parts[2], func(ns []byte) []byte {
			if s := string(ns); s == "true" || s == "false" {
				return ns
			}
			return []byte(r.namespace(string(ns)))
		})
		return append(slices.Clip(parts[1]), val...)
	})
}

func (r *renamer) podWord(s string) string {
	ns, name, both := strings.Cut(s, "/")
	if w := r.pods[podName{name, ns}]; both && w != "" {
		return r.namespace(ns) + "/" + w
	}
	if !both {
		name = ns
	}
	if w := r.words[name]; w != "" {
		return strings.TrimSuffix(s, name) + w
	}
	return s
}
