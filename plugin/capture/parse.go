package capture

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/tools/txtar"

	"sandbox-checker/plugin/cri"
)

// coded ends the name of a section in base64.
const coded = " (base64)"

// header is the first line of every capture of this version.
const header = "sandbox-checker capture 1"

// File is one parsed capture.
type File struct {
	// About is the free text after the first line.
	About string
	Now   time.Time
	// KernelClock is the time of the kernel log at Now; 0 means the uptime.
	KernelClock time.Duration
	// Content is the node's files by absolute path.
	Content map[string][]byte
	// Entries are the lines of the section files.
	Entries []Entry
	CRI     cri.Records
	// hasCRI: at least one cri/ section is there.
	hasCRI bool
	Wants  []Want
}

// Want is what a check must say of the capture, for tests.
type Want struct {
	Check string
	// Kind is TP, NEG or UNK.
	Kind string
	Args []string
	Exit int
	// Line is the whole line, "" when it is not asserted; Says are parts of it.
	Line string
	Says []string
}

// Parse reads a capture. Every error names the section and, where there is one, the line.
func Parse(raw []byte) (*File, error) {
	a := txtar.Parse(raw)
	first, about, _ := strings.Cut(string(a.Comment), "\n")
	if strings.TrimSpace(first) != header {
		return nil, fmt.Errorf("not a capture: the first line is not %q", header)
	}
	f := &File{About: strings.TrimSpace(about), Content: map[string][]byte{}, CRI: cri.Records{Sandbox: map[string][]byte{}}}
	seen := map[string]bool{}
	for _, s := range a.Files {
		if seen[s.Name] && !strings.HasPrefix(s.Name, "want ") {
			return nil, fmt.Errorf("section %q: given twice", s.Name)
		}
		seen[s.Name] = true
		// At the end of a file without a newline txtar gives no data at all, and nil is "not recorded".
		if err := f.section(s.Name, append([]byte{}, s.Data...)); err != nil {
			return nil, fmt.Errorf("section %q: %w", s.Name, err)
		}
	}
	if f.Now.IsZero() {
		return nil, errors.New(`no section "now"`)
	}
	return f, nil
}

func (f *File) section(name string, data []byte) (err error) {
	switch {
	case strings.HasPrefix(name, "/"), strings.HasPrefix(name, `"/`):
		return f.content(name, data)
	case strings.HasPrefix(name, "cri/"):
		f.hasCRI = true
		return f.criSection(strings.TrimPrefix(name, "cri/"), data)
	case strings.HasPrefix(name, "want "):
		w, err := parseWant(strings.TrimSpace(strings.TrimPrefix(name, "want ")), data)
		f.Wants = append(f.Wants, w)
		return err
	case name == "now":
		f.Now, err = parseTime(strings.TrimSpace(string(data)))
		return err
	case name == "kernel-clock":
		sec, err := strconv.ParseFloat(strings.TrimSpace(string(data)), 64)
		if err != nil || !(sec > 0 && sec < 1e10) {
			return fmt.Errorf("no seconds in %q", strings.TrimSpace(string(data)))
		}
		f.KernelClock = time.Duration(sec * float64(time.Second))
		return nil
	case name == "files":
		f.Entries, err = parseEntries(data)
		return err
	}
	return errors.New("unknown name")
}

func (f *File) content(name string, data []byte) error {
	path, isCoded := strings.CutSuffix(name, coded)
	if strings.HasPrefix(path, `"`) {
		var err error
		if path, err = strconv.Unquote(path); err != nil {
			return err
		}
	}
	if _, ok := f.Content[path]; ok {
		return errors.New("given twice")
	}
	if isCoded {
		clear, err := base64.StdEncoding.DecodeString(string(bytes.Join(bytes.Fields(data), nil)))
		if err != nil {
			return err
		}
		data = clear
	}
	f.Content[path] = data
	return nil
}

func (f *File) criSection(name string, data []byte) error {
	r := &f.CRI
	text := strings.TrimSpace(string(data))
	switch name {
	case "endpoint":
		path, err := cri.SocketPath(text)
		r.Socket = path
		return err
	case "error":
		if text == "" {
			return errors.New("empty: want why the runtime did not answer")
		}
		r.Err = strings.Join(strings.Fields(text), " ")
	case "pods.json":
		r.Pods = data
	case "ps.json":
		r.Containers = data
	case "info.json":
		r.Info = data
	case "version.json":
		r.Version = data
	case "sandbox-image":
		r.Image = data
	case "config.toml":
		r.CRIOConfig = data
	default:
		id, isSandbox := strings.CutPrefix(name, "inspectp/")
		id, isJSON := strings.CutSuffix(id, ".json")
		if !isSandbox || !isJSON {
			return errors.New("unknown name")
		}
		r.Sandbox[id] = data
	}
	return nil
}

// parseTime reads RFC 3339, or seconds since 1970 with a fraction as date +%s.%N prints them.
func parseTime(s string) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return t, nil
	}
	whole, frac, _ := strings.Cut(s, ".")
	sec, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || sec <= 0 || sec >= 253402300800 { // year 10000 is no RFC 3339
		return time.Time{}, fmt.Errorf("no time in %q", s)
	}
	if frac == "" {
		return time.Unix(sec, 0).UTC(), nil
	}
	ns, err := strconv.ParseUint((frac + "000000000")[:9], 10, 32)
	if err != nil {
		return time.Time{}, fmt.Errorf("no time in %q", s)
	}
	return time.Unix(sec, int64(ns)).UTC(), nil
}

func parseWant(check string, data []byte) (Want, error) {
	w := Want{Check: check, Exit: -1}
	for line := range strings.Lines(string(data)) {
		key, val, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		var err error
		switch key {
		case "":
		case "kind":
			w.Kind = val
		case "args":
			w.Args = strings.Fields(val)
		case "exit":
			w.Exit, err = strconv.Atoi(val)
		case "line":
			w.Line = val
		case "says":
			w.Says = append(w.Says, val)
		default:
			err = fmt.Errorf("unknown word %q", key)
		}
		if err != nil {
			return w, err
		}
	}
	if w.Exit < 0 || w.Exit > 2 {
		return w, errors.New("no exit 0, 1 or 2")
	}
	return w, nil
}
