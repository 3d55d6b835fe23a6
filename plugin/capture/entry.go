package capture

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"
)

// Entry is one line of the section files:
//
//	lrwxrwxrwx 2026-03-02T08:00:00Z /etc/cni/net.d/10-x.conflist -> /nowhere/x
type Entry struct {
	Path string
	Mode fs.FileMode
	// Mod is zero when it is not known.
	Mod    time.Time
	Target string // of a symbolic link
	Err    string // that opening, or connecting, gives
}

func parseEntries(data []byte) ([]Entry, error) {
	var out []Entry
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" {
			continue
		}
		e, err := parseEntry(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		out = append(out, e)
	}
	return out, nil
}

func parseEntry(line string) (Entry, error) {
	var e Entry
	mode, rest, _ := strings.Cut(line, " ")
	stamp, path, ok := strings.Cut(strings.TrimLeft(rest, " "), " ")
	if !ok {
		return e, fmt.Errorf("want mode, time and path: %q", line)
	}
	var err error
	if e.Mode, err = parseMode(mode); err != nil {
		return e, err
	}
	if stamp != "-" {
		if e.Mod, err = parseTime(stamp); err != nil {
			return e, err
		}
	}
	if strings.HasPrefix(path, `"`) {
		quoted, err := strconv.QuotedPrefix(path)
		if err != nil {
			return e, fmt.Errorf("path %s: %w", path, err)
		}
		e.Path, err = strconv.Unquote(quoted)
		if err != nil {
			return e, fmt.Errorf("path %s: %w", path, err)
		}
		return e.tail(path[len(quoted):])
	}
	e.Path = path
	for _, sep := range []string{" -> ", " ! "} {
		if i := strings.LastIndex(path, sep); i >= 0 {
			e.Path = path[:i]
			return e.tail(path[i:])
		}
	}
	return e.tail("")
}

// tail reads what stands after the path.
func (e Entry) tail(s string) (Entry, error) {
	switch {
	case strings.HasPrefix(s, " -> "):
		e.Target = s[4:]
	case strings.HasPrefix(s, " ! "):
		e.Err = s[3:]
	case s != "":
		return e, fmt.Errorf("after the path: %q", s)
	}
	if !strings.HasPrefix(e.Path, "/") {
		return e, fmt.Errorf("path %q is not absolute", e.Path)
	}
	if (e.Mode.Type() == fs.ModeSymlink) != (e.Target != "") {
		return e, fmt.Errorf("%s: a link needs a target, and only a link", e.Path)
	}
	return e, nil
}

// String is the line, without its newline.
func (e Entry) String() string {
	stamp := "-"
	if !e.Mod.IsZero() {
		stamp = e.Mod.UTC().Format(time.RFC3339Nano)
	}
	path := e.Path
	if strings.ContainsAny(path, "\"\n\r\\") || strings.Contains(path, " -> ") || strings.Contains(path, " ! ") || !printable(path) {
		path = strconv.QuoteToASCII(path)
	}
	line := formatMode(e.Mode) + " " + stamp + " " + path
	switch {
	case e.Target != "":
		return line + " -> " + e.Target
	case e.Err != "":
		return line + " ! " + e.Err
	}
	return line
}

func printable(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) < 0
}

// types are the first letters that ls -l prints.
var types = map[byte]fs.FileMode{'-': 0, 'd': fs.ModeDir, 'l': fs.ModeSymlink, 's': fs.ModeSocket, 'p': fs.ModeNamedPipe,
	'c': fs.ModeDevice | fs.ModeCharDevice, 'b': fs.ModeDevice}

// parseMode reads ten characters as ls -l prints them. Set-id and sticky bits are read as their execute bits.
func parseMode(s string) (fs.FileMode, error) {
	s = strings.TrimRight(s, ".+@") // SELinux context, ACL
	typ, ok := types[firstByte(s)]
	if len(s) != 10 || !ok {
		return 0, fmt.Errorf("mode %q: want it as ls -l prints it", s)
	}
	mode := typ
	for i, c := range s[1:] {
		bit := fs.FileMode(1) << (8 - i)
		switch {
		case c == '-' || c == 'S' || c == 'T':
		case c == rune("rwxrwxrwx"[i]) || (i%3 == 2 && (c == 's' || c == 't')):
			mode |= bit
		default:
			return 0, fmt.Errorf("mode %q: %q", s, c)
		}
	}
	return mode, nil
}

func firstByte(s string) byte {
	if s == "" {
		return 0
	}
	return s[0]
}

func formatMode(m fs.FileMode) string {
	b := []byte("-rwxrwxrwx")
	for letter, typ := range types {
		if m.Type() == typ {
			b[0] = letter
		}
	}
	for i := range 9 {
		if m&(1<<(8-i)) == 0 {
			b[i+1] = '-'
		}
	}
	return string(b)
}

// err turns the words of a capture into an error that callers can tell apart.
func (e Entry) err() error {
	switch e.Err {
	case "":
		return nil
	case fs.ErrPermission.Error(), "permission denied", "operation not permitted":
		return fs.ErrPermission
	case fs.ErrNotExist.Error(), "no such file or directory":
		return fs.ErrNotExist
	}
	return errors.New(e.Err)
}
