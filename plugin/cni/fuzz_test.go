package cni

import (
	"bufio"
	"bytes"
	"net"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// fromTable are the names of needs that stand in no file: paths and programs of the table, and what flannel runs.
func fromTable() map[string]bool {
	out := map[string]bool{"bridge": true, "host-local": true}
	for _, r := range table() {
		for _, b := range r.runs {
			out[b] = true
		}
		for _, w := range r.needs {
			out[w.def] = true
		}
	}
	return out
}

// textsIn collects every text of a configuration, and what multus-shim makes of one.
func textsIn(v any, out map[string]bool) {
	switch v := v.(type) {
	case string:
		out[v] = true
		out[strings.TrimRight(v, "/")+"/multus.sock"] = true
	case []any:
		for _, e := range v {
			textsIn(e, out)
		}
	case map[string]any:
		for _, e := range v {
			textsIn(e, out)
		}
	}
}

// FuzzParse: any file is an error or a network; what it needs stands in it or in the table, and is not more than that.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.conf*")
	if err != nil || len(files) == 0 {
		f.Fatalf("no configurations: %v", err)
	}
	for _, name := range files {
		raw := recorded(f, filepath.Base(name))
		f.Add(name, raw)
		f.Add("x.conf", raw)
		f.Add(name, raw[:len(raw)/2])
	}
	f.Add("a.conf", []byte(`{"type":"multus-shim","daemonSocketDir":"/run/multus/socket"}`))
	f.Add("a.conf", []byte(`{"type":"multus","binDir":"/b","delegates":[{"plugins":[{"type":"flannel","delegate":{"type":"macvlan","ipam":{"type":"dhcp"}}}]}]}`))
	f.Add("a.conflist", []byte(`{"name":"n","cniVersions":["0.4.0","2.0.0"],"disableCheck":"true","plugins":[{"type":"x","ipam":{"type":"whereabouts"}}]}`))
	f.Add("a.conflist", []byte("\xef\xbb\xbf{}"))
	tabled := fromTable()
	f.Fuzz(func(t *testing.T, file string, raw []byte) {
		n, err := Parse(file, raw)
		if err != nil {
			return
		}
		known := map[string]bool{}
		for _, p := range n.Plugins {
			if p.Type == "" {
				t.Error("a plugin without a type")
			}
			textsIn(p.Conf, known)
		}
		seen := map[string]bool{}
		needs := n.Needs()
		if limit := len(known) + len(tabled); len(needs) > 2*limit {
			t.Errorf("%d needs of %d texts", len(needs), limit)
		}
		for _, need := range needs {
			if need.Name == "" || !known[need.Name] && !tabled[need.Name] {
				t.Errorf("%v is nowhere in the file", need)
			}
			if isPath := strings.HasPrefix(need.Name, "/"); isPath == (need.Kind == Binary) {
				t.Errorf("%v: path %v", need, isPath)
			}
			if key := string(need.Kind) + need.Name; seen[key] {
				t.Errorf("%v twice", need)
			} else {
				seen[key] = true
			}
			need.Further(raw)
		}
		if n.Validate() == nil && (n.Name == "" || strings.ContainsAny(n.Name, "/ \n")) {
			t.Errorf("name %q is valid", n.Name)
		}
		n.OnlyLoopback()
		n.Refused()
		for _, p := range n.Pools(func(string) []byte { return raw }) {
			if _, full := p.Full(nil); full {
				t.Error("full without a reservation")
			}
		}
	})
}

