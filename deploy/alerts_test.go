package deploy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sandbox-checker/plugin/checks"
)

var anchor = regexp.MustCompile(`(?m)^## (\w+)$`)

func TestAlerts(t *testing.T) {
	t.Parallel()
	groups := documents(t, "", read(t, "alerts/rules.yaml"))[0]["groups"]
	operator := documents(t, "", read(t, "alerts/prometheusrule.yaml"))[0]
	if operator["kind"] != "PrometheusRule" || !reflect.DeepEqual(at(operator, "spec", "groups"), groups) {
		t.Error("prometheusrule.yaml has other groups than rules.yaml")
	}
	runbooks, tests := read(t, "alerts/runbooks.md"), read(t, "alerts/rules_test.yaml")
	var names []string
	for _, g := range list(groups) {
		for _, r := range list(at(g, "rules")) {
			name := text(at(r, "alert"))
			names = append(names, name)
			summary := text(at(r, "annotations", "summary"))
			if at(r, "for") == nil || !strings.HasSuffix(summary, ".") || strings.Contains(summary, "{{") ||
				!strings.Contains(text(at(r, "annotations", "description")), "{{ $labels.") {
				t.Errorf("%s: for %v, %v", name, at(r, "for"), at(r, "annotations"))
			}
			if s := text(at(r, "labels", "severity")); s != "info" && s != "warning" {
				t.Errorf("%s: severity %q", name, s)
			}
			if got := text(at(r, "annotations", "runbook_url")); got != "runbooks.md#"+strings.ToLower(name) || !strings.Contains(runbooks, "\n## "+name+"\n") {
				t.Errorf("%s: runbook %q", name, got)
			}
			if !strings.Contains(tests, "alertname: "+name+"\n") {
				t.Errorf("%s: rules_test.yaml never expects it", name)
			}
			queryNames(t, "alerts/rules.yaml", text(at(r, "expr")))
		}
	}
	for _, m := range anchor.FindAllStringSubmatch(runbooks, -1) {
		if !slices.Contains(names, m[1]) {
			t.Errorf("runbooks.md: no alert %s", m[1])
		}
	}
	for _, c := range conditions() { // one of its own each, so that severities can differ
		if !slices.ContainsFunc(names, func(n string) bool { return n == "Node"+c }) {
			t.Errorf("no alert for %s", c)
		}
	}
}

var (
	matcher = regexp.MustCompile(`\b(condition|type|reason|status)=~?"([^"]*)"`)
	metric  = regexp.MustCompile(`\b((?:kube|problem)_[a-z_]+)\b`)
)

// queryNames holds the labels' values in a query to what the program and NPD's files say. A misspelt one is silent for ever.
func queryNames(t *testing.T, where, query string) {
	t.Helper()
	reasons := []string{}
	for _, c := range checks.All() {
		reasons = append(reasons, c.Reason, c.HealthyReason)
	}
	for _, r := range list(at(documents(t, "", configs(t)["sandbox-events.json"])[0], "rules")) {
		reasons = append(reasons, text(at(r, "reason")))
	}
	known := map[string][]string{"condition": conditions(), "type": conditions(), "reason": reasons, "status": {"true", "false", "unknown"}}
	for _, m := range matcher.FindAllStringSubmatch(query, -1) {
		for _, v := range strings.Split(m[2], "|") {
			if !slices.Contains(known[m[1]], v) {
				t.Errorf("%s: %s %q in %s", where, m[1], v, query)
			}
		}
	}
	for _, m := range metric.FindAllString(query, -1) {
		if !slices.Contains([]string{"kube_node_status_condition", "kube_node_spec_unschedulable", "kube_node_info", "problem_gauge", "problem_counter"}, m) {
			t.Errorf("%s: metric %s", where, m)
		}
	}
}

type dashboard struct {
	Title      string
	Panels     []panel
	Templating struct {
		List []struct{ Name, Type, Definition string }
	}
}

type panel struct {
	ID         int
	Title      string
	Datasource struct{ UID string }
	GridPos    struct{ X, Y, W, H int }
	Targets    []struct {
		Expr       string
		Datasource struct{ UID string }
	}
}

func loadDashboard(t *testing.T) dashboard {
	t.Helper()
	var d dashboard
	if err := json.Unmarshal([]byte(read(t, "grafana/sandbox-checker.json")), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDashboard(t *testing.T) {
	t.Parallel()
	d := loadDashboard(t)
	var variables, queries []string
	for _, v := range d.Templating.List {
		variables = append(variables, v.Name)
		queryNames(t, "variable "+v.Name, v.Definition)
	}
	if !slices.Equal(variables, []string{"datasource", "cluster", "node"}) {
		t.Errorf("variables %q", variables)
	}
	ids, cells := map[int]bool{}, map[[2]int]string{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.Title == "" || len(p.Targets) == 0 || p.Datasource.UID != "${datasource}" {
			t.Errorf("panel %d %q: taken, or without title, query or data source", p.ID, p.Title)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := cells[[2]int{x, y}]; other != "" || x > 23 {
					t.Fatalf("panel %q lies on %q", p.Title, other)
				}
				cells[[2]int{x, y}] = p.Title
			}
		}
		for _, q := range p.Targets {
			if q.Datasource.UID != "${datasource}" {
				t.Errorf("panel %q: data source %q", p.Title, q.Datasource.UID)
			}
			queryNames(t, "panel "+p.Title, q.Expr)
			queries = append(queries, q.Expr)
		}
	}
	all := strings.Join(queries, "\n")
	for _, want := range append(conditions(), "problem_counter", `status="unknown"`) {
		if !strings.Contains(all, want) {
			t.Errorf("nothing shows %s", want)
		}
	}
}

// TestPromtool runs the alerts' unit tests and parses the dashboard's queries, with the program in PROMTOOL.
func TestPromtool(t *testing.T) {
	promtool := os.Getenv("PROMTOOL")
	if promtool == "" {
		t.Skip("PROMTOOL names no promtool: test/e2e/deploy builds one and runs this")
	}
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command(promtool, args...)
		cmd.Dir = "alerts"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
	run("check", "rules", "rules.yaml")
	run("test", "rules", "rules_test.yaml")
	var b strings.Builder
	b.WriteString("groups:\n  - name: dashboard\n    rules:\n")
	variables := strings.NewReplacer("$__rate_interval", "5m", "$cluster", ".*", "$node", ".*")
	for i, p := range loadDashboard(t).Panels {
		for _, q := range p.Targets {
			fmt.Fprintf(&b, "      - record: panel:%d\n        expr: %q\n", i, variables.Replace(q.Expr))
		}
	}
	path := filepath.Join(t.TempDir(), "dashboard.yaml")
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	run("check", "rules", path)
}
