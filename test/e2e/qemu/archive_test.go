package qemu

import (
	"os"
	"path/filepath"
	"sync"

	"sandbox-checker/test/e2e/internal/archive"
	"sandbox-checker/test/e2e/internal/build"
)

// The images. The second is the one that is shipped, made by its own tool.
const (
	pauseImage   = "localhost/pause:1"
	checkerImage = "localhost/sandbox-checker:e2e"
)

// buildPauseArchive makes an OCI archive of the pause program: no registry is at hand.
var buildPauseArchive = sync.OnceValues(func() (string, error) {
	pause, err := buildPause()
	if err != nil {
		return "", err
	}
	binary, err := os.ReadFile(pause)
	if err != nil {
		return "", err
	}
	file := filepath.Join(run.dir, "pause.tar")
	return file, os.WriteFile(file, archive.Image(pauseImage, "/pause", archive.File{Name: "pause", Mode: 0o755, Content: binary}), 0o600)
})

var buildCheckerArchive = sync.OnceValues(func() (string, error) {
	checker, err := buildChecker()
	if err != nil {
		return "", err
	}
	file := filepath.Join(run.dir, "sandbox-checker.tar")
	return file, build.Image(repository, file, checkerImage, checker)
})
