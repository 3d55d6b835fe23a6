package capture

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"
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
		name := sectionName(p)
		if plain(data) {
			add(name, append([]byte{}, data...)) // nil is an empty file too
			continue
		}
		add(name+coded, wrapped(data))
	}
	r := f.CRI
	if r.Socket != "" {
		add("cri/endpoint", []byte("unix://"+r.Socket+"\n"))
	}
	if r.Err != "" {
		add("cri/error", []byte(strings.Join(strings.Fields(r.Err), " ")+"\n"))
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

// sectionName is the path, or a Go string where a section's line would not hold it.
func sectionName(p string) string {
	if inLine(p) == p && strings.TrimSpace(p) == p && !strings.HasSuffix(p, coded) {
		return p
	}
	return strconv.QuoteToASCII(p)
}

func (f *File) formatEntries() []byte {
	entries := slices.Clone(f.Entries)
	slices.SortStableFunc(entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	var b bytes.Buffer
	for _, e := range entries {
		b.WriteString(e.String() + "\n")
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
