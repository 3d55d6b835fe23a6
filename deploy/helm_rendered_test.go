package deploy_test

import (
	"crypto/sha256"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// helmRendered are the documents that the chart makes of helm/values.yaml, by kind. The copy says which values it was made of.
func helmRendered(t *testing.T) map[string]object {
	t.Helper()
	raw := read(t, "testdata/rendered/helm.yaml")
	want := fmt.Sprintf("# values %x", sha256.Sum256([]byte(read(t, "helm/values.yaml"))))
	if first, _, _ := strings.Cut(raw, "\n"); first != want {
		t.Errorf("%s; it was made of %s. Render again: helm/README.md", want, first)
	}
	out := map[string]object{}
	for _, doc := range documents(t, "helm.yaml", raw) {
		kind := text(doc["kind"])
		if out[kind] != nil {
			t.Errorf("two of kind %s", kind)
		}
		out[kind] = doc
	}
	return out
}

// What the chart makes of the values has all that overlays/containerd has, and beside it only what is the chart's own.
func TestHelmRendered(t *testing.T) {
	t.Parallel()
	set, daemonSet := helmRendered(t)["DaemonSet"], rendered(t, "containerd")
	want := podOf(t, "containerd")
	spec, _ := at(set, "spec", "template", "spec").(object)
	got := pod{spec: spec, container: named(spec["containers"], "node-problem-detector"), volumes: list(spec["volumes"])}
	got.mounts = list(got.container["volumeMounts"])

	for _, key := range []string{"initContainers", "hostNetwork", "dnsPolicy", "tolerations", "priorityClassName", "nodeSelector"} {
		if want.spec[key] == nil || !reflect.DeepEqual(spec[key], want.spec[key]) {
			t.Errorf("%s: %v, kustomize has %v", key, spec[key], want.spec[key])
		}
	}
	for _, key := range []string{"securityContext", "resources", "env", "imagePullPolicy"} {
		if want.container[key] == nil || !reflect.DeepEqual(got.container[key], want.container[key]) {
			t.Errorf("%s: %v, kustomize has %v", key, got.container[key], want.container[key])
		}
	}
	if !reflect.DeepEqual(at(set, "spec", "updateStrategy"), at(daemonSet, "spec", "updateStrategy")) {
		t.Errorf("updateStrategy %v", at(set, "spec", "updateStrategy"))
	}
	if len(list(spec["containers"])) != 1 || spec["hostPID"] != false || spec["hostUsers"] != true {
		t.Errorf("%d containers, hostPID %v, hostUsers %v", len(list(spec["containers"])), spec["hostPID"], spec["hostUsers"])
	}

	// The chart's own mounts stand for two of ours: /custom-config for the files, /var/log for the pods' log directories.
	own := []string{"log", "localtime", "custom-config"}
	for _, m := range want.mounts {
		name, where := text(at(m, "name")), text(at(m, "mountPath"))
		if name == "sc-config" || name == "sc-pod-logs" && got.covers(where) {
			continue
		}
		if !reflect.DeepEqual(named(got.mounts, name), m) || !reflect.DeepEqual(named(got.volumes, name), named(want.volumes, name)) {
			t.Errorf("%s: %v of %v, kustomize has %v of %v", name, named(got.mounts, name), named(got.volumes, name), m, named(want.volumes, name))
		}
	}
	for _, m := range got.mounts {
		name := text(at(m, "name"))
		if named(want.mounts, name) == nil && !slices.Contains(own, name) || slices.Contains(own, name) && at(m, "readOnly") != true {
			t.Errorf("kustomize has no mount %v", m)
		}
	}
	if at(named(got.volumes, "log"), "hostPath", "path") != "/var/log/" || at(named(got.mounts, "log"), "mountPath") != "/var/log/" {
		t.Errorf("log: %v", named(got.volumes, "log"))
	}
	for _, where := range append(helpPaths(), sockets["containerd"]) {
		if !got.covers(where) {
			t.Errorf("%s is not mounted", where)
		}
	}
}

// The chart hands its flags to a shell as one string. Each of ours has to come out of it whole.
func TestHelmCommand(t *testing.T) {
	t.Parallel()
	command := list(at(helmRendered(t)["DaemonSet"], "spec", "template", "spec", "containers", 0, "command"))
	if len(command) != 3 || command[0] != "/bin/sh" || command[1] != "-c" || strings.ContainsAny(text(command[2]), "\n'\"`$;&|<>\\") {
		t.Fatalf("command %q", command)
	}
	words := strings.Fields(text(command[2]))
	if len(words) < 3 || !slices.Equal(words[:3], []string{"exec", "/node-problem-detector", "--logtostderr"}) {
		t.Fatalf("words %q", words)
	}
	var flags []any
	for _, w := range words[2:] {
		if !strings.HasPrefix(w, "--") || strings.Count(w, "--") != 1 {
			t.Errorf("no flag, or two: %q", w)
		}
		flags = append(flags, w)
	}
	checkFlag(t, flags, "/custom-config/")
}

// The files that the flags name are those of config/, and NPD may do at the API server what rbac.yaml lets it, no more.
func TestHelmObjects(t *testing.T) {
	t.Parallel()
	docs := helmRendered(t)
	spec := at(docs["DaemonSet"], "spec", "template", "spec")
	if name := text(at(docs["ConfigMap"], "metadata", "name")); name == "" || at(named(at(spec, "volumes"), "custom-config"), "configMap", "name") != name {
		t.Errorf("ConfigMap %q, the pod has %v", name, named(at(spec, "volumes"), "custom-config"))
	}
	if named(at(spec, "containers", 0, "volumeMounts"), "custom-config")["mountPath"] != "/custom-config" {
		t.Error("the ConfigMap is mounted elsewhere")
	}
	configMap(t, "helm", docs["ConfigMap"])

	rbac := map[string]object{}
	for _, doc := range documents(t, "", read(t, "kustomize/base/rbac.yaml")) {
		rbac[text(doc["kind"])] = doc
	}
	if rules := list(rbac["ClusterRole"]["rules"]); len(rules) == 0 || !reflect.DeepEqual(list(docs["ClusterRole"]["rules"]), rules) {
		t.Errorf("rules %v, kustomize has %v", docs["ClusterRole"]["rules"], rules)
	}
	account := text(at(docs["ServiceAccount"], "metadata", "name"))
	subject := at(docs["ClusterRoleBinding"], "subjects", 0)
	if account == "" || at(spec, "serviceAccountName") != account || at(subject, "name") != account || at(subject, "kind") != "ServiceAccount" ||
		at(subject, "namespace") != at(docs["DaemonSet"], "metadata", "namespace") ||
		at(docs["ClusterRoleBinding"], "roleRef", "name") != at(docs["ClusterRole"], "metadata", "name") {
		t.Errorf("account %q, binding %v", account, docs["ClusterRoleBinding"])
	}
	if len(docs) != 5 {
		t.Errorf("%d objects", len(docs))
	}
}
