package capture

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"
)

// Entry is one line of the section files:
//
//	lrwxrwxrwx 2026-03-02T08:00:00Z /etc/cni/net.d/10-x.conflist -> /nowhere/x
//	drwxr-xr-x 2026-03-02T08:00:00Z/2026-02-10T07:59:30Z /etc/cni/net.d
type Entry struct {
	Path string
	Mode fs.FileMode
	// Mod is zero when it is not known.
	Mod time.Time
	// Born is when a directory was made, zero when it is not known.
	Born   time.Time
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
	changed, born, known := strings.Cut(stamp, "/")
	if known && !e.Mode.IsDir() {
		return e, fmt.Errorf("%q: only of a directory is told when it was made", stamp)
	}
	if known {
		if e.Born, err = parseTime(born); err != nil {
			return e, err
		}
	}
	if changed != "-" {
		if e.Mod, err = parseTime(changed); err != nil {
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
	// The first one: a path that holds a separator is quoted, and a target or an error may hold another.
	end := len(path)
	for _, sep := range []string{" -> ", " ! "} {
		if i := strings.Index(path, sep); i >= 0 {
			end = min(end, i)
		}
	}
	e.Path = path[:end]
	return e.tail(path[end:])
}

// tail reads what stands after the path.
func (e Entry) tail(s string) (Entry, error) {
	switch {
	case strings.HasPrefix(s, " -> "):
		e.Target = s[4:]
		if strings.HasPrefix(e.Target, `"`) {
			var err error
			if e.Target, err = strconv.Unquote(e.Target); err != nil {
				return e, fmt.Errorf("target %s: %w", s[4:], err)
			}
		}
	case strings.HasPrefix(s, " ! "):
		if e.Err = strings.Join(strings.Fields(s[3:]), " "); e.Err == "" {
			return e, fmt.Errorf("after the path: no error behind %q", s)
		}
	case s != "":
		return e, fmt.Errorf("after the path: %q", s)
	}
	if !strings.HasPrefix(e.Path, "/") {
		return e, fmt.Errorf("path %q is not absolute", e.Path)
	}
	if (e.Mode.Type() == fs.ModeSymlink) != (e.Target != "") {
		return e, fmt.Errorf("%s: a link needs a target, and only a link", inLine(e.Path))
	}
	return e, nil
}

// String is the line, without its newline.
func (e Entry) String() string {
	stamp := "-"
	if !e.Mod.IsZero() {
		stamp = e.Mod.UTC().Format(time.RFC3339Nano)
	}
	if !e.Born.IsZero() {
		stamp += "/" + e.Born.UTC().Format(time.RFC3339Nano)
	}
	line := formatMode(e.Mode) + " " + stamp + " " + inLine(e.Path)
	switch {
	case e.Target != "":
		return line + " -> " + inLine(e.Target)
	case e.Err != "":
		return line + " ! " + strings.Join(strings.Fields(e.Err), " ")
	}
	return line
}

// inLine is s as it is, or as a Go string where a line would not hold it.
func inLine(s string) string {
	if strings.ContainsAny(s, "\"\\") || strings.Contains(s+" ", " -> ") || strings.Contains(s+" ", " ! ") || !printable(s) {
		return strconv.QuoteToASCII(s)
	}
	return s
}

func printable(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) < 0
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

// err turns the words of a capture into an error that callers can tell apart and that says what the node said.
func (e Entry) err() error {
	switch e.Err {
	case "":
		return nil
	case fs.ErrPermission.Error(), "permission denied", "operation not permitted":
		return syscall.EACCES
	case fs.ErrNotExist.Error(), "no such file or directory":
		return syscall.ENOENT
	}
	return errors.New(e.Err)
}
