package process

import (
	"fmt"
	"os/exec"
	"strings"
)

// Output runs a program to its end and gives all that it printed, on stdout and stderr. An error has the command, its
// directory and that output.
func Output(cmd *exec.Cmd) (string, error) {
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s in %q: %w\n%s", strings.Join(cmd.Args, " "), cmd.Dir, err, out)
	}
	return string(out), nil
}

// Run is Output for those who only want to know whether it went well.
func Run(cmd *exec.Cmd) error {
	_, err := Output(cmd)
	return err
}
