package e2e

import (
	"os"
	"path/filepath"
	"sync"

	"sandbox-checker/test/e2e/internal/archive"
)

// pauseImage names the only image of the suite: sandboxes and containers both run it. It holds eat as well.
const pauseImage = "localhost/pause:1"

// buildPauseArchive makes an OCI archive of the pause program: no registry is at hand.
var buildPauseArchive = sync.OnceValues(func() (string, error) {
	var files []archive.File
	for name, build := range map[string]func() (string, error){"pause": buildPause, "eat": buildEat} {
		program, err := build()
		if err != nil {
			return "", err
		}
		binary, err := os.ReadFile(program)
		if err != nil {
			return "", err
		}
		files = append(files, archive.File{Name: name, Mode: 0o755, Content: binary})
	}
	file := filepath.Join(run.dir, "pause.tar")
	return file, os.WriteFile(file, archive.Image(pauseImage, "/pause", files...), 0o600)
})
