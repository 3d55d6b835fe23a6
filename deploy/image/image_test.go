package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func untar(t *testing.T, raw []byte) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(raw)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.Equal(time.Unix(0, 0)) || h.Uid != 0 || h.Gid != 0 || h.Uname != "" {
			t.Errorf("%s: of %s, %d:%d %s", h.Name, h.ModTime, h.Uid, h.Gid, h.Uname)
		}
		if out[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

// follow reads what d points to and holds its size and digest.
func follow(t *testing.T, files map[string][]byte, d descriptor, mediaType string, into any) []byte {
	t.Helper()
	raw := files["blobs/sha256/"+strings.TrimPrefix(d.Digest, "sha256:")]
	if d.MediaType != mediaType || int64(len(raw)) != d.Size || "sha256:"+hex.EncodeToString(digest(raw)) != d.Digest {
		t.Fatalf("%+v: want %s; there are %d bytes", d, mediaType, len(raw))
	}
	if into != nil {
		if err := json.Unmarshal(raw, into); err != nil {
			t.Fatal(err)
		}
	}
	return raw
}

// rootfs walks an archive down to the files of one platform's only layer.
func rootfs(t *testing.T, raw []byte, arch string) (map[string][]byte, config) {
	t.Helper()
	files := untar(t, raw)
	if got := string(files["oci-layout"]); got != `{"imageLayoutVersion":"1.0.0"}` {
		t.Errorf("oci-layout: %s", got)
	}
	var top, platforms index
	if err := json.Unmarshal(files["index.json"], &top); err != nil || len(top.Manifests) != 1 {
		t.Fatalf("index.json: %v, %s", err, files["index.json"])
	}
	for key, want := range map[string]string{"io.containerd.image.name": "example.com/a/b:v1", "org.opencontainers.image.ref.name": "v1"} {
		if got := top.Manifests[0].Annotations[key]; got != want {
			t.Errorf("annotation %s %q, want %q", key, got, want)
		}
	}
	follow(t, files, top.Manifests[0], typeIndex, &platforms)
	for _, d := range platforms.Manifests {
		if d.Platform.OS != "linux" || d.Platform.Architecture != arch {
			continue
		}
		var m manifest
		var c config
		follow(t, files, d, typeManifest, &m)
		follow(t, files, m.Config, typeConfig, &c)
		if len(m.Layers) != 1 || len(c.RootFS.DiffIDs) != 1 || c.Architecture != arch || c.OS != "linux" {
			t.Fatalf("%+v, %+v", m, c)
		}
		z, err := gzip.NewReader(bytes.NewReader(follow(t, files, m.Layers[0], typeLayer, nil)))
		if err != nil {
			t.Fatal(err)
		}
		plain, err := io.ReadAll(z)
		if err != nil || "sha256:"+hex.EncodeToString(digest(plain)) != c.RootFS.DiffIDs[0] {
			t.Fatalf("layer: %v, not the diff id %s", err, c.RootFS.DiffIDs[0])
		}
		return untar(t, plain), c
	}
	t.Fatalf("no linux/%s in %+v", arch, platforms)
	return nil, config{}
}

func TestArchive(t *testing.T) {
	t.Parallel()
	programs := []program{
		{arch: "amd64", version: "v1.2.3", revision: "abc", created: time.Unix(1e9, 0).UTC(), content: []byte("one")},
		{arch: "arm64", version: "v1.2.3", revision: "abc", created: time.Unix(1e9, 0).UTC(), content: []byte("two")},
	}
	var a, b bytes.Buffer
	for _, w := range []io.Writer{&a, &b} {
		if err := archive(w, "example.com/a/b:v1", programs); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("the same programs gave two archives")
	}
	for _, p := range programs {
		files, c := rootfs(t, a.Bytes(), p.arch)
		if len(files) != 1 || !bytes.Equal(files["sandbox-checker"], p.content) {
			t.Errorf("%s: %d files, the program is %q", p.arch, len(files), files["sandbox-checker"])
		}
		if len(c.Config.Entrypoint) != 1 || c.Config.Entrypoint[0] != "/sandbox-checker" {
			t.Errorf("entrypoint %q", c.Config.Entrypoint)
		}
		for key, want := range map[string]string{"title": "sandbox-checker", "version": "v1.2.3", "revision": "abc", "licenses": "Apache-2.0"} {
			if got := c.Config.Labels["org.opencontainers.image."+key]; got != want {
				t.Errorf("label %s %q, want %q", key, got, want)
			}
		}
	}
	for _, name := range []string{"", "b", "localhost:5000/b"} {
		if err := archive(io.Discard, name, programs); err == nil {
			t.Errorf("name %q: no error", name)
		}
	}
}

// The Dockerfile and this program make one image: labels and entry point are the same.
func TestDockerfile(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range labels(program{version: "$VERSION", revision: "$REVISION"}) {
		if want := key + `="` + value + `"`; !strings.Contains(string(raw), want) {
			t.Errorf("no label %s", want)
		}
	}
	for _, want := range []string{"\nFROM scratch\n", "\nCOPY sandbox-checker-$TARGETARCH /sandbox-checker\n", `ENTRYPOINT ["/sandbox-checker"]`} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("no line %q", want)
		}
	}
	if strings.Contains(string(raw), "\nRUN") {
		t.Error("RUN needs a shell")
	}
}

