package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"sandbox-checker/test/e2e/internal/archive"
	"sandbox-checker/test/e2e/internal/build"
	"sandbox-checker/test/e2e/internal/debian"
	"sandbox-checker/test/e2e/internal/process"
)

// TestDockerfileMakesTheSameImage builds deploy/image/Dockerfile with Debian's buildah, without network, and holds the image to
// that of deploy/image: labels, entry point, platform, and one file with these bytes.
func TestDockerfileMakesTheSameImage(t *testing.T) {
	dir := filepath.Join(run.dir, "dockerfile")
	context := filepath.Join(dir, "context")
	mkdirAll(t, context)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program := built(t, buildChecker)
	// As README.md beside the Dockerfile names it. What is for another platform must not be taken.
	writeFile(t, filepath.Join(context, "sandbox-checker-"+runtime.GOARCH), readFile(t, program))
	writeFile(t, filepath.Join(context, "sandbox-checker-other"), "for another platform")
	if err := os.Chmod(filepath.Join(context, "sandbox-checker-"+runtime.GOARCH), 0o755); err != nil {
		t.Fatal(err)
	}

	const name = "localhost/sandbox-checker:v0.1.0"
	ours := filepath.Join(dir, "ours.tar")
	if err := build.Image(repository, ours, name, program, "-version", "v0.1.0"); err != nil {
		t.Fatal(err)
	}
	want := imageIn(t, ours)

	theirs := filepath.Join(dir, "theirs.tar")
	buildah := unpackBuildah(t, dir)
	buildah("build", "--network", "none", "--file", "../../deploy/image/Dockerfile", "--platform", "linux/"+runtime.GOARCH,
		"--build-arg", "VERSION=v0.1.0", "--build-arg", "REVISION="+want.config.Config.Labels["org.opencontainers.image.revision"], "--tag", name, context)
	buildah("push", name, "oci-archive:"+theirs)
	got := imageIn(t, theirs)
	// What engines add of their own: a PATH, though there is nothing to find by it, and no word for the working directory /.
	delete(got.config.Config.Labels, "io.buildah.version")
	got.config.Config.Env, want.config.Config.WorkingDir = nil, got.config.Config.WorkingDir
	if !reflect.DeepEqual(got.config, want.config) {
		t.Errorf("buildah's image: %+v\nours: %+v", got.config, want.config)
	}
	if len(want.files) != 1 || want.files["sandbox-checker"] != readFile(t, program) || !reflect.DeepEqual(got.files, want.files) {
		t.Errorf("buildah's image has %d files, ours %d; the program is the same: %v", len(got.files), len(want.files),
			got.files["sandbox-checker"] == readFile(t, program))
	}
	if m := got.modes["sandbox-checker"]; m != want.modes["sandbox-checker"] {
		t.Errorf("mode %o, ours %o", m, want.modes["sandbox-checker"])
	}
}

// keepsToItself runs a program so that what it makes in /etc and /var/lib goes below $0: buildah has no flags for its cache and for
// where it looks for networks.
const keepsToItself = `mount --bind "$0/var" /var/lib && mount -t overlay -o "lowerdir=/etc,upperdir=$0/etc,workdir=$0/etc-work" overlay /etc && exec "$@"`

