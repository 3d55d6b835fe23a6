package capture

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"sandbox-checker/plugin/cni"
	"sandbox-checker/plugin/kmsg"
	"sandbox-checker/plugin/mount"
)

// Redact hides secrets and all that tells whose node it is: names of pods, namespaces, the given hosts and every other host
// that the capture names, addresses, images, processes. The same name becomes the same word each time, so the verdicts stay
// the same but for the names. FORMAT.md says what is replaced and what stays.
func (f *File) Redact(hosts ...string) error {
	f.HideSecrets()
	f.hideInText()
	slices.SortStableFunc(f.Entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	r := newRenamer()
	if err := r.learnPods(f); err != nil {
		return err
	}
	var err error
	if f.CRI, err = f.CRI.Renamed(r.pod); err != nil {
		return err
	}
	f.hideCredentials()
	f.renameContent(r)
	r.hosts.learn(f, hosts)
	f.replaceAll(replacer{content: r.content, text: r.text, path: r.path})
	f.replaceAll(r.hosts.replacer())
	f.replaceAddresses()
	return nil
}

// hideInText hides secrets in free text too.
func (f *File) hideInText() {
	f.About = string(hideSecrets([]byte(f.About)))
	f.CRI.Err = string(hideSecrets([]byte(f.CRI.Err)))
	for i := range f.Entries {
		f.Entries[i].Err = string(hideSecrets([]byte(f.Entries[i].Err)))
	}
}

// hideCredentials strips kubeconfigs, and hides what is in the files that they name for a token: such a file has no key
// that would say so.
func (f *File) hideCredentials() {
	for p, data := range f.Content {
		if !isKubeconfig(p, data) {
			continue
		}
		if cred, err := cni.CheckKubeconfig(data, f.Now); err == nil && cred.TokenFile != "" {
			f.hideToken(path.Base(cred.TokenFile))
		}
		f.Content[p] = cni.RenamedKubeconfig(data)
	}
}

// hideToken hides the content of the files of this name: links lead to them from elsewhere.
func (f *File) hideToken(name string) {
	for p, data := range f.Content {
		if path.Base(p) == name {
			f.Content[p] = []byte(stubText(strings.TrimSpace(string(data))) + "\n")
		}
	}
}

var kubeconfigKey = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^[ \t{]*["']?(clusters|users|contexts|current-context)["']?[ \t]*:`)
})

func isKubeconfig(p string, data []byte) bool {
	if bytes.Contains(data, []byte(`"cniVersion"`)) || strings.HasPrefix(p, "/proc/") {
		return false
	}
	return strings.Contains(strings.ToLower(path.Base(p)), "kubeconfig") || kubeconfigKey().Match(data)
}

// renameContent writes the files anew whose form is known.
func (f *File) renameContent(r *renamer) {
	if data, ok := f.Content[kmsg.DevicePath]; ok {
		f.Content[kmsg.DevicePath] = kmsg.Renamed(data, r.cgroup)
	}
	p := "/" + mount.InfoPath
	if data, ok := f.Content[p]; ok {
		f.Content[p] = mount.Renamed(data)
	}
}

// replacer replaces in the content of files, in free text, and in paths.
type replacer struct {
	content, text func([]byte) []byte
	path          func(string) string
}

// everywhere is a replacer that does the same in all.
func everywhere(replace func(string) string) replacer {
	inBytes := func(b []byte) []byte { return []byte(replace(string(b))) }
	return replacer{inBytes, inBytes, replace}
}

// replaceAll replaces in everything that is free text or a path. What the kernel says in numbers alone is passed over, and
// so are the runtime's lists, which have been written anew.
func (f *File) replaceAll(r replacer) {
	inString := func(s string) string { return string(r.text([]byte(s))) }
	content := map[string][]byte{}
	for _, p := range slices.Sorted(maps.Keys(f.Content)) {
		data := f.Content[p]
		if data != nil && hasNames(p) {
			data = r.content(data)
		}
		content[free(content, r.path(p))] = data
	}
	f.Content = content
	f.renameEntries(inString, r.path)
	if f.CRI.Info != nil {
		f.CRI.Info = r.text(f.CRI.Info)
	}
	if f.CRI.CRIOConfig != nil {
		f.CRI.CRIOConfig = r.text(f.CRI.CRIOConfig)
	}
	f.CRI.Err, f.About = inString(f.CRI.Err), inString(f.About)
	if f.CRI.Socket != "" {
		f.CRI.Socket = r.path(f.CRI.Socket)
	}
}

// renameEntries keeps the first of two lines that would then be of one path.
func (f *File) renameEntries(text, name func(string) string) {
	seen := map[string]string{} // the path each was
	var kept []Entry
	for _, e := range f.Entries {
		was := e.Path
		e.Path, e.Err = name(e.Path), text(e.Err)
		if e.Target != "" {
			e.Target = name(e.Target)
		}
		if before, ok := seen[e.Path]; ok && before != was {
			continue
		}
		seen[e.Path] = was
		kept = append(kept, e)
	}
	f.Entries = kept
}

// free is p, or p with a number where two files would come to lie on one path.
func free(content map[string][]byte, p string) string {
	for n, at := 2, p; ; n++ {
		if _, taken := content[at]; !taken {
			return at
		}
		at = fmt.Sprintf("%s-%d", p, n)
	}
}

const hostnamePath = "/proc/sys/kernel/hostname"

func hasNames(p string) bool {
	if p == hostnamePath || p == "/"+mount.InfoPath {
		return true
	}
	return p != kmsg.DevicePath && !strings.HasPrefix(p, "/proc/") && !strings.HasPrefix(p, "/sys/")
}
