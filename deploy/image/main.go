// Image writes an OCI archive of sandbox-checker: the image that the Dockerfile beside it makes, without any container
// engine. The same programs give the same bytes.
//
//	image [-o FILE] [-name NAME] [-version VERSION] PROGRAM...
//
// A PROGRAM is a static Linux build of sandbox-checker. Its ELF header tells the platform, its build information the version
// and the commit. The archive is tarred oci-layout, index.json and blobs; `ctr images import`, `podman load`, `skopeo copy
// oci-archive:FILE ...`, `kind load image-archive` and Docker with the containerd image store read it.
package main

import (
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

func main() {
	out := flag.String("o", "sandbox-checker.tar", "the archive to write")
	name := flag.String("name", "localhost/sandbox-checker:dev", "the image's name and tag")
	version := flag.String("version", "", "its version label, where the program does not tell one")
	flag.Parse()
	if err := run(*out, *name, *version, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(2)
	}
}

func run(out, name, version string, paths []string) error {
	if len(paths) == 0 {
		return errors.New("no program named")
	}
	if st, err := os.Lstat(out); err == nil && !st.Mode().IsRegular() {
		return fmt.Errorf("%s: is there and no regular file", out)
	}
	var programs []program
	seen := map[string]string{}
	for _, p := range paths {
		one, err := read(p, version)
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		if other, taken := seen[one.arch]; taken {
			return fmt.Errorf("%s and %s are both for %s", other, p, one.arch)
		}
		seen[one.arch] = p
		programs = append(programs, one)
	}
	var buf bytes.Buffer
	if err := archive(&buf, name, programs); err != nil {
		return err
	}
	// Beside it and renamed: whoever reads it sees a whole one.
	tmp := filepath.Join(filepath.Dir(out), "."+filepath.Base(out)+".tmp")
	if err := os.WriteFile(tmp, buf.Bytes(), 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, out)
}

// program is one build of sandbox-checker.
type program struct {
	arch, version, revision string
	created                 time.Time // the commit's, so that the same commit gives the same image
	content                 []byte
}

func read(path, version string) (program, error) {
	p := program{version: version, revision: "unknown", created: time.Unix(0, 0).UTC()}
	var err error
	if p.content, err = os.ReadFile(path); err != nil {
		return p, err
	}
	if p.arch, err = platform(p.content); err != nil {
		return p, err
	}
	info, err := buildinfo.Read(bytes.NewReader(p.content))
	if err != nil {
		return p, err
	}
	if p.version == "" {
		if p.version = info.Main.Version; p.version == "" || p.version == "(devel)" {
			p.version = "dev"
		}
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			p.revision = s.Value
		case "vcs.time":
			if t, err := time.Parse(time.RFC3339, s.Value); err == nil {
				p.created = t.UTC()
			}
		}
	}
	return p, nil
}

// platform refuses what would not run alone in an image: other systems, and what asks for a dynamic loader.
func platform(content []byte) (string, error) {
	f, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		return "", err
	}
	for _, s := range f.Progs {
		if s.Type == elf.PT_INTERP {
			return "", errors.New("not static: build it with CGO_ENABLED=0")
		}
	}
	switch f.Machine {
	case elf.EM_X86_64:
		return "amd64", nil
	case elf.EM_AARCH64:
		return "arm64", nil
	default:
		return "", fmt.Errorf("for %s: want amd64 or arm64", f.Machine)
	}
}
