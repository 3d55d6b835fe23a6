package deploy_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"testing"
	"unicode/utf8"
)

// crdDir has the consumers' CustomResourceDefinitions, shortened: they refuse what the whole ones refuse, and every field that
// no sample has. CRDS names a directory with the whole ones.
var crdDir = cmp.Or(os.Getenv("CRDS"), "testdata/crds")

// schemas are the OpenAPI schemas of the CRDs, by apiVersion and kind.
func schemas(t *testing.T) map[string]object {
	t.Helper()
	out := map[string]object{}
	for _, p := range files(t, crdDir, ".yaml") {
		for _, crd := range documents(t, p, read(t, p)) {
			for _, v := range list(at(crd, "spec", "versions")) {
				key := fmt.Sprintf("%v/%v %v", at(crd, "spec", "group"), at(v, "name"), at(crd, "spec", "names", "kind"))
				out[key], _ = at(v, "schema", "openAPIV3Schema").(object)
			}
		}
	}
	return out
}

// validate lists what a structural schema refuses. CEL rules (x-kubernetes-validations) need the API server.
func validate(where string, v any, schema object) []string {
	if schema["x-kubernetes-preserve-unknown-fields"] == true && schema["properties"] == nil {
		return nil
	}
	if schema["x-kubernetes-int-or-string"] == true {
		switch v.(type) {
		case int, string:
			return facets(where, v, schema)
		}
		return []string{fmt.Sprintf("%s: %v, want a number or a string", where, v)}
	}
	switch schema["type"] {
	case "object":
		m, ok := v.(object)
		if !ok {
			return []string{fmt.Sprintf("%s: %v, want an object", where, v)}
		}
		return validateObject(where, m, schema)
	case "array":
		l, ok := v.([]any)
		if !ok {
			return []string{fmt.Sprintf("%s: %v, want a list", where, v)}
		}
		return validateList(where, l, schema)
	}
	want := map[any]reflect.Kind{"string": reflect.String, "boolean": reflect.Bool, "integer": reflect.Int}[schema["type"]]
	if v == nil || reflect.TypeOf(v).Kind() != want {
		return []string{fmt.Sprintf("%s: %v, want a %v", where, v, schema["type"])}
	}
	return facets(where, v, schema)
}

func validateObject(where string, m, schema object) (out []string) {
	properties, _ := schema["properties"].(object)
	rest, _ := schema["additionalProperties"].(object)
	for key, v := range m {
		here := where + "." + key
		switch p, ok := properties[key].(object); {
		case ok:
			out = append(out, validate(here, v, p)...)
		case rest != nil:
			out = append(out, validate(here, v, rest)...)
		case schema["x-kubernetes-preserve-unknown-fields"] != true:
			out = append(out, here+": unknown field")
		}
	}
	for _, r := range list(schema["required"]) {
		if _, ok := m[text(r)]; !ok {
			out = append(out, where+"."+text(r)+": missing")
		}
	}
	return append(out, between(where, len(m), schema["minProperties"], schema["maxProperties"])...)
}

func validateList(where string, l []any, schema object) (out []string) {
	items, _ := schema["items"].(object)
	var keys [][]any
	for i, v := range l {
		out = append(out, validate(fmt.Sprintf("%s[%d]", where, i), v, items)...)
		var key []any
		for _, k := range list(schema["x-kubernetes-list-map-keys"]) {
			key = append(key, at(v, text(k)))
		}
		if key != nil && slices.ContainsFunc(keys, func(k []any) bool { return reflect.DeepEqual(k, key) }) {
			out = append(out, fmt.Sprintf("%s: %v is there twice", where, key))
		}
		keys = append(keys, key)
	}
	return append(out, between(where, len(l), schema["minItems"], schema["maxItems"])...)
}

// facets are what a schema says of a string or a number.
func facets(where string, v any, schema object) (out []string) {
	if enum := list(schema["enum"]); enum != nil && !slices.Contains(enum, v) {
		out = append(out, fmt.Sprintf("%s: %v, want one of %v", where, v, enum))
	}
	switch v := v.(type) {
	case string:
		if p := text(schema["pattern"]); p != "" && !regexp.MustCompile(p).MatchString(v) {
			out = append(out, fmt.Sprintf("%s: %q does not match %s", where, v, p))
		}
		out = append(out, between(where, utf8.RuneCountInString(v), schema["minLength"], schema["maxLength"])...)
	case int:
		out = append(out, between(where, v, schema["minimum"], schema["maximum"])...)
	}
	return out
}

