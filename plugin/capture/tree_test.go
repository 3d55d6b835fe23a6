package capture

import (
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"sandbox-checker/plugin"
)

func names(t *testing.T, h *plugin.Host, dir string) []string {
	t.Helper()
	entries, err := h.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

const linked = minimal + `-- files --
lrwxrwxrwx - /etc/cni/net.d/10-absolute.conf -> /srv/real.conf
lrwxrwxrwx - /etc/cni/net.d/20-relative.conf -> ../../../srv/real.conf
lrwxrwxrwx - /etc/cni/net.d/30-beside.conf -> 10-absolute.conf
lrwxrwxrwx - /etc/cni/net.d/40-dangling.conf -> /nowhere/x
lrwxrwxrwx - /etc/cni/net.d/50-loop.conf -> 51-loop.conf
lrwxrwxrwx - /etc/cni/net.d/51-loop.conf -> 50-loop.conf
lrwxrwxrwx - /etc/cni/net.d/60-above-the-root.conf -> ../../../../../../srv/real.conf
lrwxrwxrwx - /etc/cni/net.d/..data -> ..2026_03_02
lrwxrwxrwx - /etc/cni/net.d/70-configmap.conf -> ..data/real.conf
lrwxrwxrwx - /var/run -> /run
lrwxrwxrwx - /opt/cni -> ../srv/./cni//
srwxrwxrwx - /run/x/x.sock
-rw------- - /etc/cni/net.d/80-locked.conf ! permission denied
d--------- - /locked ! permission denied
srwxrwxrwx - /run/x/dead.sock ! connection refused
prw-r--r-- - /run/fifo
-rwxr-xr-x - /srv/cni/bin/bridge
-- /srv/real.conf --
{"real": true}
-- /etc/cni/net.d/..2026_03_02/real.conf --
{"map": true}
`

func TestLinks(t *testing.T) {
	t.Parallel()
	h, err := parse(t, linked).Host()
	if err != nil {
		t.Fatal(err)
	}
	const dir = "/etc/cni/net.d/"
	for path, want := range map[string]string{
		dir + "10-absolute.conf":       `{"real": true}`,
		dir + "20-relative.conf":       `{"real": true}`,
		dir + "30-beside.conf":         `{"real": true}`,
		dir + "60-above-the-root.conf": `{"real": true}`,
		dir + "70-configmap.conf":      `{"map": true}`,
		"/opt/cni/bin/bridge":          "",
	} {
		raw, err := h.ReadFile(path)
		if err != nil || strings.TrimSpace(string(raw)) != want {
			t.Errorf("%s: %q, %v; want %s", path, raw, err, want)
		}
	}
	for path, want := range map[string]string{
		dir + "50-loop.conf":   "too many levels of symbolic links",
		dir + "80-locked.conf": "permission denied",
		"/run/fifo":            "not a regular file",
		"/var/run/x/x.sock":    "not a regular file",
	} {
		if _, err := h.ReadFile(path); err == nil || err.Error() != path+": "+want {
			t.Errorf("%s: error %v, want %s", path, err, want)
		}
	}
	for _, path := range []string{"/absent", dir + "40-dangling.conf", "/absent/below"} {
		if _, err := h.ReadFile(path); !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), path+": ") {
			t.Errorf("%s: error %v", path, err)
		}
	}
	if err := h.Accepts("/run/none.sock"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("connecting to nothing: %v", err)
	}
	// What cannot be opened can still be looked at.
	if st, err := h.Stat(dir + "80-locked.conf"); err != nil || st.Mode() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
	if _, err := h.ReadDir("/locked"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("/locked: %v", err)
	}
	if _, err := h.ReadDir("/srv/real.conf"); err == nil || err.Error() != "/srv/real.conf: not a directory" {
		t.Errorf("listing a file: %v", err)
	}
	for path, want := range map[string]string{
		"/var/run/x/x.sock":    "",
		"/run/x/x.sock":        "",
		"/var/run/x/dead.sock": "connection refused",
		"/srv/real.conf":       "connection refused", // as connecting to a file gives
	} {
		if err := h.Accepts(path); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	for name, want := range map[string]string{"etc/cni/net.d/40-dangling.conf": "/nowhere/x", "opt/cni": "../srv/./cni//"} {
		if got, err := h.Files.ReadLink(name); err != nil || got != want {
			t.Errorf("ReadLink(%s) = %q, %v", name, got, err)
		}
		if st, err := h.Files.Lstat(name); err != nil || st.Mode().Type() != fs.ModeSymlink {
			t.Errorf("Lstat(%s) = %v, %v", name, st, err)
		}
	}
	if _, err := h.Files.ReadLink("srv/real.conf"); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("the target of a file: %v", err)
	}
	listed := names(t, h, "/etc/cni/net.d")
	if !slices.IsSorted(listed) || listed[0] != "..2026_03_02" || len(listed) != 11 {
		t.Errorf("listed %v", listed)
	}
}

func TestTreeReadsOnlyFiles(t *testing.T) {
	t.Parallel()
	h, err := parse(t, linked).Host()
	if err != nil {
		t.Fatal(err)
	}
	f, err := h.Files.Open("srv")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := io.ReadAll(f); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("reading a directory: %v", err)
	}
	for _, bad := range []string{"", "/srv", "srv/", "../srv", "srv/../srv"} {
		if _, err := h.Files.Open(bad); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("Open(%q): %v", bad, err)
		}
	}
}

// The replayed tree is a file system like any other.
func TestTreeIsAnFS(t *testing.T) {
	t.Parallel()
	h, err := parse(t, minimal+"-- /etc/a/b.conf --\n{}\n-- /etc/c --\n\n-- /d --\n").Host()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"etc/a/b.conf", "etc/c", "d"} {
		raw, err := fs.ReadFile(h.Files, name)
		st, serr := h.Files.Stat(name)
		if err != nil || serr != nil || st.Size() != int64(len(raw)) || st.Name() != name[strings.LastIndexByte(name, '/')+1:] || st.IsDir() || st.Sys() != nil {
			t.Errorf("%s: %q, %v, %v, %v", name, raw, err, st, serr)
		}
	}
	var walked []string
	if err := fs.WalkDir(h.Files, ".", func(p string, _ fs.DirEntry, err error) error {
		walked = append(walked, p)
		return err
	}); err != nil || !slices.Equal(walked, []string{".", "d", "etc", "etc/a", "etc/a/b.conf", "etc/c"}) {
		t.Errorf("walked %v, %v", walked, err)
	}
}
