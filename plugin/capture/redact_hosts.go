package capture

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// hostNames gives every host its word.
type hostNames struct {
	names map[string]string // in lower case
	n     int
	// domains are replaced with all that stands before them; everywhere are the names that are replaced wherever they stand.
	domains, everywhere []string
	pattern             *regexp.Regexp
}

// commonWords are host names that may be another word in any file, where replacing them would break it.
var commonWords = map[string]bool{"localhost": true, "localdomain": true, "default": true, "containerd": true, "crio": true,
	"docker": true, "kubelet": true, "kubernetes": true, "kubepods": true, "calico": true, "cilium": true, "flannel": true,
	"multus": true, "bridge": true, "loopback": true, "portmap": true, "ptp": true, "cni": true, "ipam": true, "host-local": true,
	"etc": true, "run": true, "var": true, "lib": true, "opt": true, "bin": true, "net": true, "log": true, "pods": true,
	"proc": true, "sys": true, "name": true, "type": true, "plugins": true, "node": true, "server": true, "cluster": true,
	"user": true, "users": true, "token": true, "config": true, "crictl": true, "true": true, "false": true, "null": true}

// word is the host's word, made at first sight.
func (h *hostNames) word(name string) string {
	key := strings.ToLower(strings.TrimSuffix(name, "."))
	if key == "" || key == "localhost" || numberedWord().MatchString(key) || isAddress(key) {
		return name
	}
	if h.names[key] == "" {
		h.n++
		h.names[key] = fmt.Sprintf("host-%d", h.n)
		h.addDomain(key)
	}
	return h.names[key]
}

func isAddress(s string) bool {
	_, err := netip.ParseAddr(strings.Trim(s, "[]"))
	return err == nil
}

// addDomain takes the domain that a name of three labels and more is in: other hosts of it are named by it too.
func (h *hostNames) addDomain(name string) {
	labels := strings.Split(name, ".")
	n := 2
	if len(labels) > 3 && len(labels[len(labels)-2]) <= 3 {
		n = 3 // as in example.co.uk
	}
	switch {
	case len(labels) == 1:
	case len(labels) == 2:
		h.domains = append(h.domains, name)
	default:
		h.domains = append(h.domains, strings.Join(labels[len(labels)-n:], "."))
	}
}

// node adds a name of the node itself: it is replaced wherever it stands, and so is its first label. Names of fewer than
// three letters would hit everything and tell nothing.
func (h *hostNames) node(name string) string {
	w := h.word(name)
	short, _, _ := strings.Cut(strings.ToLower(name), ".")
	if w == name || isAddress(name) {
		return w
	}
	for _, n := range []string{strings.ToLower(name), short} {
		if len(n) < 3 || commonWords[n] {
			continue
		}
		if h.names[n] == "" {
			h.names[n] = w
		}
		h.everywhere = append(h.everywhere, n)
	}
	return w
}

var (
	// urlHost finds the host of a URL, which may stand behind a login.
	urlHost = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://(?:[^/\s"'?#@]*@)?)([A-Za-z0-9_.-]+)`)
	})
	// nodeKey and hostKey match keys whose values are names of this node and of hosts, with their value or list.
	nodeKey = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(["']?\b(?:[a-z_]*node_?name|host_?name)["']?[ \t]*[:=][ \t]*)` + keyValue)
	})
	hostKey = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(["']?\b(?:server|[a-z0-9_]*endpoints?|[a-z0-9_]*api_?root|[a-z0-9_]*authority|hosts?|domain|search|api_?server)["']?[ \t]*[:=][ \t]*)` + keyValue)
	})
	hostInValue = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^\s"',\[\]]+`) })
)

const keyValue = `(\[[^\[\]{}]*\]|"[^"\n]*"|'[^'\n]*'|[^\s"'\[\]{},]+)`

// nodenameFile is where calico keeps the node's name; the file may lie elsewhere.
const nodenameFile = "nodename"