func between(where string, n int, low, high any) []string {
	if l, ok := low.(int); ok && n < l {
		return []string{fmt.Sprintf("%s: %d, want at least %d", where, n, l)}
	}
	if h, ok := high.(int); ok && n > h {
		return []string{fmt.Sprintf("%s: %d, want at most %d", where, n, h)}
	}
	return nil
}

// samples with a CRD, by file.
var samples = map[string]string{
	"node-readiness-controller/bootstrap-gate.yaml": "readiness.node.x-k8s.io/v1alpha1 NodeReadinessRule",
	"node-readiness-controller/problem-gate.yaml":   "readiness.node.x-k8s.io/v1alpha1 NodeReadinessRule",
	"medik8s/nodehealthcheck.yaml":                  "remediation.medik8s.io/v1alpha1 NodeHealthCheck",
	"cluster-api/machinehealthcheck-v1beta1.yaml":   "cluster.x-k8s.io/v1beta1 MachineHealthCheck",
	"cluster-api/machinehealthcheck-v1beta2.yaml":   "cluster.x-k8s.io/v1beta2 MachineHealthCheck",
	"karpenter/nodepool.yaml":                       "karpenter.sh/v1 NodePool",
}

func TestSamplesFitTheirCRDs(t *testing.T) {
	t.Parallel()
	all := schemas(t)
	for file, kind := range samples {
		schema := all[kind]
		if schema == nil {
			t.Errorf("no CRD has %s", kind)
			continue
		}
		for _, doc := range documents(t, file, read(t, filepath.Join("remedies", file))) {
			if got := fmt.Sprintf("%v %v", doc["apiVersion"], doc["kind"]); got != kind {
				t.Errorf("%s: %s, want %s", file, got, kind)
			}
			if name := text(at(doc, "metadata", "name")); name == "" {
				t.Errorf("%s: no name", file)
			}
			delete(doc, "metadata") // the API server knows its fields, the CRD does not
			for _, problem := range validate("", doc, schema) {
				t.Errorf("%s: %s", file, problem)
			}
		}
	}
}

// What the validator must refuse: else the test above shows nothing.
func TestValidatorRefuses(t *testing.T) {
	t.Parallel()
	all := schemas(t)
	for name, c := range map[string]struct {
		file  string
		spoil func(spec object)
	}{
		"unknown field":    {"node-readiness-controller/problem-gate.yaml", func(s object) { s["dryrun"] = true }},
		"wrong type":       {"node-readiness-controller/problem-gate.yaml", func(s object) { s["dryRun"] = "true" }},
		"boolean status":   {"node-readiness-controller/problem-gate.yaml", func(s object) { at(s, "conditions", 0).(object)["requiredStatus"] = false }},
		"enum":             {"node-readiness-controller/problem-gate.yaml", func(s object) { s["enforcementMode"] = "always" }},
		"missing":          {"node-readiness-controller/problem-gate.yaml", func(s object) { delete(s, "taint") }},
		"empty list":       {"node-readiness-controller/problem-gate.yaml", func(s object) { s["conditions"] = []any{} }},
		"twice":            {"node-readiness-controller/problem-gate.yaml", func(s object) { s["conditions"] = append(list(s["conditions"]), at(s, "conditions", 0)) }},
		"bad duration":     {"medik8s/nodehealthcheck.yaml", func(s object) { at(s, "unhealthyConditions", 0).(object)["duration"] = "900" }},
		"field of v1beta1": {"cluster-api/machinehealthcheck-v1beta2.yaml", func(s object) { s["maxUnhealthy"] = "20%" }},
		"seconds as text":  {"cluster-api/machinehealthcheck-v1beta2.yaml", func(s object) { at(s, "checks").(object)["nodeStartupTimeoutSeconds"] = "600" }},
		"taint effect":     {"karpenter/nodepool.yaml", func(s object) { at(s, "template", "spec", "startupTaints", 0).(object)["effect"] = "NoStart" }},
	} {
		doc := documents(t, c.file, read(t, filepath.Join("remedies", c.file)))[0]
		delete(doc, "metadata")
		c.spoil(doc["spec"].(object))
		if len(validate("", doc, all[samples[c.file]])) == 0 {
			t.Errorf("%s: accepted", name)
		}
	}
}
