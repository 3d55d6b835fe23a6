package state

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDiskOfOthers: a directory that is a link, or belongs to another user, or whose file does, is not used: who can write there
// could lead us elsewhere, or tell us a history.
func TestDiskOfOthers(t *testing.T) {
	t.Parallel()
	elsewhere, dir := t.TempDir(), filepath.Join(t.TempDir(), "sandbox-checker")
	if err := update(t, Disk{Path: elsewhere}, see(1)); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(filepath.Join(elsewhere, FileName))
	symlink(t, elsewhere, dir)
	if err := update(t, Disk{Path: dir}, func(s *State) {
		if len(s.Seen) != 0 {
			t.Error("a history through a link")
		}
		see(2)(s)
	}); err == nil {
		t.Error("a link: nothing was said")
	}
	if after, _ := os.ReadFile(filepath.Join(elsewhere, FileName)); string(after) != string(before) {
		t.Error("written through a link")
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can give files to others")
	}
	for _, path := range []string{elsewhere, filepath.Join(elsewhere, FileName)} {
		if err := os.Chown(path, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		err := update(t, Disk{Path: elsewhere}, func(s *State) {
			if len(s.Seen) != 0 {
				t.Error("the history of another user")
			}
		})
		if err == nil || !strings.Contains(err.Error(), "12345") {
			t.Errorf("%s of another user: %v", path, err)
		}
		if err := os.Chown(elsewhere, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDiskOpenToAll: a directory that a volume made open to all is closed.
func TestDiskOpenToAll(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, mode := range []os.FileMode{0o777, 0o775 | os.ModeSetgid, 0o772} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		if err := update(t, Disk{Path: dir}, see(1)); err != nil {
			t.Error(err)
		}
		if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != 0o700 {
			t.Errorf("%v: %v, %v", mode, st.Mode(), err)
		}
	}
}
