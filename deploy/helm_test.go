package deploy_test

import (
	"reflect"
	"strings"
	"testing"
)

// chart is what the chart itself mounts: extraVolumeMounts must not repeat it.
var chart = []any{object{"name": "log", "mountPath": "/var/log/", "readOnly": true}}

// The values give the chart what overlays/containerd has.
func TestHelmValues(t *testing.T) {
	t.Parallel()
	values := documents(t, "", read(t, "helm/values.yaml"))[0]
	want := podOf(t, "containerd")
	got := pod{spec: values, init: named(values["initContainers"], "sandbox-checker-install"), volumes: list(values["extraVolumes"]),
		mounts: list(values["extraVolumeMounts"])}

	if values["hostNetwork"] != true || values["priorityClassName"] != want.spec["priorityClassName"] {
		t.Errorf("hostNetwork %v, priorityClassName %v", values["hostNetwork"], values["priorityClassName"])
	}
	if at(values, "securityContext", "privileged") != true {
		t.Error("not privileged")
	}
	checkTolerations(t, values["tolerations"])
	checkInit(t, got.init, got.volumes)
	checkMounts(t, got)
	checkResources(t, values)
	if !reflect.DeepEqual(got.init, want.init) {
		t.Errorf("init container %v, kustomize has %v", got.init, want.init)
	}
	for _, m := range want.mounts {
		name, where := text(at(m, "name")), text(at(m, "mountPath"))
		if name == "sc-config" || (pod{mounts: chart}).covers(where) {
			continue // the chart's own: /custom-config, /var/log
		}
		if !reflect.DeepEqual(named(got.mounts, name), m) || !reflect.DeepEqual(named(got.volumes, name), named(want.volumes, name)) {
			t.Errorf("%s: mount %v of %v; kustomize has %v of %v", name, named(got.mounts, name), named(got.volumes, name), m, named(want.volumes, name))
		}
	}
	for _, m := range got.mounts {
		if named(want.mounts, text(at(m, "name"))) == nil {
			t.Errorf("kustomize has no mount %v", m)
		}
	}

	var paths []string
	for _, p := range list(at(values, "settings", "custom_plugin_monitors")) {
		paths = append(paths, text(p))
	}
	checkFiles(t, paths, "/custom-config/")
	copies, _ := at(values, "settings", "custom_monitor_definitions").(object)
	for name, content := range configs(t) {
		if strings.TrimSpace(text(copies[name])) != strings.TrimSpace(content) {
			t.Errorf("%s is not config/%s", name, name)
		}
	}
	if len(copies) != len(configs(t)) {
		t.Errorf("%d files, config/ has %d", len(copies), len(configs(t)))
	}
}
