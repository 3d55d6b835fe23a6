package capture

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"
	"time"
)

// jwt is a web token that says whose it is and ends at exp.
func jwt(exp int64) string {
	enc := base64.RawURLEncoding.EncodeToString
	return enc([]byte(`{"alg":"RS256","kid":"hunter2hunter2"}`)) + "." +
		enc(fmt.Appendf(nil, `{"exp":%d,"sub":"system:serviceaccount:kube-system:calico-node"}`, exp)) + "." + enc([]byte("hunter2hunter2 signature"))
}

// The CNI files and agents' files that checks read, with a secret planted in each.
func TestHideSecrets(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text  string
		stays []string
	}{
		"calico with a token": {
			`{"name": "k8s-pod-network", "plugins": [{"type": "calico", "policy": {"type": "k8s", "k8s_auth_token": "hunter2"},
				"kubernetes": {"kubeconfig": "/etc/cni/net.d/calico-kubeconfig"}, "nodename_file": "/var/lib/calico/nodename"}]}`,
			[]string{"/etc/cni/net.d/calico-kubeconfig", "/var/lib/calico/nodename", "k8s-pod-network", `"calico"`},
		},
		"etcd credentials": {
			`{"type": "calico", "etcd_endpoints": "https://10.0.0.1:2379", "etcd_key_file": "/etc/etcd/key.pem", "etcd_password": "hunter2", "etcd_key": "hunter2"}`,
			[]string{"https://10.0.0.1:2379", "/etc/etcd/key.pem"},
		},
		"at any depth":            {`{"type": "x", "auth": {"basic": ["hunter2", {"deep": "hunter2"}], "type": "basic"}}`, []string{`"type": "basic"`}},
		"PEM below innocent keys": {`{"type": "x", "blob": "-----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY-----\n"}`, []string{`"type": "x"`}},
		"web token below innocent keys": {
			`{"type": "x", "blob": "` + jwt(1) + `"}`, []string{`"type": "x"`},
		},
		"broken JSON":        {`{"type": "x", "token": "hunter2", }`, []string{`"type": "x"`}},
		"cut JSON":           {"{\"type\": \"x\",\n\"token\": \"hunter2", []string{`"type": "x"`}},
		"URL":                {`{"type": "x", "proxy": "http://user:hunter2@proxy.example:3128/path"}`, []string{"proxy.example:3128/path"}},
		"YAML":               {"current-context: c\npassword: hunter2\nclient-key-data: aHVudGVyMg==hunter2\n", []string{"current-context: c"}},
		"YAML on one line":   {"user: {token: hunter2, username: admin}\n", []string{"username: admin"}},
		"environment":        {"FLANNEL_NETWORK=10.244.0.0/16\nETCD_PASSWORD=hunter2\n", []string{"FLANNEL_NETWORK=10.244.0.0/16"}},
		"TOML":               {"[crio.network]\nnetwork_dir = \"/etc/cni/net.d\"\npassword = \"hunter2\"\n", []string{"network_dir = \"/etc/cni/net.d\""}},
		"PEM without an end": {"a: b\n-----BEGIN PRIVATE KEY-----\nhunter2\n", []string{"a: b"}},
		"two PEM blocks":     {"-----BEGIN CERTIFICATE-----\nhunter2\n-----END CERTIFICATE-----\nbetween\n-----BEGIN EC PRIVATE KEY-----\nhunter2\n-----END EC PRIVATE KEY-----\n", []string{"between"}},
		"registry of the runtime": {
			`{"config": {"registry": {"configs": {"r.example": {"auth": {"username": "u", "password": "hunter2", "auth": "hunter2", "identitytoken": "hunter2"}, "tls": {"key_file": "/etc/tls/key.pem"}}}}},
			"cniconfig": {"PluginConfDir": "/etc/cni/net.d"}}`,
			[]string{"/etc/cni/net.d", "/etc/tls/key.pem"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := string(hideSecrets([]byte(tc.text)))
			if strings.Contains(got, "hunter2") || strings.Contains(got, "aHVudGVyMg") {
				t.Errorf("still there: %s", got)
			}
			for _, s := range tc.stays {
				if !strings.Contains(got, s) {
					t.Errorf("%s is gone: %s", s, got)
				}
			}
			if json.Valid([]byte(tc.text)) && !json.Valid([]byte(got)) {
				t.Errorf("no longer JSON: %s", got)
			}
			if again := string(hideSecrets([]byte(got))); again != got {
				t.Errorf("hidden again it changes:\n%s\n%s", got, again)
			}
		})
	}
}

