package main

import (
	"log/slog"
	"os"
	"testing"
)

// asProgram makes a run of the test binary a run of the program: with real signals, streams and limits.
const asProgram = "SANDBOX_CHECKER_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	slog.SetDefault(slog.New(slog.DiscardHandler)) // as main does
	os.Exit(m.Run())
}
