package e2e

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
)

// pauseImage names the only image of the suite: sandboxes and containers both run it. It holds eat as well.
const pauseImage = "localhost/pause:1"

// buildPauseArchive makes an OCI archive of the pause program: no registry is at hand.
var buildPauseArchive = sync.OnceValues(func() (string, error) {
	var files []tarFile
	for name, build := range map[string]func() (string, error){"pause": buildPause, "eat": buildEat} {
		program, err := build()
		if err != nil {
			return "", err
		}
		binary, err := os.ReadFile(program)
		if err != nil {
			return "", err
		}
		files = append(files, tarFile{name, 0o755, binary})
	}
	archive := filepath.Join(run.dir, "pause.tar")
	return archive, os.WriteFile(archive, ociArchive(pauseImage, "/pause", files...), 0o600)
})

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// ociArchive packs static programs as an image of one layer.
func ociArchive(name, entrypoint string, programs ...tarFile) []byte {
	layer := tarOf(programs...)
	config := asJSON(map[string]any{
		"architecture": runtime.GOARCH,
		"os":           "linux",
		"config":       map[string]any{"Entrypoint": []string{entrypoint}},
		"rootfs":       map[string]any{"type": "layers", "diff_ids": []string{digest(layer)}},
	})
	manifest := asJSON(map[string]any{
		"schemaVersion": 2,
		"mediaType":     "application/vnd.oci.image.manifest.v1+json",
		"config":        describe("application/vnd.oci.image.config.v1+json", config),
		"layers":        []descriptor{describe("application/vnd.oci.image.layer.v1.tar", layer)},
	})
	named := describe("application/vnd.oci.image.manifest.v1+json", manifest)
	named.Annotations = map[string]string{"io.containerd.image.name": name}
	index := asJSON(map[string]any{"schemaVersion": 2, "manifests": []descriptor{named}})
	return tarOf(
		tarFile{"oci-layout", 0o644, []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		tarFile{"index.json", 0o644, index},
		blob(manifest), blob(config), blob(layer),
	)
}

func describe(mediaType string, content []byte) descriptor {
	return descriptor{MediaType: mediaType, Digest: digest(content), Size: len(content)}
}

func digest(content []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(content)) }

type tarFile struct {
	name    string
	mode    int64
	content []byte
}

func blob(content []byte) tarFile {
	return tarFile{fmt.Sprintf("blobs/sha256/%x", sha256.Sum256(content)), 0o644, content}
}

// tarOf writes to memory, where no write fails.
func tarOf(files ...tarFile) []byte {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, f := range files {
		must(w.WriteHeader(&tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.content))}))
		_, err := w.Write(f.content)
		must(err)
	}
	must(w.Close())
	return buf.Bytes()
}

func asJSON(v any) []byte {
	out, err := json.Marshal(v)
	must(err)
	return out
}

// must is for what can only fail by a mistake in this suite.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
