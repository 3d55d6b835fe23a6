package checks_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sandbox-checker/plugin/checks"
)

// TestCasesPage holds testdata/CASES.md to the captures: one row each, with the kinds that its want sections have.
func TestCasesPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("testdata/CASES.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := rowsOf(string(page))
	for _, c := range checks.All() {
		files, err := filepath.Glob("testdata/" + c.Name + "/*.txtar")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			name := c.Name + "/" + strings.TrimSuffix(filepath.Base(path), ".txtar")
			if want := kinds(t, path, c.Name); rows[name] != want {
				t.Errorf("CASES.md: %s is %q, want %q", name, rows[name], want)
			}
			delete(rows, name)
		}
	}
	for name := range rows {
		t.Errorf("CASES.md: no capture %s", name)
	}
}

// rowsOf are the kinds of each row by check and capture.
func rowsOf(page string) map[string]string {
	rows, check := map[string]string{}, ""
	for line := range strings.Lines(page) {
		if head, ok := strings.CutPrefix(line, "## "); ok {
			check = strings.TrimSpace(head)
		}
		cells := strings.Split(line, " | ")
		name := strings.TrimPrefix(cells[0], "| ")
		if _, ok := checks.Named(check); ok && len(cells) >= 4 && name != "capture" {
			rows[check+"/"+name] = cells[2]
		}
	}
	return rows
}

// kinds are those of the want sections, each once, in their order; "(for CHECK)" where another check is asked.
func kinds(t *testing.T, path, check string) string {
	t.Helper()
	var out []string
	for _, w := range read(t, path).Wants {
		kind := w.Kind
		if w.Check != check {
			kind = fmt.Sprintf("%s (for %s)", kind, w.Check)
		}
		if !slices.Contains(out, kind) {
			out = append(out, kind)
		}
	}
	return strings.Join(out, ", ")
}
