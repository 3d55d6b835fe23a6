// Command standin stands in for a CNI plugin that needs an agent on the node: it reads what the real one reads, refuses
// as that one refuses, and otherwise hands the pod to the bridge plugin. Its file name tells which one it is. Beside it
// lies a mark once it was run.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// conf is a plugin's configuration.
type conf map[string]any

func main() {
	if err := run(); err != nil {
		// The form in which a plugin says no.
		answer, _ := json.Marshal(map[string]any{"cniVersion": "0.4.0", "code": 100, "msg": err.Error()})
		_, _ = os.Stdout.Write(answer)
		os.Exit(1)
	}
}

func run() error {
	if err := os.WriteFile(os.Args[0]+"-was-run", nil, 0o644); err != nil {
		return err
	}
	switch os.Getenv("CNI_COMMAND") {
	case "VERSION": // CRI-O asks before it takes the file
		_, err := os.Stdout.WriteString(`{"cniVersion": "0.4.0", "supportedVersions": ["0.3.1", "0.4.0"]}`)
		return err
	case "CHECK": // flannel and calico look at nothing then
		return nil
	}
	raw, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	var c conf
	if err := json.Unmarshal(raw, &c); err != nil {
		return err
	}
	if os.Getenv("CNI_COMMAND") == "DEL" {
		return takeBack()
	}
	delegate, err := needsOf(filepath.Base(os.Args[0]))(c)
	if err != nil {
		return err
	}
	for _, key := range []string{"name", "cniVersion"} {
		delegate[key] = c[key]
	}
	return handOver(delegate)
}

// needsOf gives the function that looks at what a plugin needs and makes the bridge's configuration.
func needsOf(name string) func(conf) (conf, error) {
	if name == "flannel" {
		return flannel
	}
	return calico
}

// handOver runs the bridge plugin and keeps what it was told: a pod must also go when the node has broken since.
func handOver(delegate conf) error {
	raw, err := json.Marshal(delegate)
	if err != nil {
		return err
	}
	if err := os.WriteFile(record(), raw, 0o600); err != nil {
		return err
	}
	return runBridge(raw)
}

func takeBack() error {
	raw, err := os.ReadFile(record())
	if errors.Is(err, os.ErrNotExist) {
		return nil // it never got as far
	}
	if err != nil {
		return err
	}
	return runBridge(raw)
}

func record() string { return os.Args[0] + "-" + os.Getenv("CNI_CONTAINERID") }

func runBridge(stdin []byte) error {
	bridge, err := find("bridge")
	if err != nil {
		return err
	}
	cmd := exec.Command(bridge)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(stdin), os.Stderr
	out, err := cmd.Output()
	_, _ = os.Stdout.Write(out) // its own answer, also when it says no
	if err != nil {
		os.Exit(1)
	}
	return nil
}

// find looks for a plugin where the runtime told us to.
func find(name string) (string, error) {
	path := os.Getenv("CNI_PATH")
	for dir := range strings.SplitSeq(path, ":") {
		if file := filepath.Join(dir, name); isFile(file) {
			return file, nil
		}
	}
	return "", fmt.Errorf("failed to find plugin %q in path [%s]", name, path)
}

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}
