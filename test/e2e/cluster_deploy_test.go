package e2e

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sandbox-checker/test/e2e/internal/archive"
	"sandbox-checker/test/e2e/internal/build"
)

// interval replaces the minute of the shipped configuration, so that the suite fits into an hour. With -interval 60s the
// files are as they are shipped.
var interval = flag.Duration("interval", 15*time.Second, "how often node-problem-detector runs the checks in a cluster")

const (
	detectorImage = "registry.k8s.io/node-problem-detector/node-problem-detector:"
	checkerImage  = "registry.example.com/sandbox-checker:dev" // as the manifests name it
	installed     = "/opt/sandbox-checker/sandbox-checker"
)

// ourConditions with the reasons that tell a healthy node.
var ourConditions = map[string]string{
	"StaleCreatedContainer": "NoStaleCreatedContainer",
	"PodSandboxCrashLoop":   "NoPodSandboxCrashLoop",
	"PodSandboxStartOOM":    "NoPodSandboxStartOOM",
	"CNIConfigProblem":      "NoCNIConfigProblem",
}

var ourEvents = []string{"ContainerStuckCreated", "PodSandboxCrashLooping", "PodStartOOMKilled"}

// importImages gives the node the images that the manifests name: ours by deploy/image, and the detector as its module
// builds it, with a pause program beside it for pods that only look.
func (c *cluster) importImages(t *testing.T) {
	t.Helper()
	checker := filepath.Join(run.dir, "checker.tar")
	if err := build.Image(repository, checker, checkerImage, built(t, buildChecker)); err != nil {
		t.Fatal(err)
	}
	c.importImage(t, checker)
	pause := archive.File{Name: "pause", Mode: 0o755, Content: []byte(readFile(t, built(t, buildPause)))}
	for version, program := range map[string]func() (string, error){"v1.36.0": buildNPD, "v1.34.0": buildNPD134} {
		detector := archive.File{Name: "node-problem-detector", Mode: 0o755, Content: []byte(readFile(t, built(t, program)))}
		file := filepath.Join(run.dir, "npd-"+version+".tar")
		if err := os.WriteFile(file, archive.Image(detectorImage+version, "/node-problem-detector", pause, detector), 0o600); err != nil {
			t.Fatal(err)
		}
		c.importImage(t, file)
	}
}

// deployed gives the directory of an overlay, in a copy where the machine sees it, with this run's interval.
func (c *cluster) deployed(t *testing.T, overlay string) string {
	t.Helper()
	dir := filepath.Join(run.dir, "kustomize")
	if _, err := os.Stat(dir); err != nil {
		if out, err := exec.Command("cp", "-r", "../../deploy/kustomize", dir).CombinedOutput(); err != nil {
			t.Fatalf("cp: %v: %s", err, out)
		}
		files, _ := filepath.Glob(filepath.Join(dir, "components/only-ours/config/*.json"))
		if len(files) != len(ourConditions)+1 {
			t.Fatalf("%d files for the detector, want one for each condition and one for the events", len(files))
		}
		for _, file := range files {
			shipped, own := `"invoke_interval": "60s"`, `"invoke_interval": "`+interval.String()+`"`
			if strings.Count(readFile(t, file), shipped) != 1 {
				t.Fatalf("%s has not %s once", file, shipped)
			}
			writeFile(t, file, strings.Replace(readFile(t, file), shipped, own, 1))
		}
	}
	return filepath.Join(dir, "overlays", overlay)
}

// deploy does what deploy/kustomize/README.md says, and waits until the node has all four conditions.
func (c *cluster) deploy(t *testing.T) {
	t.Helper()
	c.importImages(t)
	c.do(t, "apply", "-k", c.deployed(t, "containerd"))
	c.do(t, "--namespace", "kube-system", "rollout", "status", "daemonset/node-problem-detector", "--timeout=3m")
	c.mustBeWell(t)
}

// testUninstall runs the commands of deploy/README.md: what is applied goes, and so do the conditions, which the detector
// itself never takes away.
func (c *cluster) testUninstall(t *testing.T) {
	c.do(t, "delete", "-k", c.deployed(t, "containerd"))
	c.do(t, "--namespace", "kube-system", "wait", "--for=delete", "pod", "-l", "app=node-problem-detector", "--timeout=2m")
	page := readFile(t, "../../deploy/README.md")
	_, rest, found := strings.Cut(page, "   for node in")
	loop, _, ended := strings.Cut("   for node in"+rest, "   ```")
	if !found || !ended {
		t.Fatal("deploy/README.md has no loop that removes the conditions")
	}
	if out, err := c.try(loop, "sh", "-e"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	conditions := c.conditions()
	for kind := range ourConditions {
		if got, is := conditions[kind]; is {
			t.Errorf("the node still has %+v", got)
		}
	}
	if conditions["Ready"].Status != "True" {
		t.Errorf("the node's own conditions are gone too: %v", conditions)
	}
}

// mustBeWell waits until all four conditions are False, each with its own reason.
func (c *cluster) mustBeWell(t *testing.T) {
	t.Helper()
	for kind, reason := range ourConditions {
		if got := c.waitNodeFor(t, 6*time.Minute, kind, "False"); got.Reason != reason {
			t.Errorf("%s: reason %s, want %s", kind, got.Reason, reason)
		}
	}
}

// detectorPod is the name of the DaemonSet's pod.
func (c *cluster) detectorPod(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(c.do(t, "--namespace", "kube-system", "get", "pods", "-l", "app=node-problem-detector",
		"--field-selector", "status.phase=Running", "-o", "jsonpath={.items[0].metadata.name}"))
}

// askIn runs the installed program inside a pod.
func (c *cluster) askIn(t *testing.T, namespace, pod string, args ...string) answer {
	t.Helper()
	return c.askOn(t, append([]string{c.kubectl, "--namespace", namespace, "exec", pod, "-c", "node-problem-detector", "--", installed}, args...)...)
}

// askNode runs the program on the node itself.
func (c *cluster) askNode(t *testing.T, args ...string) answer {
	t.Helper()
	return c.askOn(t, append([]string{built(t, buildChecker)}, args...)...)
}

func (c *cluster) askOn(t *testing.T, words ...string) answer {
	t.Helper()
	cmd := c.command(words...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	began := time.Now()
	_ = cmd.Run() // its exit status is what counts
	said := answer{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String(), time.Since(began)}
	// kubectl adds a word of its own to what a program in a pod says.
	if strings.HasPrefix(said.stderr, "command terminated with exit code") {
		said.stderr = ""
	}
	return said
}

// podSpec is the pod of the rendered DaemonSet, to be changed and run by itself.
func (c *cluster) podSpec(t *testing.T, overlay string) map[string]any {
	t.Helper()
	out := c.do(t, "create", "--dry-run=client", "-o", "json", "-k", c.deployed(t, overlay))
	for decoder := json.NewDecoder(strings.NewReader(out)); ; {
		var o map[string]any
		if err := decoder.Decode(&o); err != nil {
			t.Fatalf("no DaemonSet in %s: %v", overlay, err)
		}
		if o["kind"] == "DaemonSet" {
			return object(t, object(t, object(t, o, "spec"), "template"), "spec")
		}
	}
}