// The real program, for this machine only: README.md has both platforms. To unpack it as a root directory needs root
// (chroot, /proc), so that is for the suites on real parts; here it runs beside nothing.
func TestProgramInTheImage(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("no image for ", runtime.GOOS, "/", runtime.GOARCH)
	}
	dir := t.TempDir()
	built, out := filepath.Join(dir, "built"), filepath.Join(dir, "image.tar")
	cmd := exec.Command("go", "build", "-o", built, "../../cmd/sandbox-checker")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if err := run(out, "example.com/a/b:v1", "", []string{built}); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	files, c := rootfs(t, raw, runtime.GOARCH)
	if v := c.Config.Labels["org.opencontainers.image.version"]; v == "" {
		t.Error("no version")
	}
	root := filepath.Join(dir, "root")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(root, "sandbox-checker")
	if err := os.WriteFile(program, files["sandbox-checker"], 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(root, 0o555); err != nil { // read-only, as far as that goes without a mount
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(root, 0o755) })
	text := execute(t, program, "version")
	if !strings.HasPrefix(text, "sandbox-checker ") || !strings.HasSuffix(text, " linux/"+runtime.GOARCH+"\n") {
		t.Errorf("version: %q", text)
	}
	target := filepath.Join(dir, "opt")
	for range 2 {
		if got := execute(t, program, "install", target); got != "installed "+target+"/sandbox-checker\n" {
			t.Errorf("install: %q", got)
		}
	}
	if got := execute(t, filepath.Join(target, "sandbox-checker"), "version"); got != text {
		t.Errorf("installed: %q, want %q", got, text)
	}
	// What is no program for an image is refused.
	for path, want := range map[string]string{"main.go": "bad magic number", "nowhere": "no such file"} {
		if err := run(out, "a:b", "", []string{path}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
	if err := run(out, "a:b", "", []string{built, program}); err == nil || !strings.Contains(err.Error(), "both for") {
		t.Errorf("twice the same platform: %v", err)
	}
}

func execute(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = []string{}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
	return string(out)
}

// TestNothingElseIsReplaced: what is no archive of ours stays, and the error names it.
func TestNothingElseIsReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink("/dev/null", link); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{dir, link, "/dev/full"} {
		if err := run(out, "localhost/a:b", "", []string{"/dev/null"}); err == nil || !strings.Contains(err.Error(), out) {
			t.Errorf("-o %s: %v", out, err)
		}
	}
}