// Files without a secret stay byte for byte: an odd space may be what is wrong with them.
func TestHideSecretsLeavesAlone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"",
		`{ "cniVersion":"1.0.0",  "name": "podnet", "plugins":[{"type":"bridge","ipam":{"type":"host-local"}}]}`,
		"{\"name\": \"x\",}\r\n\x00",
		"FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.1.1/24\nFLANNEL_MTU=1450\nFLANNEL_IPMASQ=true\n",
		"apiVersion: v1\nclusters:\n- cluster:\n    server: https://10.96.0.1:443\n    certificate-authority: /etc/kubernetes/pki/ca.crt\n",
		`{"type":"x","tokenFile":"/var/run/secrets/token","token":"","password":null,"client-key":"/etc/kubernetes/pki/a.key"}`,
		"node-1",
		"unix:///run/containerd/containerd.sock",
	} {
		if got := string(hideSecrets([]byte(text))); got != text {
			t.Errorf("%q\nbecame\n%q", text, got)
		}
	}
}

// An expired credential is a verdict, so the end of a credential is kept, and nothing else of it.
func TestStubsKeepTheEnd(t *testing.T) {
	t.Parallel()
	const exp = 1796062056
	got := string(hideSecrets(fmt.Appendf(nil, `{"token": %q}`, jwt(exp))))
	var doc struct{ Token string }
	if err := json.Unmarshal([]byte(got), &doc); err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(doc.Token, ".")
	if len(parts) != 3 {
		t.Fatalf("no web token: %s", got)
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || string(payload) != fmt.Sprintf(`{"exp":%d}`, exp) {
		t.Errorf("payload %s, %v", payload, err)
	}

	end := time.Unix(exp, 0).UTC()
	cert, err := emptyCert(end)
	if err != nil {
		t.Fatal(err)
	}
	got = string(hideSecrets(fmt.Appendf(nil, `{"client-certificate-data": %q}`, base64.StdEncoding.EncodeToString(cert))))
	var user struct {
		Data []byte `json:"client-certificate-data"`
	}
	if err := json.Unmarshal([]byte(got), &user); err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	block, _ := pem.Decode(user.Data)
	if block == nil {
		t.Fatalf("no PEM: %s", user.Data)
	}
	stub, err := x509.ParseCertificate(block.Bytes)
	if err != nil || !stub.NotAfter.Equal(end) || stub.Subject.String() != "" {
		t.Errorf("%v, %v", stub, err)
	}
	if string(user.Data) == string(cert) {
		t.Error("the certificate itself")
	}
	for _, odd := range []string{"", "eyJ", "eyJhbGciOiJub25lIn0", "a.b.c", "eyJ.eyJ.eyJ", "eyJhbGciOiJub25lIn0.e30.x", "eyJhbGciOiJub25lIn0.eyJleHAiOiJzb29uIn0.x"} {
		if got := stubText(odd); got != hiddenValue {
			t.Errorf("%q becomes %q", odd, got)
		}
	}
}

func TestHideSecretsInAllOfACapture(t *testing.T) {
	t.Parallel()
	f := full()
	const conf = `{"token": "hunter2"}`
	f.Content = map[string][]byte{"/etc/cni/net.d/a.conf": []byte(conf), "/proc/stat": []byte("btime 1\n")}
	f.CRI.Info, f.CRI.CRIOConfig = []byte(conf), []byte("password = \"hunter2\"\n")
	f.CRI.Pods, f.CRI.Containers = []byte(`{"items":[{"annotations":{"token":"hunter2"}}]}`), []byte(`{"containers":[{"annotations":{"password":"hunter2"}}]}`)
	f.HideSecrets()
	if text := string(f.Format()); strings.Contains(text, "hunter2") || !strings.Contains(text, "btime 1\n") {
		t.Error(text)
	}
}

// FuzzHideSecrets plants a secret in a file that may be anything else, and looks for it afterwards.
func FuzzHideSecrets(f *testing.F) {
	f.Add(`{"name": "x", "type": "calico"}`, "token")
	f.Add("FLANNEL_NETWORK=10.244.0.0/16\n", "etcd_password")
	f.Add("apiVersion: v1\n", "client-key-data")
	f.Add("\x00\xff{\"", "PASSWD")
	f.Fuzz(func(t *testing.T, around, key string) {
		_ = hideSecrets([]byte(around)) // must not panic, whatever it is
		const secret = "Pl4nted-S3cret"
		if strings.Contains(around, secret) || !isSecretKey(key) {
			return
		}
		name, err := json.Marshal(key)
		if err != nil {
			return
		}
		value, err := json.Marshal(around)
		if err != nil {
			return
		}
		for _, text := range []string{
			fmt.Sprintf(`{"a": %s, %s: %q}`, value, name, secret),
			fmt.Sprintf(`{"a": {%s: [1, {"b": [%q]}]}, "c": %s}`, name, secret, value),
		} {
			if got := hideSecrets([]byte(text)); strings.Contains(string(got), secret) {
				t.Errorf("%s\nbecame\n%s", text, got)
			}
		}
	})
}