// unpackBuildah fetches what is missing of Debian's buildah and unpacks it below dir. Nothing is installed: with it would come
// configuration below /etc/containers, which a runtime of this machine may read.
func unpackBuildah(t *testing.T, dir string) func(args ...string) {
	t.Helper()
	packages, root := filepath.Join(dir, "packages"), filepath.Join(dir, "root")
	mkdirAll(t, filepath.Join(packages, "partial"))
	fetch := []string{"install", "-y", "-q", "--no-install-recommends", "--download-only", "-o", "Dir::Cache::archives=" + packages, "buildah"}
	if err := debian.Apt("", fetch...); err != nil {
		if err := errors.Join(debian.Update(), debian.Apt("", fetch...)); err != nil {
			t.Fatal(err)
		}
	}
	found, err := filepath.Glob(filepath.Join(packages, "*.deb"))
	if err != nil || len(found) == 0 && exec.Command("buildah", "--version").Run() != nil {
		t.Fatalf("no packages, %v", err)
	}
	for _, p := range found {
		if err := debian.Unpack(p, root); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, filepath.Join(dir, "storage.conf"), "[storage]\ndriver = \"vfs\"\nrunroot = \""+dir+"/run\"\ngraphroot = \""+dir+"/graph\"\n")
	writeFile(t, filepath.Join(dir, "registries.conf"), "")
	writeFile(t, filepath.Join(dir, "policy.json"), `{"default": [{"type": "insecureAcceptAnything"}]}`)
	for _, sub := range []string{"tmp", "var", "etc", "etc-work"} {
		mkdirAll(t, filepath.Join(dir, sub))
	}
	libraries, _ := filepath.Glob(filepath.Join(root, "usr/lib/*-linux-gnu")) // none: all were there
	return func(args ...string) {
		t.Helper()
		program := filepath.Join(root, "usr/bin/buildah")
		if _, err := os.Stat(program); err != nil {
			program = "buildah" // the machine's own
		}
		// The policy is each command's own option, registries.conf the program's.
		args = append([]string{"--registries-conf", filepath.Join(dir, "registries.conf"), args[0], "--signature-policy", filepath.Join(dir, "policy.json")}, args[1:]...)
		cmd := exec.Command("/bin/sh", append([]string{"-c", keepsToItself, dir, program}, args...)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
		cmd.Env = append(os.Environ(), "CONTAINERS_STORAGE_CONF="+filepath.Join(dir, "storage.conf"), "BUILDAH_ISOLATION=chroot",
			"TMPDIR="+filepath.Join(dir, "tmp"), "LD_LIBRARY_PATH="+strings.Join(libraries, ":"))
		if err := process.Run(cmd); err != nil {
			t.Fatal(err)
		}
	}
}

// An image is what a runtime would make of an archive for this platform.
type image struct {
	config imageConfig
	files  map[string]string
	modes  map[string]int64
}

type imageConfig struct {
	Architecture, OS string
	Config           struct {
		Entrypoint, Cmd []string
		WorkingDir      string
		User            string
		Env             []string
		Labels          map[string]string
	}
}

// imageIn reads an OCI archive. deploy/image has an index within the index, buildah has not.
func imageIn(t *testing.T, file string) image {
	t.Helper()
	blobs, _ := untar(t, []byte(readFile(t, file)))
	var doc struct {
		Manifests []archive.Descriptor
		Config    archive.Descriptor
		Layers    []archive.Descriptor
	}
	raw := blobs["index.json"]
	for range 3 {
		doc.Manifests = nil
		if err := json.Unmarshal([]byte(raw), &doc); err != nil {
			t.Fatal(err)
		}
		if len(doc.Manifests) == 0 {
			break
		}
		raw = blobs["blobs/"+strings.Replace(doc.Manifests[0].Digest, ":", "/", 1)]
	}
	img := image{files: map[string]string{}, modes: map[string]int64{}}
	if err := json.Unmarshal([]byte(blobs["blobs/"+strings.Replace(doc.Config.Digest, ":", "/", 1)]), &img.config); err != nil {
		t.Fatal(err)
	}
	for _, l := range doc.Layers {
		z, err := gzip.NewReader(strings.NewReader(blobs["blobs/"+strings.Replace(l.Digest, ":", "/", 1)]))
		if err != nil {
			t.Fatal(err)
		}
		layer, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		files, modes := untar(t, layer)
		for name, content := range files {
			img.files[name], img.modes[name] = content, modes[name]
		}
	}
	return img
}

// untar gives the regular files, and their modes.
func untar(t *testing.T, raw []byte) (map[string]string, map[string]int64) {
	t.Helper()
	files, modes := map[string]string{}, map[string]int64{}
	for r := tar.NewReader(bytes.NewReader(raw)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, modes
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name], modes[h.Name] = string(content), h.Mode&0o7777 // buildah writes the type too
	}
}
