// Launch runs commands and tells what they took: it reads a JSON list of commands a line and writes a [cost.Answer] a line.
// It is small, because the peak memory of what a process starts is never below its own.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"sandbox-checker/test/e2e/bench/cost"
)

func main() {
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(r io.Reader, w io.Writer) error {
	in, out := json.NewDecoder(r), json.NewEncoder(w)
	for {
		var cmds []cost.Command
		if err := in.Decode(&cmds); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		var ans cost.Answer
		var err error
		if ans.Cost, err = cost.RunAll(cmds); err != nil {
			ans.Err = err.Error()
		}
		if err := out.Encode(ans); err != nil {
			return err
		}
	}
}
