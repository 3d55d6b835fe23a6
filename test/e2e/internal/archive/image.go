// Package archive makes images of static programs, as archives that a runtime takes in: no registry is at hand.
package archive

import (
	"crypto/sha256"
	"fmt"
	"runtime"

	"sandbox-checker/test/e2e/internal/document"
)

// A Descriptor tells a blob of an image, as the OCI Image Format Specification has it. Size is in bytes.
type Descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Image packs static programs of this machine's architecture as an OCI archive: an image of one layer, under a name that the
// runtime will know it by.
func Image(name, entrypoint string, programs ...File) []byte {
	layer := Tar(programs...)
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
		"layers":        []Descriptor{describe("application/vnd.oci.image.layer.v1.tar", layer)},
	})
	named := describe("application/vnd.oci.image.manifest.v1+json", manifest)
	named.Annotations = map[string]string{"io.containerd.image.name": name}
	index := asJSON(map[string]any{"schemaVersion": 2, "manifests": []Descriptor{named}})
	return Tar(
		File{"oci-layout", 0o644, []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		File{"index.json", 0o644, index},
		blob(manifest), blob(config), blob(layer),
	)
}

func asJSON(v any) []byte { return []byte(document.JSON(v)) }

func describe(mediaType string, content []byte) Descriptor {
	return Descriptor{MediaType: mediaType, Digest: digest(content), Size: len(content)}
}

func digest(content []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(content)) }

func blob(content []byte) File {
	return File{fmt.Sprintf("blobs/sha256/%x", sha256.Sum256(content)), 0o644, content}
}