// learn gathers the hosts of the capture, the given ones first.
func (h *hostNames) learn(f *File, given []string) {
	given = slices.Clone(given)
	slices.SortStableFunc(given, func(a, b string) int { return len(b) - len(a) })
	for _, name := range given {
		h.node(strings.TrimSpace(name))
	}
	paths := slices.Sorted(maps.Keys(f.Content))
	for _, p := range paths {
		if data := f.Content[p]; p == hostnamePath || path.Base(p) == nodenameFile {
			f.Content[p] = h.nameFile(data)
		}
	}
	for _, p := range paths {
		if hasNames(p) {
			f.Content[p] = h.values(f.Content[p])
		}
	}
	f.replaceAll(replacer{h.urls, h.urls, unchanged})
	h.compile()
}

// nameFile is a file of one name.
func (h *hostNames) nameFile(data []byte) []byte {
	name := strings.TrimSpace(string(data))
	if name == "" || strings.ContainsAny(name, " \t\n") {
		return data
	}
	return []byte(strings.Replace(string(data), name, h.node(name), 1))
}

// values replaces what keys call a host.
func (h *hostNames) values(data []byte) []byte {
	for _, one := range []struct {
		key  *regexp.Regexp
		word func(string) string
	}{{nodeKey(), h.node}, {hostKey(), h.word}} {
		data = one.key.ReplaceAllFunc(data, func(m []byte) []byte {
			parts := one.key.FindSubmatch(m)
			val := hostInValue().ReplaceAllFunc(parts[2], func(v []byte) []byte { return []byte(hostPort(string(v), one.word)) })
			return append(slices.Clip(parts[1]), val...)
		})
	}
	return data
}

// hostPort replaces the host of "host:port". URLs are replaced on their own, and a path or a truth value is no host.
func hostPort(v string, word func(string) string) string {
	host, port, ok := strings.Cut(v, ":")
	if ok {
		port = ":" + port
	}
	switch strings.ToLower(host) {
	case "", "true", "false", "null", "none", "0", "1":
		return v
	}
	if strings.Trim(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != "" || strings.HasPrefix(port, "://") || isAddress(v) {
		return v
	}
	return word(host) + port
}

func (h *hostNames) urls(data []byte) []byte {
	return urlHost().ReplaceAllFunc(data, func(m []byte) []byte {
		parts := urlHost().FindSubmatch(m)
		return append(slices.Clip(parts[1]), h.word(string(parts[2]))...)
	})
}

// compile makes the pattern of all names, the longest first: a short name is often the beginning of the full one.
func (h *hostNames) compile() {
	var alts []string
	for _, d := range sortedByLength(h.domains) {
		alts = append(alts, `(?:[A-Za-z0-9_-]+\.)*`+regexp.QuoteMeta(d))
	}
	for _, n := range sortedByLength(h.everywhere) {
		// With the domain, where one follows. One label more may be the extension of a file.
		alts = append(alts, regexp.QuoteMeta(n)+`(?:(?:\.[A-Za-z0-9-]+){2,})?`)
	}
	if len(alts) > 0 {
		h.pattern = regexp.MustCompile(`(?i)(^|\\[ntrbf]|\\u[0-9a-f]{4}|[^A-Za-z0-9_-])(` + strings.Join(alts, "|") + `)($|[^A-Za-z0-9_-])`)
	}
}

func sortedByLength(names []string) []string {
	names = slices.Clone(names)
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(names)
}

// replace replaces whole words only.
func (h *hostNames) replace(data []byte) []byte {
	if h.pattern == nil || data == nil {
		return data
	}
	out := []byte{}
	for {
		m := h.pattern.FindSubmatchIndex(data)
		if m == nil {
			return append(out, data...)
		}
		out = append(append(out, data[:m[4]]...), h.known(string(data[m[4]:m[5]]))...)
		data = data[m[5]:] // what ends a word may begin the next one
	}
}

// known is the word of a name, of the host that it begins with, or a new one.
func (h *hostNames) known(name string) string {
	key := strings.ToLower(name)
	if w := h.names[key]; w != "" {
		return w
	}
	for _, n := range sortedByLength(h.everywhere) {
		if strings.HasPrefix(key, n+".") {
			return h.names[n]
		}
	}
	return h.word(name)
}

func (h *hostNames) replacer() replacer {
	return everywhere(func(s string) string { return string(h.replace([]byte(s))) })
}

func unchanged(s string) string { return s }
