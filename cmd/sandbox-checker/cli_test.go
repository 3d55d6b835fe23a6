package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	npd "k8s.io/node-problem-detector/pkg/custompluginmonitor/types"

	"sandbox-checker/plugin"
)

var update = flag.Bool("update", false, "write testdata/*.golden as the program says it now")

// run is one run of the program.
func run(t *testing.T, args ...string) (exit int, out, err string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c := &cli{out: &stdout, err: &stderr, env: func(string) string { return "" }}
	exit = c.run(args)
	return exit, stdout.String(), stderr.String()
}

// oneLine holds the output of `check` to NPD's protocol.
func oneLine(t *testing.T, out string) string {
	t.Helper()
	line, rest, ok := strings.Cut(out, "\n")
	if !ok || rest != "" || line == "" || len(line) > plugin.MaxLine || line != plugin.Clean(line) {
		t.Errorf("not one clean line of 1 to %d bytes: %q", plugin.MaxLine, out)
	}
	return line
}

func file(t *testing.T, text string) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), "node.txt")
	if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

const (
	head = "sandbox-checker capture 1\n-- now --\n2026-11-30T18:04:12Z\n"
	sick = "demo/reboot.txtar"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	exit, out, stderr := run(t, "check", "stale-created", "--node", sick)
	if line := oneLine(t, out); exit != 1 || !strings.HasPrefix(line, "default/test-created-w2bk5: container main was created before this boot") || stderr != "" {
		t.Errorf("exit %d, stderr %q\n%s", exit, stderr, line)
	}
	exit, out, stderr = run(t, "check", "cni-config", "--node", sick)
	if line := oneLine(t, out); exit != 0 || !strings.HasPrefix(line, "no problem: ") || stderr != "" {
		t.Errorf("exit %d, stderr %q\n%s", exit, stderr, line)
	}
	// Flags may stand anywhere, and an option changes the verdict.
	exit, out, _ = run(t, "check", "--node="+sick, "--grace", "1h", "stale-created", "--stale-after", "100h")
	if line := oneLine(t, out); exit != 0 {
		t.Errorf("within the grace: exit %d\n%s", exit, line)
	}
}

// NPD shows stdout alone, so a slip in its file is told there, and the exit status says that nothing was looked at.
func TestCheckArguments(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ args, says string }{
		{"", "want one name of stale-created"},
		{"stale-created cni-config", "want one name of stale-created"},
		{"stale_created", "check stale_created: unknown, want one of stale-created"},
		{"stale-created --nod x", "unknown flag: --nod"},
		{"stale-created --timeout soon", "invalid argument"},
		{"stale-created --timeout 0s", "--timeout 0s: must be above 0"},
		{"stale-created --timeout -1s", "--timeout -1s: must be above 0"},
		{"stale-created --grace -1s", "--grace -1s: must not be negative"},
		{"cni-config --settle -1s", "--settle -1s: must not be negative"},
		{"cni-config --cni-conf-dir etc/cni", "--cni-conf-dir etc/cni: must be absolute"},
		{"cni-config --cni-bin-dir /opt/cni/bin,bin", "--cni-bin-dir bin: must be absolute"},
		{"cni-config --state-dir state", "--state-dir state: must be absolute"},
		{"sandbox-crashloop --min-pods 0", "--min-pods 0: must be at least 1"},
		{"stale-created --unknown-as fine", "--unknown-as fine: want unknown or ok"},
		{"stale-created --unknown-as ok --timeout 0s", "must be above 0"},
		{"stale-created --log-level loud", "--log-level loud: want off, info or debug"},
		{"stale-created --runtime-endpoint tcp://1.2.3.4:5 --unknown-as unknown", "want unix:///path/to.sock"},
	} {
		exit, out, stderr := run(t, append([]string{"check"}, strings.Fields(tc.args)...)...)
		line := oneLine(t, out)
		if exit != 2 || stderr != "" || !strings.HasPrefix(line, "could not look: ") || !strings.Contains(line, tc.says) {
			t.Errorf("check %s: exit %d, stderr %q, want ...%s...\n%s", tc.args, exit, stderr, tc.says, line)
		}
	}
}

