package sandboxchecker_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A reader finds each file of the e2e suite in its README, and no file there that has gone.
func TestE2EFilesAreInItsTable(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("test/e2e/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(raw), "\n## Where things are\n")
	patterns := []string{}
	for _, quoted := range regexp.MustCompile("`[^`/]+_test\\.go`").FindAllString(table, -1) {
		patterns = append(patterns, strings.Trim(quoted, "`"))
	}
	if len(patterns) == 0 {
		t.Fatal("no file in the table")
	}
	files, err := filepath.Glob("test/e2e/*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	named := map[string]bool{}
	for _, file := range files {
		i := slices.IndexFunc(patterns, func(p string) bool { ok, err := path.Match(p, path.Base(file)); return ok && err == nil })
		if i < 0 {
			t.Errorf("%s is not in the table \"Where things are\"", file)
			continue
		}
		named[patterns[i]] = true
	}
	for _, p := range patterns {
		if !named[p] {
			t.Errorf("%s is in the table and not in test/e2e, or twice in the table", p)
		}
	}
}

// A table ends at an empty line: rows after one are text.
func TestTablesAreWhole(t *testing.T) {
	t.Parallel()
	tables := 0
	for _, p := range tracked(t) {
		if path.Ext(p) != ".md" {
			continue
		}
		raw, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(raw), "\n")
		isRow := func(i int) bool {
			return i >= 0 && i < len(lines) && strings.HasPrefix(strings.TrimSpace(lines[i]), "|")
		}
		for i := range lines {
			if !isRow(i) || isRow(i-1) {
				continue
			}
			tables++
			if !isRow(i+1) || strings.Trim(lines[i+1], "|-: ") != "" {
				t.Errorf("%s:%d: a row without the head of its table", p, i+1)
			}
		}
	}
	if tables == 0 {
		t.Error("no table at all: the rule looks at nothing")
	}
}

var testFunction = regexp.MustCompile(`(?m)^func (Test[A-Z]\w*)\(t \*testing\.T\)`)

// Every end-to-end test is named in that README: what a reader can run alone has to be found.
func TestReadmeNamesEveryEndToEndTest(t *testing.T) {
	t.Parallel()
	readme := readAll(t, "test/e2e/README.md")
	found := 0
	for _, dir := range []string{"", "qemu/", "deploy/", "release/"} {
		files, err := filepath.Glob("test/e2e/" + dir + "*_test.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			for _, m := range testFunction.FindAllStringSubmatch(readAll(t, file), -1) {
				found++
				if !strings.Contains(readme, "`"+m[1]+"`") {
					t.Errorf("%s: %s is not in test/e2e/README.md", file, m[1])
				}
			}
		}
	}
	if found < 40 {
		t.Errorf("only %d tests", found)
	}
}

func readAll(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
