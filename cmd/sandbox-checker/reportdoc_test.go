package main

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const reportPage = "REPORT.md"

// TestReportFields holds the table of REPORT.md to the JSON, both ways: each field, in its order, and whether it may be absent.
func TestReportFields(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(reportPage)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([a-z0-9 ]+) \\| (yes|no) \\| [^|]+ \\|$").FindAllStringSubmatch(string(raw), -1) {
		got = append(got, strings.Join(m[1:], ", "))
	}
	want := jsonFields(t, "", reflect.TypeFor[jsonReport]())
	for _, f := range want {
		if !slices.Contains(got, f) {
			t.Errorf("%s has no row %s", reportPage, f)
		}
	}
	for _, f := range got {
		if !slices.Contains(want, f) {
			t.Errorf("%s has a row %s, and the JSON has none", reportPage, f)
		}
	}
	if !t.Failed() && !slices.Equal(got, want) {
		t.Errorf("%s has the fields in the order\n%s\nwant\n%s", reportPage, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// jsonFields are the fields of a struct as "path, type, may be absent".
func jsonFields(t *testing.T, at string, of reflect.Type) []string {
	t.Helper()
	var out []string
	for f := range of.Fields() {
		if !f.IsExported() {
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" || f.Anonymous {
			t.Errorf("%s.%s: want a name in JSON", of, f.Name)
		}
		absent := "no"
		if options == "omitempty" {
			absent = "yes"
		}
		path, kind, list := at+name, f.Type, ""
		if kind.Kind() == reflect.Slice {
			kind, path, list = kind.Elem(), path+"[]", "list of "
		}
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		word, inner := jsonType(t, kind)
		out = append(out, path+", "+list+word+", "+absent)
		if inner {
			out = append(out, jsonFields(t, path+".", kind)...)
		}
	}
	return out
}

// jsonType is the word for a type, and whether it has fields of its own.
func jsonType(t *testing.T, of reflect.Type) (word string, inner bool) {
	t.Helper()
	if of == reflect.TypeFor[time.Time]() {
		return "time", false
	}
	if of.Kind() == reflect.Struct {
		return "object", true
	}
	word = map[reflect.Kind]string{reflect.String: "string", reflect.Int: "number", reflect.Bool: "boolean"}[of.Kind()]
	if word == "" {
		t.Errorf("%s: a type that the page has no word for", of)
	}
	return word, false
}

// TestReportExample: the example of REPORT.md is what report says of a node.
func TestReportExample(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(reportPage)
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("testdata/reports/300m-containerd.json.golden")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "```json\n"+string(example)+"```\n") {
		t.Errorf("the example of %s is not as in testdata/reports/300m-containerd.json.golden", reportPage)
	}
	if readme, err := os.ReadFile("../../README.md"); err != nil || !strings.Contains(string(readme), "](cmd/sandbox-checker/"+reportPage+")") {
		t.Errorf("README.md does not lead to %s: %v", reportPage, err)
	}
}