func TestCheckBadCaptures(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, tc := range map[string]struct{ path, says string }{
		"missing":         {filepath.Join(dir, "absent"), "no such file or directory"},
		"empty":           {file(t, ""), "not a capture"},
		"binary":          {file(t, "\x7fELF\x02\x01\x00\xff\xfe%s%d\n"), "not a capture"},
		"directory":       {dir, "no regular file"},
		"unknown section": {file(t, head+"-- podz --\n"), "section podz: unknown name"},
		"no time":         {file(t, "sandbox-checker capture 1\n-- files --\n"), "no section now"},
		"bad line":        {file(t, head+"-- files --\n\nnonsense\n"), "section files: line 2: "},
		"bad JSON":        {file(t, head+"-- cri/pods.json --\nFATA[0000] connect\n"), "cri/pods.json: "},
		"no runtime":      {file(t, head), "the capture has no cri/ section"},
		"runtime error":   {file(t, head+"-- cri/error --\nVersion at /run/x.sock: connection refused\n"), "could not look: Version at /run/x.sock: connection refused"},
	} {
		for _, check := range []string{"stale-created", "cni-config"} {
			exit, out, stderr := run(t, "check", check, "--node", tc.path)
			line := oneLine(t, out)
			if exit != 2 || stderr != "" || !strings.HasPrefix(line, "could not look: ") || !strings.Contains(line, tc.says) {
				t.Errorf("%s, %s: exit %d, stderr %q, want ...%s...\n%s", name, check, exit, stderr, tc.says, line)
			}
		}
		if strings.HasPrefix(name, "no runtime") || strings.HasPrefix(name, "runtime error") {
			continue // these are captures, and report tells what it could see
		}
		exit, out, stderr := run(t, "report", "--node", tc.path)
		if exit != 2 || out != "" || !strings.HasPrefix(stderr, "sandbox-checker: report: ") || strings.Count(stderr, "\n") != 1 {
			t.Errorf("report, %s: exit %d, %q, %q", name, exit, out, stderr)
		}
	}
}

// Some users want NPD to stay quiet about a node that cannot be looked at. The line still says so.
func TestUnknownAsOK(t *testing.T) {
	t.Parallel()
	blind := file(t, head+"-- cri/error --\nVersion at /run/x.sock: connection refused\n")
	for as, want := range map[string]int{"ok": 0, "unknown": 2} {
		exit, out, _ := run(t, "check", "stale-created", "--node", blind, "--unknown-as", as)
		if line := oneLine(t, out); exit != want || !strings.HasPrefix(line, "could not look: Version at") {
			t.Errorf("%s: exit %d\n%s", as, exit, line)
		}
	}
	if exit, _, _ := run(t, "check", "stale-created", "--node", blind+".absent", "--unknown-as", "ok"); exit != 2 {
		t.Errorf("no such capture: exit %d", exit)
	}
	// A problem stays one.
	if exit, _, _ := run(t, "check", "stale-created", "--node", sick, "--unknown-as", "ok"); exit != 1 {
		t.Errorf("a problem: exit %d", exit)
	}
}

// A temporary rule of NPD turns everything but exit 0 into an event of the problem's name, so with --new a check that
// could not look exits 0.
func TestNew(t *testing.T) {
	t.Parallel()
	blind := file(t, head+"-- cri/error --\nVersion at /run/x.sock: connection refused\n")
	for _, tc := range []struct {
		node string
		exit int
		says string
	}{
		{sick, 1, "default/test-created-w2bk5: "},
		{blind, 0, "could not look: Version at"},
		{blind + ".absent", 2, "could not look: "}, // a mistyped path must not look like a healthy node
		{file(t, "no capture"), 2, "could not look: "},
	} {
		exit, out, stderr := run(t, "check", "stale-created", "--new", "--node", tc.node)
		if line := oneLine(t, out); exit != tc.exit || !strings.HasPrefix(line, tc.says) || stderr != "" {
			t.Errorf("%s: exit %d, stderr %q\n%s", tc.node, exit, stderr, line)
		}
	}
}

