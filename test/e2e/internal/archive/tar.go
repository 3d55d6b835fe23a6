package archive

import (
	"archive/tar"
	"bytes"
)

// A File is a regular file of an archive. Mode has the permissions alone.
type File struct {
	Name    string
	Mode    int64
	Content []byte
}

// Tar packs files. It writes to memory, where no write fails: it panics where a file cannot be packed, which is a mistake in
// the suite.
func Tar(files ...File) []byte {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, f := range files {
		must(w.WriteHeader(&tar.Header{Name: f.Name, Mode: f.Mode, Size: int64(len(f.Content))}))
		_, err := w.Write(f.Content)
		must(err)
	}
	must(w.Close())
	return buf.Bytes()
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
