package e2e

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
)

// An agreementCase is a node's pod network in one state: the check says beforehand what the runtime does afterwards.
type agreementCase struct {
	name    string
	arrange func(t *testing.T, n *node)
	want    want
	// With containerd 2 and with CRI-O, where they differ.
	want2, wantCRIO *want
	// only are names of flavours, for what the others cannot have.
	only []string
	// differs is why the check and the runtime do not agree: a limit that the check tells of itself, or a bug.
	differs string
	// differsCRIO is the same where it is so on CRI-O alone.
	differsCRIO string
}

// on gives what the case expects of a flavour.
func (c agreementCase) on(f flavour) (w want, differs string) {
	w, differs = c.want, c.differs
	switch {
	case f.name == containerd2.name && c.want2 != nil:
		w = *c.want2
	case f.name == crio.name && c.wantCRIO != nil:
		w = *c.wantCRIO
	}
	if f.name == crio.name && c.differsCRIO != "" {
		differs = c.differsCRIO
	}
	return w, differs
}

// An outcome is one line of the table.
type outcome struct {
	name, verdict, truth, differs string
	agrees                        bool
}

// atOnce is shorter than quick: there are many cases.
var atOnce = []string{"--boot-grace", "200ms", "--settle", "200ms"}

// seen is longer than those flags, and leaves the runtime time to see a change of its directory.
const seen = 600 * time.Millisecond

// TestAgreement is the table of cni-config against the runtime: whatever the check finds, RunPodSandbox must fail for
// it, and whatever it is silent about must start.
func TestAgreement(t *testing.T) {
	onEachFlavour(t, func(t *testing.T, f flavour) {
		n := newNode(t, f, "agree", ownNetwork)
		var table []outcome
		for _, group := range [][]agreementCase{fileCases, binaryCases, addressCases, agentCases} {
			for _, c := range group {
				if c.only != nil && !slices.Contains(c.only, f.name) {
					continue
				}
				t.Run(c.name, func(t *testing.T) { table = append(table, n.agreement(t, c)) })
			}
		}
		logTable(t, table)
	})
}

func (n *node) agreement(t *testing.T, c agreementCase) outcome {
	t.Helper()
	n.healNetwork(t)
	c.arrange(t, n)
	time.Sleep(seen)
	expected, differs := c.on(n.flavour)
	return n.askBoth(t, c.name, expected, differs)
}

// askBoth asks the check, then the runtime, and holds the one against the other.
func (n *node) askBoth(t *testing.T, name string, expected want, differs string) outcome {
	t.Helper()
	ranBefore := n.marks(t)
	got := n.checkNetwork(t, expected, atOnce...)
	if ran := n.marks(t); len(ran) != len(ranBefore) {
		t.Errorf("the check ran a plugin: %s", ran)
	}
	truth, err := n.probe(t)
	o := outcome{name, fmt.Sprintf("exit %d: %s", got.exit, n.short(got.line)), n.short(truth), differs, got.exit == 0 == (err == nil)}
	if got.exit != 0 && got.exit != 1 {
		o.agrees = false // it promised nothing
	}
	switch {
	case !o.agrees && differs == "":
		t.Errorf("the check says %q, the runtime %q", o.verdict, o.truth)
	case o.agrees && differs != "":
		t.Errorf("they agree now: take the mark away (%s)", differs)
	}
	return o
}

// marks are what stand-ins leave when they are run.
func (n *node) marks(t *testing.T) []string {
	t.Helper()
	marks, err := filepath.Glob(n.plugin("*-was-run"))
	if err != nil {
		t.Fatal(err)
	}
	return marks
}

// probe asks for a pod's network, tells what came of it, and gives the network back.
func (n *node) probe(t *testing.T) (string, error) {
	t.Helper()
	n.probes++
	sandbox, err := n.tryRun(t, pod{name: fmt.Sprintf("probe-%s-%d", n.flavour.name, n.probes)})
	if err != nil {
		return "refused: " + err.Error(), err
	}
	n.do(t, "rmp", "-f", sandbox)
	return "started", nil
}

// beforeCause is what crictl and the runtime put before a plugin's words.
var beforeCause = regexp.MustCompile(`crictl .*desc = (failed to (setup network for|start|create pod network|get network status for pod) sandbox [^:]*: )?`)

// short makes a line of the table readable: the node's directory is the same in all.
func (n *node) short(s string) string {
	s = beforeCause.ReplaceAllString(strings.TrimSpace(s), "")
	return strings.NewReplacer(n.dir+"/", "", `\"`, "'", `"`, "").Replace(s)
}

func logTable(t *testing.T, table []outcome) {
	t.Helper()
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	agreed, apart := 0, 0
	for _, o := range table {
		mark := "agree"
		switch {
		case o.agrees:
			agreed++
		case o.differs != "":
			mark = "differ: " + o.differs
			apart++
		default:
			mark = "DISAGREE"
		}
		_, _ = fmt.Fprintf(w, "%s\t%.90s\t%.110s\t%s\n", o.name, o.verdict, o.truth, mark)
	}
	_ = w.Flush() // to memory
	t.Logf("%d of %d cases agree, %d differ for a known reason\n%s", agreed, len(table), apart, &text)
}