// pluginTakes is flannel's own reading of the file: cni-plugin flannel.go loadFlannelSubnetEnv, 2026.
func pluginTakes(raw []byte) bool {
	sc, has := bufio.NewScanner(bytes.NewReader(raw)), map[string]bool{}
	for sc.Scan() {
		key, value, ok := strings.Cut(sc.Text(), "=")
		var cidrs []string
		switch key {
		case "FLANNEL_NETWORK", "FLANNEL_IPV6_NETWORK":
			cidrs = strings.Split(value, ",")
		case "FLANNEL_SUBNET", "FLANNEL_IPV6_SUBNET":
			cidrs = []string{value}
		case "FLANNEL_MTU":
			if _, err := strconv.ParseUint(value, 10, 32); err != nil {
				return false
			}
		case "FLANNEL_IPMASQ":
		default:
			continue
		}
		if !ok {
			return false
		}
		for _, c := range cidrs {
			// net.ParseCIDR takes 10.0.0.0/08, which flanneld never writes.
			if _, _, err := net.ParseCIDR(c); err != nil || strings.Contains(c, "/0") {
				return false
			}
		}
		has[strings.Replace(key, "IPV6_", "", 1)] = true
	}
	return sc.Err() == nil && len(has) == 4
}

// FuzzSubnetEnv: no file that the plugin takes is called broken.
func FuzzSubnetEnv(f *testing.F) {
	for _, s := range []string{
		subnetEnv, subnetEnvV6, subnetEnv + subnetEnvV6, strings.ReplaceAll(subnetEnv, "\n", "\r\n"), "", "\x00",
		"FLANNEL_NETWORK=10.244.0.0/16,10.245.0.0/16\nFLANNEL_SUBNET=10.244.1.1/24\nFLANNEL_MTU=1450\nFLANNEL_IPMASQ=true\n",
		"FLANNEL_NETWORK=10.42.0.0/16\nFLANNEL_SUBNET=10.42.0.1/24\nFLANNEL_MTU", "FLANNEL_MTU=-1\n=\n==\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		err := CheckSubnetEnv(raw)
		if err != nil && pluginTakes(raw) {
			t.Errorf("%q: %v, and the plugin takes it", raw, err)
		}
		n := listOf(t, `{"type":"flannel"}`)
		for _, p := range n.Pools(func(string) []byte { return raw }) {
			if _, full := p.Full([]string{"lock", "last_reserved_ip.0"}); full {
				t.Errorf("%q: full without a reservation", raw)
			}
		}
	})
}

// credentialErrors are all errors that may be shown. None has a place for a value of the file but the time.
var credentialErrors = regexp.MustCompile(`^(is no valid YAML|names no server|has no user|has no credential|client certificate is no base64|` +
	`client certificate is no PEM|client certificate cannot be parsed|(token|client certificate) expired on -?\d{4,}-\d\d-\d\d \d\d:\d\d UTC)$`)

// FuzzKubeconfig: whatever stands in the file or in its token, an error says none of it.
func FuzzKubeconfig(f *testing.F) {
	const secret = "hunter2"
	for _, s := range []string{
		oneLine, kubeconfigWith("token: " + secret), kubeconfigWith("token: " + jwt(`{"exp":1,"sub":"`+secret+`"}`)), "", "users: {" + secret + "}",
		kubeconfigWith("client-certificate-data: " + b64(certUntil(f, now))), kubeconfigWith("tokenFile: /t\nusername: " + secret),
		kubeconfigWith("exec: {command: aws}"), contexts("old", "a", secret), secret + ": &a [*a]\nusers: *a\n", "<<: *" + secret, "- !" + secret + " x",
	} {
		f.Add([]byte(s), jwt(`{"exp":%d}`, now.Unix()))
	}
	for _, claims := range []string{`{"exp":"1.5e9"}`, `{"exp":-1}`, `{"exp":"` + secret + `"}`, secret} {
		f.Add([]byte(kubeconfigWith("token: x")), jwt("%s", claims))
	}
	f.Fuzz(func(t *testing.T, raw []byte, token string) {
		start := time.Now()
		cred, err := CheckKubeconfig(raw, now)
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("took %v", d)
		}
		for _, err := range []error{err, CheckToken(token, now), CheckToken(string(raw), now), CheckCert(raw, now)} {
			if err != nil && (!credentialErrors.MatchString(err.Error()) || strings.Contains(err.Error(), secret)) {
				t.Errorf("%v", err)
			}
		}
		if err != nil && cred != (Credential{}) {
			t.Errorf("%+v beside %v", cred, err)
		}
	})
}
