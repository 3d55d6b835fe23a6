package checks_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

// TestSecrets plants tokens, keys and passwords in configurations and kubeconfigs, good and broken ones. None may come out.
func TestSecrets(t *testing.T) {
	enc := base64.RawURLEncoding.EncodeToString
	jwt := func(exp string) string {
		return enc([]byte(`{"alg":"RS256"}`)) + "." + enc([]byte(`{"sub":"system:serviceaccount:planted-subject","exp":`+exp+`}`)) + "." + enc([]byte("planted-signature-of-the-token"))
	}
	const (
		opaque = "planted-0paque-t0ken"
		pass   = "planted-Passw0rd!"
		key    = "LS0tLS1CRUdJTiBwbGFudGVkLWtleS0tLS0tCg=="
	)
	good, old := jwt("1772500000"), jwt("1772000000")
	secrets := []string{opaque, pass, key, "planted"}
	for _, tok := range []string{good, old} {
		secrets = append(secrets, strings.Split(tok, ".")[1:]...)
	}

	const path = "/etc/cni/net.d/calico-kubeconfig"
	kube := func(user string) string {
		return `apiVersion: v1
kind: Config
clusters:
- {name: local, cluster: {server: "https://planted-user:` + pass + `@10.96.0.1:443"}}
users:
- name: calico
  user: ` + user + `
contexts:
- {name: c, context: {cluster: local, user: calico}}
current-context: c
`
	}
	calico := `{"cniVersion": "1.0.0", "name": "podnet", "plugins": [{"type": "calico", "ipam": {"type": "calico-ipam"}, "nodename_file_optional": true,
  "etcd_password": "` + pass + `", "kubernetes": {"kubeconfig": "` + path + `", "k8s_auth_token": "` + opaque + `"}}]}`
	linkerd := `{"name": "podnet", "type": "linkerd-cni", "policy": {"k8s_auth_token": "` + good + `", "k8s_client_key": "` + key + `"}}`
	missing := strings.ReplaceAll(calico, `"calico-ipam"`, `"gone-ipam"`)

	for _, c := range []struct {
		name, file, conf, kube string
		load                   string // the cause of the runtime; "" when the file loads
		exit                   int
	}{
		{"good list and token", "10-x.conflist", calico, kube(`{token: "` + good + `"}`), "", 0},
		{"good plugin", "10-x.conf", linkerd, "", "", 0},
		{"good list, password", "10-x.conflist", calico, kube(`{username: admin, password: "` + pass + `"}`), "", 0},
		{"good list, exec", "10-x.conflist", calico, kube(`{exec: {command: get-token, env: [{name: T, value: "` + opaque + `"}]}}`), "", 0},
		{"program missing", "10-x.conflist", missing, kube(`{token: "` + opaque + `"}`), "", 1},
		{"kubeconfig missing", "10-x.conflist", calico, "", "", 1},
		{"token expired", "10-x.conflist", calico, kube(`{token: "` + old + `"}`), "", 1},
		{"key and no certificate", "10-x.conflist", calico, kube(`{client-key-data: "` + key + `"}`), "", 1},
		{"certificate is none", "10-x.conflist", calico, kube(`{client-certificate-data: "` + key + `", client-key-data: "` + key + `"}`), "", 1},
		{"certificate is no base64", "10-x.conflist", calico, kube(`{client-certificate-data: "` + pass + `"}`), "", 1},
		{"kubeconfig names no server", "10-x.conflist", calico, strings.ReplaceAll(kube(`{token: "`+opaque+`"}`), "server:", "sever:"), "", 1},
		{"YAML of another shape", "10-x.conflist", calico, "users: " + opaque + "\nclusters: [" + pass + "]\n", "", 1},
		{"YAML with an odd alias", "10-x.conflist", calico, "users: *" + opaque + "\n", "", 1},
		{"YAML cut short", "10-x.conflist", calico, kube(`{token: "` + opaque), "", 1},
		{"YAML with a tab", "10-x.conflist", calico, kube("\n\t" + opaque + ": [" + pass), "", 1},
		{"YAML with a token as its key", "10-x.conflist", calico, "- " + opaque + "\n- !!int " + pass + "\n", "", 1},
		{"list cut short", "10-x.conflist", calico[:strings.Index(calico, opaque)+len(opaque)], "", "unexpected end of JSON input", 1},
		{"plugin with a bare word", "10-x.conf", strings.Replace(linkerd, `"`+good+`"`, opaque, 1), "", "invalid character 'p' looking for beginning of value", 1},
		{"plugin of another shape", "10-x.conf", strings.Replace(linkerd, `"name"`, `"dns": "`+pass+`", "name"`, 1), "", "json: cannot unmarshal string into Go struct field PluginConf.dns of type types.DNS", 1},
		{"list with a token for a boolean", "10-x.conflist", strings.Replace(calico, `"name"`, `"disableCheck": "`+opaque+`", "name"`, 1), "", `invalid value "` + opaque + `" for disableCheck`, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			load := loadedOK
			if c.load != "" {
				load = "cni config load failed: failed to load CNI config list file " + confDir + "/" + c.file + ": error parsing configuration list: " + c.load + ": invalid cni config: failed to load cni config"
			}
			f := onContainerd(t, c.load == "", load)
			put(f, c.file, c.conf)
			if c.kube != "" {
				f.Content[path] = []byte(c.kube)
			}
			v, r := verdict(t, f)
			if int(v.Status) != c.exit {
				t.Errorf("exit %d, want %d\n%s", v.Status, c.exit, v.Line)
			}
			for where, said := range map[string]string{"line": v.Line, "findings": fmt.Sprintf("%+v", r.Findings), "notes": fmt.Sprintf("%s %q", r.Looked, r.Held)} {
				for _, s := range secrets {
					// libcni puts some words into lower case before it quotes them.
					if strings.Contains(strings.ToLower(said), strings.ToLower(s)) {
						t.Errorf("%s: %q came out:\n%s", where, s, said)
					}
				}
			}
		})
	}
}
