package e2e

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"sandbox-checker/test/e2e/internal/document"
)

// shippedConfig gives a file of ../../config as a node would have it, in a copy: only the plugin's path, more flags and
// a shorter interval are put in. All the rest is as it is shipped, for that is what is tried.
func shippedConfig(t *testing.T, name, dir string, flags ...string) string {
	t.Helper()
	var config map[string]any
	if err := json.Unmarshal([]byte(readFile(t, filepath.Join("../../config", name))), &config); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	object(t, config, "pluginConfig")["invoke_interval"] = "2s"
	rules, ok := config["rules"].([]any)
	if !ok || len(rules) == 0 {
		t.Fatalf("%s: want rules", name)
	}
	for _, r := range rules {
		rule, ok := r.(map[string]any)
		if !ok {
			t.Fatalf("%s: the rule is no object", name)
		}
		rule["path"] = built(t, buildChecker)
		args, _ := rule["args"].([]any) // none is none
		for _, flag := range flags {
			args = append(args, flag)
		}
		rule["args"] = args
	}

	file := filepath.Join(dir, name)
	writeFile(t, file, document.JSON(config))
	return file
}

func object(t *testing.T, in map[string]any, key string) map[string]any {
	t.Helper()
	out, ok := in[key].(map[string]any)
	if !ok {
		t.Fatalf("no object %q", key)
	}
	return out
}
