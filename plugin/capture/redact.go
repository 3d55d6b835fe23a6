package capture

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sandbox-checker/plugin/cri"
	"sandbox-checker/plugin/mount"
)

// Redact replaces the names of pods, namespaces and the given hosts, the same name always by the same word, and hides
// secrets. The verdicts stay the same but for the names.
func (f *File) Redact(hosts ...string) error {
	f.HideSecrets()
	names := renamer{ns: map[string]string{}, pod: map[string]string{}}
	var err error
	if f.CRI, err = f.CRI.Renamed(names.pods); err != nil {
		return err
	}
	f.replaceHosts(hosts)
	// Volume mounts carry names of claims and secrets, and no verdict needs them.
	p := "/" + mount.InfoPath
	if data, ok := f.Content[p]; ok {
		f.Content[p] = bareMounts(data)
	}
	return nil
}

type renamer struct{ ns, pod map[string]string }

// Namespaces that every cluster has tell nothing.
var commonNamespaces = map[string]bool{"": true, "default": true, "kube-system": true, "kube-public": true, "kube-node-lease": true}

func (r renamer) pods(p cri.Pod) cri.Pod {
	key := p.Namespace + "/" + p.Name
	if !commonNamespaces[p.Namespace] {
		p.Namespace = numbered(r.ns, p.Namespace, "namespace")
	}
	if p.Name != "" {
		p.Name = numbered(r.pod, key, "pod")
	}
	return p
}

func numbered(m map[string]string, key, kind string) string {
	if m[key] == "" {
		m[key] = fmt.Sprintf("%s-%d", kind, len(m)+1)
	}
	return m[key]
}

// replaceHosts replaces whole words only, in all text of the capture. Names of fewer than three letters would hit
// everything and tell nothing.
func (f *File) replaceHosts(hosts []string) {
	n := 0
	// The longest first: a short name is often the beginning of the full one.
	hosts = slices.Clone(hosts)
	slices.SortStableFunc(hosts, func(a, b string) int { return len(b) - len(a) })
	for _, h := range slices.Compact(hosts) {
		if len(h) < 3 || h == "localhost" {
			continue
		}
		n++
		re := regexp.MustCompile(`(^|[^A-Za-z0-9_-])` + regexp.QuoteMeta(h) + `($|[^A-Za-z0-9_-])`)
		to := []byte(fmt.Sprintf("${1}host-%d${2}", n))
		each := func(b []byte) []byte {
			if b == nil {
				return nil
			}
			// Twice: neighbours share the character between them.
			return re.ReplaceAll(re.ReplaceAll(b, to), to)
		}
		for p := range f.Content {
			f.Content[p] = each(f.Content[p])
		}
		f.CRI.Info, f.CRI.CRIOConfig = each(f.CRI.Info), each(f.CRI.CRIOConfig)
		f.CRI.Err = string(each([]byte(f.CRI.Err)))
		f.About = string(each([]byte(f.About)))
	}
}

// bareMounts keeps the mount points alone, without those below the kubelet's directory.
func bareMounts(data []byte) []byte {
	var b bytes.Buffer
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) < 5 || strings.Contains(fields[4], "/kubelet/") {
			continue
		}
		fmt.Fprintf(&b, "0 0 0:0 / %s\n", fields[4])
	}
	return b.Bytes()
}