// fullDisk is a stdout that takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// A result that could not be written must not look like a healthy node.
func TestStdoutFails(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		"check cni-config --node " + sick, "check stale-created --node " + sick, "check stale-created --node " + sick + " --unknown-as ok", "check nonsense",
		"report --node " + sick, "demo", "help", "help stale-created", "version", "no-such-command",
	} {
		var stderr bytes.Buffer
		c := &cli{out: fullDisk{}, err: &stderr, env: func(string) string { return "" }}
		exit := c.run(strings.Fields(args))
		if want := "sandbox-checker: write result: no space left on device\n"; exit != 2 || stderr.String() != want {
			t.Errorf("%s: exit %d, stderr %q", args, exit, stderr.String())
		}
	}
	c := &cli{out: fullDisk{}, err: fullDisk{}, env: os.Getenv}
	if exit := c.run([]string{"version"}); exit != 2 {
		t.Errorf("stderr fails too: exit %d", exit)
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		args      string
		exit      int
		out, says string // patterns
	}{
		{"no-such-command", 2, `^could not look: unknown command no-such-command: see sandbox-checker help\n$`, `^$`},
		{"--node x", 2, `^could not look: unknown command --node: see sandbox-checker help\n$`, `^$`},
		{"version", 0, `^sandbox-checker \S+.* go1\.\d+\S* linux/\w+\n$`, `^$`},
		{"version x", 2, `^$`, `^sandbox-checker: version: takes no arguments\n$`},
		{"help report", 0, `^report \[-o text\|json\] \[--node FILE\]\n(.*\n)*  -o, --output string .*text or json`, `^$`},
		{"check stale-created --timeout 25h", 2, `^could not look: check: --timeout 25h0m0s: must be above 0 and at most 24h0m0s\n$`, `^$`},
		{"check stale-created --state-dir st/a", 2, `^could not look: check: --state-dir st/a: must be absolute\n$`, `^$`},
		{"help no-such-check", 2, `^$`, `^sandbox-checker: help no-such-check: unknown check or command, want one of stale-created.*\n$`},
		{"help stale-created cni-config", 2, `^$`, `^sandbox-checker: help: want one check of .*\n$`},
		{"demo no-such-demo", 2, `^$`, `^sandbox-checker: demo "no-such-demo": unknown, want one of .*reboot.*\n$`},
		{"demo ../demo/reboot", 2, `^$`, `unknown, want one of`},
		{"demo reboot reboot", 2, `^$`, `want one name of`},
		{"report x", 2, `^$`, `^sandbox-checker: report: unexpected argument "x"\n$`},
		{"report --unknown-as ok", 2, `^$`, `unknown flag`},
		{"capture x", 2, `^$`, `^sandbox-checker: capture: unexpected argument "x"\n$`},
		{"capture --node x", 2, `^$`, `unknown flag`},
		{"install", 2, `^$`, `^sandbox-checker: install: want one directory\n$`},
		{"install a b", 2, `^$`, `^sandbox-checker: install: want one directory\n$`},
	} {
		exit, out, stderr := run(t, strings.Fields(tc.args)...)
		if exit != tc.exit || !regexp.MustCompile(tc.out).MatchString(out) || !regexp.MustCompile(tc.says).MatchString(stderr) {
			t.Errorf("%s: exit %d, stdout %q, stderr %q\nwant %d, %s, %s", tc.args, exit, out, stderr, tc.exit, tc.out, tc.says)
		}
	}
	if exit, out, stderr := run(t, "install", ""); exit != 2 || out != "" || stderr == "" {
		t.Errorf("install with an empty name: exit %d, %q, %q", exit, out, stderr)
	}
}

func TestWorst(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		in   []npd.Status
		want int
	}{{nil, 0}, {[]npd.Status{0, 0}, 0}, {[]npd.Status{0, 2}, 2}, {[]npd.Status{2, 1, 0}, 1}, {[]npd.Status{1, 2}, 1}} {
		var out []outcome
		for _, status := range tc.in {
			out = append(out, outcome{verdict: plugin.Verdict{Status: status}})
		}
		if got := (report{outcomes: out}).exit(); got != tc.want {
			t.Errorf("%v: %d, want %d", tc.in, got, tc.want)
		}
	}
}

// Names and files of a node may hold escape sequences; a terminal must not obey them.
func TestPrintable(t *testing.T) {
	t.Parallel()
	if got, want := printable("a\x1b[2Jb\x00\x7f\u009bc\nd\te\u00fc\u202ef\u200bg\u2028h\U0001f600"), "a?[2Jb???c d e\u00fc?f?g?h\U0001f600"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
