package capture

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// Shapes in which CNI agents and runtimes write credentials, and shapes of files that are broken.
func TestHideSecretsOfOddShapes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ text, stays string }{
		// Calico's and Multus's kubeconfig: the key above the secret stands alone on its line.
		{"users:\n- name: calico\n  user:\n    token: hunter2\ncontexts: []\n", "- name: calico\n  user:\n    token: REDACTED\ncontexts: []\n"},
		{"users:\n- name: k\n  user:\n    password: hunter2\n    client-key-data: hunter2hunter2\n", "client-key-data: REDACTED\n"},
		{"user:\n  client-key-data: |\n    hunter2\n\n    hunter2\n  username: u\n", "  username: u\n"},
		{"tokens:\n- hunter2\n- hunter2\nother: 1\n", "other: 1\n"},
		{"tokens: [hunter2, b]\nother: 1\n", "other: 1\n"},
		{"user: {username: u, password: hunter2 with spaces}\n", "username: u"},
		{"password: abc,hunter2\n", "password: REDACTED\n"},
		{"password: one hunter2\n", "password: REDACTED\n"},
		{"password: 'one hunter2'\n", "password: 'REDACTED'\n"},
		{"'token': hunter2\n", "REDACTED"},
		{"password: \"one\n  hunter2\"\nother: 1\n", "other: 1\n"},
		{"password = \"\"\"\nhunter2\n\"\"\"\nother = 1\n", "other = 1\n"},
		{"export TOKEN='a hunter2' # mine\n", "export TOKEN="},
		{`{"password": 72756e746572}`, "REDACTED"},
		{`{"token": "hunter2", "token": ""}`, `"token": ""`},
		{`{"tokens": ["hunter2",`, `{"tokens": ["REDACTED",`},
		{`{"token": {"value": "hunter2"`, "REDACTED"},
		{"{\"a\": 1,\n \"token\": hunter2, }", `"a": 1`},
		// containerd tells the loaded CNI file as JSON in a string.
		{`{"cniconfig": {"Networks": [{"Config": {"Source": "{\"type\":\"calico\",\"k8s_auth_token\":\"hunter2\"}"}}]}}`, `\"type\":\"calico\"`},
		{`{"headers": {"Authorization": "Basic hunter2hunter2"}}`, `"headers"`},
		{"Authorization: Bearer hunter2hunter2\n", "Authorization: "},
		{`{"x": "Bearer hunter2hunter2"}`, `Bearer REDACTED`},
		{`{"pass": "hunter2", "pwd": "hunter2", "psk": "hunter2"}`, `"pwd"`},
		{`{"url": "redis://:hunter2@host:6379/0"}`, "redis://REDACTED@host:6379/0"},
		{`{"url": "http://u:p@hunter2@host/x"}`, "http://REDACTED@host/x"},
		{`{"url": "https://hunter2@host/x"}`, "https://REDACTED@host/x"},
		{"-----BEGIN OpenVPN Static key V1-----\nhunter2\n-----END OpenVPN Static key V1-----\nafter\n", "after\n"},
	} {
		got := string(hideSecrets([]byte(tc.text)))
		if strings.Contains(got, "hunter2") || strings.Contains(got, "72756e746572") || !strings.Contains(got, tc.stays) {
			t.Errorf("%s\nbecame\n%s\nwhich has to hold %s", tc.text, got, tc.stays)
		}
		if json.Valid([]byte(tc.text)) && !json.Valid([]byte(got)) {
			t.Errorf("no longer JSON: %s", got)
		}
		if again := string(hideSecrets([]byte(got))); again != got {
			t.Errorf("hidden again it changes:\n%s\n%s", got, again)
		}
	}
}

// A file that is broken is broken at one place, and the rest of it is what a person has to see.
func TestHideSecretsKeepsTheRest(t *testing.T) {
	t.Parallel()
	const text = "{\n  \"name\":  \"x\",,\n  \"token\": \"hunter2\",\n  \"plugins\": [ {\"type\":\"a\"} }\n\x00"
	if got, want := string(hideSecrets([]byte(text))), strings.Replace(text, "hunter2", "REDACTED", 1); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, text := range []string{"token:\n\nother: 1\n", "key:\nother: 1\n", "a: b\r\n\r\nc: d\r\n", "{\"a\": 1e5, b: c: d, 'x': \"y\"}", "[crio]\nx = [\"a\"]\n"} {
		if got := string(hideSecrets([]byte(text))); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestHideSecretsInSandboxStatus(t *testing.T) {
	t.Parallel()
	f := full()
	f.CRI.Sandbox = map[string][]byte{"a": []byte(`{"status": {"annotations": {"token": "hunter2"}}}`)}
	f.HideSecrets()
	if got := string(f.CRI.Sandbox["a"]); strings.Contains(got, "hunter2") {
		t.Error(got)
	}
}

// FuzzHideSecretsInText plants a secret in YAML, TOML and broken JSON.
func FuzzHideSecretsInText(f *testing.F) {
	f.Add("apiVersion: v1\n", "token", "  ")
	f.Add("FLANNEL_NETWORK=10.244.0.0/16\n", "etcd_password", "")
	f.Add("users:\n- name: calico\n", "client-key-data", "    ")
	f.Fuzz(func(t *testing.T, before, key, indent string) {
		const secret = "Pl4nted-S3cret"
		if !isSecretKey(key) || strings.Contains(before, secret) || strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") != "" ||
			strings.Trim(indent, " ") != "" || strings.ContainsAny(before, "\"'`{}[]|>\r") {
			return // quotes and brackets around it may make the line part of another value
		}
		for _, text := range []string{
			fmt.Sprintf("%s\n%s%s: %s\n", before, indent, key, secret),
			fmt.Sprintf("%s\n%s%s: two %s words\n", before, indent, key, secret),
			fmt.Sprintf("%s\n%suser:\n%s  %s: %s\n", before, indent, indent, key, secret),
			fmt.Sprintf("%s\n%s%s: |\n%s  %s\n", before, indent, key, indent, secret),
			fmt.Sprintf("%s\n%s%s = %q\n", before, indent, key, secret),
			fmt.Sprintf("%s\n%suser: {name: u, %s: %s, x: y}\n", before, indent, key, secret),
		} {
			if got := hideSecrets([]byte(text)); strings.Contains(string(got), secret) {
				t.Errorf("%q\nbecame\n%q", text, got)
			}
		}
	})
}
