package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// Media types of the OCI image specification 1.1.
const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Platform    *platformSpec     `json:"platform,omitempty"`
}

type platformSpec struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

type index struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Manifests     []descriptor `json:"manifests"`
}

type manifest struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Config        descriptor   `json:"config"`
	Layers        []descriptor `json:"layers"`
}

type config struct {
	Created      time.Time `json:"created"`
	Architecture string    `json:"architecture"`
	OS           string    `json:"os"`
	Config       struct {
		Entrypoint []string          `json:"Entrypoint"`
		WorkingDir string            `json:"WorkingDir"`
		Labels     map[string]string `json:"Labels"`
	} `json:"config"`
	RootFS struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	} `json:"rootfs"`
	History []history `json:"history"`
}

type history struct {
	Created   time.Time `json:"created"`
	CreatedBy string    `json:"created_by"`
}

// layout collects an image layout's files in the order in which they are written.
type layout struct {
	names []string
	files map[string][]byte
}

func (l *layout) add(name string, content []byte) {
	if _, there := l.files[name]; !there {
		l.names = append(l.names, name)
	}
	l.files[name] = content
}

func (l *layout) blob(mediaType string, content []byte) descriptor {
	sum := hex.EncodeToString(digest(content))
	l.add("blobs/sha256/"+sum, content)
	return descriptor{MediaType: mediaType, Digest: "sha256:" + sum, Size: int64(len(content))}
}

func (l *layout) json(mediaType string, v any) (descriptor, error) {
	raw, err := json.Marshal(v)
	return l.blob(mediaType, raw), err
}

func digest(b []byte) []byte {
	sum := sha256.Sum256(b)
	return sum[:]
}

// archive writes the layout as one tar. index.json names one index, which has a manifest for each program: so one name stands
// for all platforms.
func archive(w io.Writer, name string, programs []program) error {
	i := strings.LastIndexByte(name, ':')
	if i < strings.LastIndexByte(name, '/') || i < 0 {
		return fmt.Errorf("name %q: want NAME:TAG", name)
	}
	l := layout{files: map[string][]byte{}}
	l.add("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`))
	platforms := index{SchemaVersion: 2, MediaType: typeIndex}
	for _, p := range programs {
		d, err := l.image(p)
		if err != nil {
			return err
		}
		platforms.Manifests = append(platforms.Manifests, d)
	}
	d, err := l.json(typeIndex, platforms)
	if err != nil {
		return err
	}
	// containerd takes the first, as buildkit writes it; podman and skopeo the second.
	d.Annotations = map[string]string{"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name[i+1:]}
	raw, err := json.Marshal(index{SchemaVersion: 2, MediaType: typeIndex, Manifests: []descriptor{d}})
	if err != nil {
		return err
	}
	l.add("index.json", raw)

	t := tar.NewWriter(w)
	for _, dir := range []string{"blobs/", "blobs/sha256/"} {
		if err := t.WriteHeader(header(dir, 0o755, 0)); err != nil {
			return err
		}
	}
	for _, n := range l.names {
		if err := file(t, n, 0o644, l.files[n]); err != nil {
			return err
		}
	}
	return t.Close()
}

// image adds one platform's layer, configuration and manifest.
func (l *layout) image(p program) (descriptor, error) {
	plain, packed, err := layer(p.content)
	if err != nil {
		return descriptor{}, err
	}
	var c config
	c.Created, c.Architecture, c.OS = p.created, p.arch, "linux"
	c.Config.Entrypoint, c.Config.WorkingDir = []string{"/sandbox-checker"}, "/"
	c.Config.Labels = labels(p)
	c.RootFS.Type, c.RootFS.DiffIDs = "layers", []string{"sha256:" + hex.EncodeToString(digest(plain))}
	c.History = []history{{p.created, "COPY sandbox-checker-" + p.arch + " /sandbox-checker"}}
	conf, err := l.json(typeConfig, c)
	if err != nil {
		return descriptor{}, err
	}
	d, err := l.json(typeManifest, manifest{SchemaVersion: 2, MediaType: typeManifest, Config: conf,
		Layers: []descriptor{l.blob(typeLayer, packed)}})
	d.Platform = &platformSpec{Architecture: p.arch, OS: "linux"}
	return d, err
}

func labels(p program) map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       "sandbox-checker",
		"org.opencontainers.image.description": "Finds pods that cannot get a sandbox. A plugin for node-problem-detector.",
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.version":     p.version,
		"org.opencontainers.image.revision":    p.revision,
	}
}

// layer is a root file system with the program alone, plain and packed.
func layer(content []byte) (plain, packed []byte, err error) {
	var tarred, zipped bytes.Buffer
	t := tar.NewWriter(&tarred)
	if err := file(t, "sandbox-checker", 0o755, content); err != nil {
		return nil, nil, err
	}
	if err := t.Close(); err != nil {
		return nil, nil, err
	}
	z := gzip.NewWriter(&zipped) // no name and no time in its header
	if _, err := z.Write(tarred.Bytes()); err != nil {
		return nil, nil, err
	}
	if err := z.Close(); err != nil {
		return nil, nil, err
	}
	return tarred.Bytes(), zipped.Bytes(), nil
}

func file(t *tar.Writer, name string, mode int64, content []byte) error {
	if err := t.WriteHeader(header(name, mode, int64(len(content)))); err != nil {
		return err
	}
	_, err := t.Write(content)
	return err
}

// header has nothing of the machine that it is written on: root's, and of the epoch.
func header(name string, mode, size int64) *tar.Header {
	h := &tar.Header{Name: name, Mode: mode, Size: size, ModTime: time.Unix(0, 0), Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
	if strings.HasSuffix(name, "/") {
		h.Typeflag = tar.TypeDir
	}
	return h
}
