package capture

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/tools/txtar"
)

// Format writes the capture. Parse(Format(f)) has the same content as f.
func (f *File) Format() []byte {
	a := &txtar.Archive{Comment: []byte(header + "\n" + f.About + "\n")}
	add := func(name string, data []byte) {
		if data != nil {
			a.Files = append(a.Files, txtar.File{Name: name, Data: data})
		}
	}
	add("now", []byte(f.Now.UTC().Format(time.RFC3339Nano)+"\n"))
	if f.KernelClock > 0 {
		add("kernel-clock", fmt.Appendf(nil, "%.6f\n", f.KernelClock.Seconds()))
	}
	add("files", f.formatEntries())
	for _, p := range slices.Sorted(maps.Keys(f.Content)) {
		data := f.Content[p]
		if plain(data) {
			add(p, data)
			continue
		}
		add(p+" (base64)", wrapped(data))
	}
	r := f.CRI
	if r.Socket != "" {
		add("cri/endpoint", []byte("unix://"+r.Socket+"\n"))
	}
	if r.Err != "" {
		add("cri/error", []byte(strings.ReplaceAll(r.Err, "\n", " ")+"\n"))
	}
	add("cri/version.json", r.Version)
	add("cri/info.json", r.Info)
	add("cri/config.toml", r.CRIOConfig)
	add("cri/sandbox-image", r.Image)
	add("cri/pods.json", r.Pods)
	add("cri/ps.json", r.Containers)
	for _, id := range slices.Sorted(maps.Keys(r.Sandbox)) {
		add("cri/inspectp/"+id+".json", r.Sandbox[id])
	}
	return txtar.Format(a)
}

func (f *File) formatEntries() []byte {
	var lines []string
	for _, e := range f.Entries {
		lines = append(lines, e.Path+"\x00"+e.String())
	}
	slices.Sort(lines)
	var b bytes.Buffer
	for _, l := range lines {
		_, line, _ := strings.Cut(l, "\x00")
		b.WriteString(line + "\n")
	}
	return b.Bytes()
}

// plain says whether txtar keeps data as it is: text that ends in a newline and has no line that looks like a section.
func plain(data []byte) bool {
	if len(data) == 0 {
		return true
	}
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 || bytes.Contains(data, []byte("\r")) || data[len(data)-1] != '\n' {
		return false
	}
	return !bytes.HasPrefix(data, []byte("-- ")) && !bytes.Contains(data, []byte("\n-- "))
}

// wrapped is base64 in lines that a mail or an editor leaves alone.
func wrapped(data []byte) []byte {
	const width = 76
	s := base64.StdEncoding.EncodeToString(data)
	var b bytes.Buffer
	for len(s) > width {
		b.WriteString(s[:width] + "\n")
		s = s[width:]
	}
	b.WriteString(s + "\n")
	return b.Bytes()
}
