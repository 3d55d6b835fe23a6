package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/checks"
)

// TestRunbooks holds the page of each condition to the check's help; go test -update writes them anew.
func TestRunbooks(t *testing.T) {
	t.Parallel()
	const dir = "../../deploy/runbooks"
	for _, chk := range checks.All() {
		sameFile(t, filepath.Join(dir, chk.Condition+".md"), runbook(chk))
	}
	pages, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) != len(checks.All()) {
		t.Errorf("%d pages in %s, want one a check", len(pages), dir)
	}
}

func runbook(chk plugin.Check) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\nCheck %s: %s. True has the reason `%s`, False `%s`.\n", chk.Condition, chk.Name, chk.Title, chk.Reason, chk.HealthyReason)
	b.WriteString("Unknown says that the check could not look, and its message why; it is no verdict.\n\n" +
		"The message names the cause. For all pods, evidence and cure, on the node:\n\n```sh\nsandbox-checker report\n```\n")
	for _, s := range sections(chk) {
		fmt.Fprintf(&b, "\n## %s\n\n", s.title)
		for _, l := range s.lines {
			fmt.Fprintf(&b, "- %s\n", l)
		}
	}
	return b.String()
}

// TestReadmeTables holds the two tables of the README to the checks' help.
func TestReadmeTables(t *testing.T) {
	t.Parallel()
	const path = "../../README.md"
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := replaceTable(t, string(raw), "| check |", shortTable())
	sameFile(t, path, replaceTable(t, page, "| without |", withoutTable()))
}

func shortTable() string {
	var b strings.Builder
	b.WriteString("| check | reads | says | cure |\n|---|---|---|---|\n")
	for _, chk := range checks.All() {
		s := chk.Help.Short
		fmt.Fprintf(&b, "| %s | %s | %s: %s | %s |\n", chk.Name, s.Reads, chk.Condition, s.Says, s.Cure)
	}
	return b.String()
}

func withoutTable() string {
	var b strings.Builder
	b.WriteString("| without |")
	for _, chk := range checks.All() {
		fmt.Fprintf(&b, " %s |", chk.Name)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(checks.All())) + "\n")
	for i, lack := range plugin.Lacks {
		fmt.Fprintf(&b, "| %s |", lack)
		for _, chk := range checks.All() {
			fmt.Fprintf(&b, " %s |", chk.Help.Without.Cells()[i])
		}
		b.WriteString("\n")
	}
	return b.String()
}

// replaceTable puts table where the page has one that begins with head.
func replaceTable(t *testing.T, page, head, table string) string {
	t.Helper()
	before, after, ok := strings.Cut(page, "\n"+head)
	if !ok {
		t.Fatalf("no table %q", head)
	}
	_, after, _ = strings.Cut(after, "\n\n") // the table ends with an empty line
	return before + "\n" + table + "\n" + after
}

// sameFile holds the file to want; go test -update writes it.
func sameFile(t *testing.T, path, want string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s is not what the checks' help gives (go test -update writes it anew): %v", path, err)
	}
}
