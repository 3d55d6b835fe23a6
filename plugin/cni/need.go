package cni

import (
	"encoding/json"
	"strings"
)

// Kind is what a need is.
type Kind string

// The kinds. Binary is looked for in every bin dir, the others are absolute paths.
const (
	Binary Kind = "binary"
	File   Kind = "file"
	Socket Kind = "socket"
	// SubnetEnv is flannel's file, whose keys count as well.
	SubnetEnv Kind = "subnet.env"
	// Kubeconfig must name a server and a credential.
	Kubeconfig Kind = "kubeconfig"
	// NetworkFile is one more CNI configuration, or a directory of them, whose plugins have needs of their own.
	NetworkFile Kind = "network file"
	// WhereaboutsConf is whereabouts' own file, which names a kubeconfig.
	WhereaboutsConf Kind = "whereabouts.conf"
)

// Need is one thing on the node without which every pod's network fails.
type Need struct {
	Kind Kind
	// Name is a binary's name, or an absolute path.
	Name string
	// By says whose need it is: "plugin flannel", "ipam plugin host-local", "plugin flannel (delegate)".
	By string
	// Agent is who makes it, in words to look for: "the kube-flannel pod of this node".
	Agent string
	// Listed: it is the program of a plugin in the list itself, which CRI-O looks for when it loads the file.
	Listed bool
	// Or are other paths that serve as well as Name.
	Or []string
	// Dirs are more directories to look for a binary in (multus binDir).
	Dirs []string
}

// maxDepth bounds delegates within delegates. Real ones are two deep.
const maxDepth = 8

// Needs lists what the network's plugins need, in their order, each once. Types that the table does not know need their
// binary and the binary of their ipam, nothing else.
func (n Network) Needs() []Need {
	g := &gatherer{seen: map[string]bool{}}
	for _, p := range n.Plugins {
		g.plugin(p, "plugin "+p.Type, nil, 0)
	}
	return g.needs
}

type gatherer struct {
	needs []Need
	seen  map[string]bool
}

func (g *gatherer) add(n Need) {
	key := string(n.Kind) + "\x00" + n.Name
	if n.Name == "" || g.seen[key] || (n.Kind == Binary && strings.Contains(n.Name, "/")) {
		return // a type that is a path is refused by its own rule
	}
	g.seen[key] = true
	g.needs = append(g.needs, n)
}

func (g *gatherer) plugin(p Plugin, by string, dirs []string, depth int) {
	if depth > maxDepth {
		return
	}
	row := rowOf(p.Type)
	g.add(Need{Kind: Binary, Name: p.Type, By: by, Agent: row.agent, Dirs: dirs, Listed: depth == 0})
	for _, b := range row.runs {
		g.add(Need{Kind: Binary, Name: b, By: by, Agent: row.agent, Dirs: dirs})
	}
	for _, w := range row.needs {
		if path := w.in(p.Conf); path != "" {
			g.add(Need{Kind: w.kind, Name: path, By: by, Agent: row.agent})
		}
	}
	if ipam := p.ipamType(); ipam != "" && !row.ownIPAM {
		g.ipam(ipam, p, dirs)
	}
	if row.more != nil {
		row.more(g, p, dirs, depth)
	}
}

func (g *gatherer) ipam(typ string, p Plugin, dirs []string) {
	row := rowOf(typ)
	by := "ipam plugin " + typ
	if !row.noBinary {
		g.add(Need{Kind: Binary, Name: typ, By: by, Agent: row.agent, Dirs: dirs})
	}
	conf, _ := p.Conf["ipam"].(map[string]any)
	for _, w := range row.needs {
		if path := w.in(conf); path != "" {
			g.add(Need{Kind: w.kind, Name: path, By: by, Agent: row.agent, Or: w.or})
		}
	}
}

// flannelDelegate adds what the flannel plugin runs: delegate.type or bridge, and its ipam or host-local. Neither is named
// in a usual file.
func flannelDelegate(g *gatherer, p Plugin, dirs []string, depth int) {
	d, _ := p.Conf["delegate"].(map[string]any)
	inner := Plugin{Type: text(d, "type"), Conf: d}
	if inner.Type == "" {
		inner.Type = "bridge"
	}
	g.plugin(inner, "plugin flannel", dirs, depth+1)
	if text(d, "ipam.type") == "" {
		ipam := text(p.Conf, "ipam.type")
		if ipam == "" {
			ipam = "host-local"
		}
		g.add(Need{Kind: Binary, Name: ipam, By: "plugin flannel", Agent: rowOf("flannel").agent, Dirs: dirs})
	}
}

// ipamIfEnabled is AWS's egress plugins: their ipam runs only when they are enabled, which most often they are not.
func ipamIfEnabled(g *gatherer, p Plugin, dirs []string, _ int) {
	if ipam := p.ipamType(); ipam != "" && isTrue(p.Conf["enabled"]) {
		g.ipam(ipam, p, dirs)
	}
}

// multusDelegates adds what the thin multus runs: each delegate, a plugin or a whole list, sought in binDir too.
func multusDelegates(g *gatherer, p Plugin, dirs []string, depth int) {
	if b := text(p.Conf, "binDir"); strings.HasPrefix(b, "/") {
		dirs = append(dirs[:len(dirs):len(dirs)], b)
	}
	if text(p.Conf, "clusterNetwork") != "" {
		return // then multus does not look at them (conf.go LoadNetConf)
	}
	list, _ := p.Conf["delegates"].([]any)
	for _, d := range list {
		conf, ok := d.(map[string]any)
		if !ok {
			continue
		}
		members := []any{conf}
		if l, ok := conf["plugins"].([]any); ok && text(conf, "type") == "" {
			members = l
		}
		for _, m := range members {
			if c, ok := m.(map[string]any); ok && text(c, "type") != "" {
				g.plugin(Plugin{Type: text(c, "type"), Conf: c}, "multus delegate "+text(c, "type"), dirs, depth+1)
			}
		}
	}
}

// text reads a string at a dotted path of keys, "" when it is not there or no string.
func text(conf map[string]any, keys string) string {
	v := value(conf, keys)
	s, _ := v.(string)
	return s
}

func value(conf map[string]any, keys string) any {
	var v any = conf
	for k := range strings.SplitSeq(keys, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		if v, ok = m[k]; ok {
			continue
		}
		for other := range m { // plugins are written in Go, whose JSON takes keys in any case
			if strings.EqualFold(other, k) {
				v = m[other]
			}
		}
	}
	return v
}

// isTrue takes true and "true": calico's booleans may be strings.
func isTrue(v any) bool {
	return v == true || v == "true"
}

// Further lists what the content of a needed file needs in turn.
func (n Need) Further(raw []byte) []Need {
	switch n.Kind {
	case NetworkFile:
		net, err := Parse(n.Name, raw)
		if err != nil {
			return nil
		}
		needs := net.Needs()
		for i := range needs {
			needs[i].Listed = false // it stands in a file that the runtime does not load
		}
		return needs
	case WhereaboutsConf:
		var c map[string]any
		if json.Unmarshal(raw, &c) != nil {
			return nil
		}
		if p := text(c, "kubernetes.kubeconfig"); strings.HasPrefix(p, "/") {
			return []Need{{Kind: Kubeconfig, Name: p, By: n.By, Agent: n.Agent}}
		}
	case Binary, File, Socket, SubnetEnv, Kubeconfig:
	}
	return nil
}
