package state

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const someTime = time.Hour

// update runs one update and holds it to what every update promises: change runs once, with a state that can be used, and
// it comes back soon: a file of the largest size that is read takes a while on a busy machine.
func update(t *testing.T, d Disk, change func(*State)) error {
	t.Helper()
	began, ran := time.Now(), 0
	err := d.Update(boot, someTime, func(s *State) {
		ran++
		if s == nil || s.Seen == nil || s.Told == nil {
			t.Errorf("no usable state: %+v", s)
			return
		}
		change(s)
	})
	if ran != 1 {
		t.Errorf("change ran %d times", ran)
	}
	if took := time.Since(began); took > time.Minute { // what hangs would do so for ever
		t.Errorf("took %s", took)
	}
	return err
}

// seen are the pods that the next run finds.
func seen(t *testing.T, d Disk) int {
	t.Helper()
	n := 0
	_ = update(t, d, func(s *State) { n = len(s.Seen) }) // what was lost is the point
	return n
}

func see(pod int) func(*State) { return func(s *State) { s.See(uid(pod), sandboxID(pod, 0), 0, 0) } }

func TestDisk(t *testing.T) {
	t.Parallel()
	d := Disk{Path: filepath.Join(t.TempDir(), "run", "sandbox-checker")} // missing, and so is its parent
	for i := range 3 {
		if err := update(t, d, see(i)); err != nil {
			t.Fatal(err)
		}
	}
	if n := seen(t, d); n != 3 {
		t.Errorf("%d pods, want 3", n)
	}
	for path, want := range map[string]os.FileMode{d.Path: os.ModeDir | 0o700, filepath.Join(d.Path, FileName): 0o600} {
		if st, err := os.Stat(path); err != nil || st.Mode() != want {
			t.Errorf("%s: %v %v, want %v", path, st.Mode(), err, want)
		}
	}
	entries, err := os.ReadDir(d.Path)
	if err != nil || len(entries) != 2 {
		t.Errorf("want state.json and lock alone: %v %v", entries, err)
	}
}

// TestDiskOddities puts something else where the state or its lock belongs. History may be lost; the update must run, say
// what was lost and touch nothing that a link points to.
func TestDiskOddities(t *testing.T) {
	t.Parallel()
	write := func(t *testing.T, path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		make func(t *testing.T, dir string) // dir exists
		// heals: the second update works and finds the first; silent: not even the first has an error.
		heals, silent bool
	}{
		"cut":                   {func(t *testing.T, dir string) { write(t, dir+"/state.json", `{"version":1,"boot_id":"`+boot) }, true, true},
		"garbage":               {func(t *testing.T, dir string) { write(t, dir+"/state.json", "\x7fELF\x00") }, true, true},
		"empty":                 {func(t *testing.T, dir string) { write(t, dir+"/state.json", "") }, true, true},
		"another boot":          {func(t *testing.T, dir string) { write(t, dir+"/state.json", `{"version":1,"boot_id":"x"}`) }, true, true},
		"a run that was killed": {func(t *testing.T, dir string) { write(t, dir+"/state.json.new", `{"version"`) }, true, true},
		"state is a FIFO":       {func(t *testing.T, dir string) { mkfifo(t, dir+"/state.json") }, true, false},
		"state is a link":       {func(t *testing.T, dir string) { link(t, dir, "state.json") }, true, false},
		"state dangles":         {func(t *testing.T, dir string) { symlink(t, dir+"/nowhere", dir+"/state.json") }, true, false},
		"state is a directory":  {func(t *testing.T, dir string) { mkdir(t, dir+"/state.json/x") }, false, false},
		"new is a FIFO":         {func(t *testing.T, dir string) { mkfifo(t, dir+"/state.json.new") }, true, true},
		"new is a link":         {func(t *testing.T, dir string) { link(t, dir, "state.json.new") }, true, true},
		"new is a hard link":    {func(t *testing.T, dir string) { hardLink(t, dir, "state.json.new") }, true, true},
		"state is a hard link":  {func(t *testing.T, dir string) { hardLink(t, dir, "state.json") }, true, true},
		"lock is a hard link":   {func(t *testing.T, dir string) { hardLink(t, dir, "lock") }, true, true},
		"new is a directory":    {func(t *testing.T, dir string) { mkdir(t, dir+"/state.json.new/x") }, false, false},
		"lock is a FIFO":        {func(t *testing.T, dir string) { mkfifo(t, dir+"/lock") }, true, true},
		"lock is a link":        {func(t *testing.T, dir string) { link(t, dir, "lock") }, false, false},
		"lock is a directory":   {func(t *testing.T, dir string) { mkdir(t, dir+"/lock/x") }, false, false},
		"lock dangles":          {func(t *testing.T, dir string) { symlink(t, dir+"/nowhere", dir+"/lock") }, false, false},
		"lock is not writable":  {func(t *testing.T, dir string) { write(t, dir+"/lock", "x"); _ = os.Chmod(dir+"/lock", 0) }, os.Getuid() == 0, os.Getuid() == 0},
		"100,000 entries":       {func(t *testing.T, dir string) { write(t, dir+"/state.json", string(manyEntries(t))) }, true, true},
		"larger than is read":   {func(t *testing.T, dir string) { write(t, dir+"/state.json", strings.Repeat(" ", maxFile+1)+"{}") }, true, true},
		"deep":                  {func(t *testing.T, dir string) { write(t, dir+"/state.json", strings.Repeat("[", 1<<20)) }, true, true},
		"a million empty arrays": {func(t *testing.T, dir string) {
			write(t, dir+"/state.json", `{"seen":{"a":[`+strings.Repeat("{},", 1<<20)+`{}]}}`)
		}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			tc.make(t, dir)
			d := Disk{Path: dir}
			err := update(t, d, see(1))
			if tc.silent && err != nil {
				t.Errorf("error: %v", err)
			}
			if !tc.silent && err == nil {
				t.Error("nothing was said")
			}
			if err != nil && !strings.Contains(err.Error(), "/") {
				t.Errorf("the error names no path: %v", err)
			}
			found := false
			err = update(t, d, func(s *State) { found = s.Seen[uid(1)] != nil })
			if tc.heals && (err != nil || !found) {
				t.Errorf("second run: %v, found %t", err, found)
			}
			if raw, err := os.ReadFile(filepath.Join(dir, "target")); err == nil && string(raw) != "precious" {
				t.Errorf("the target of the link was changed: %q", raw)
			}
			if _, err := os.Lstat(filepath.Join(dir, "nowhere")); err == nil {
				t.Error("a file was made through a dangling link")
			}
			if st, err := os.Stat(filepath.Join(dir, FileName)); err == nil && st.Mode().IsRegular() && st.Size() > maxFile && name != "larger than is read" {
				t.Errorf("the file has %d bytes", st.Size())
			}
		})
	}
}

func manyEntries(t *testing.T) []byte {
	t.Helper()
	s := State{Seen: map[string][]Seen{}, Told: map[string]float64{}}
	for i := range 100_000 {
		s.Seen[uid(i)] = []Seen{{ID: sandboxID(i, 0), At: someTime.Seconds() - float64(i%3000)}}
		s.Told[told(i)] = someTime.Seconds() - float64(i%3000)
	}
	return encoded(t, s)
}

func mkfifo(t *testing.T, path string) {
	t.Helper()
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
}

func symlink(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

// link makes name a link to a file that must stay as it is.
func link(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "target"), []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	symlink(t, filepath.Join(dir, "target"), filepath.Join(dir, name))
}

// hardLink makes name another name of a file that must stay as it is.
func hardLink(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "target"), []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(dir, "target"), filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// TestDiskNowhere: where the directory cannot be, every run has an empty state and says so.
func TestDiskNowhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	symlink(t, filepath.Join(dir, "nowhere"), filepath.Join(dir, "dangling"))
	for name, path := range map[string]string{
		"a file in its place":  file,
		"below a file":         filepath.Join(file, "sandbox-checker"),
		"on a dangling link":   filepath.Join(dir, "dangling"),
		"on a read-only mount": "/proc/sandbox-checker",
		"a NUL in its name":    filepath.Join(dir, "a\x00b"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := Disk{Path: path}
			for range 2 {
				err := update(t, d, func(s *State) {
					if len(s.Seen) != 0 {
						t.Error("a history from nowhere")
					}
					see(1)(s)
					if !s.New("k") {
						t.Error("told before")
					}
				})
				if err == nil {
					t.Error("nothing was said")
				}
			}
		})
	}
}

// TestDiskReadOnly: in sysfs nobody can make a file, whoever runs the test.
func TestDiskReadOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := Disk{Path: dir}
	if err := update(t, d, see(1)); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat("/sys/kernel"); err != nil || !st.IsDir() {
		t.Fatalf("no sysfs: %v", err)
	}
	if err := update(t, Disk{Path: "/sys/kernel"}, see(1)); err == nil {
		t.Error("no error where no file can be made")
	}
	if _, err := os.Lstat("/sys/kernel/lock"); err == nil {
		t.Error("a file in sysfs")
	}
}

func TestMemory(t *testing.T) {
	t.Parallel()
	m := &Memory{Raw: []byte("garbage")}
	for i := range 3 {
		if err := m.Update(boot, someTime, see(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Update(boot, someTime, func(s *State) {
		if len(s.Seen) != 3 {
			t.Errorf("%d pods", len(s.Seen))
		}
	}); err != nil {
		t.Fatal(err)
	}
	_ = m.Update("another boot", someTime, func(s *State) {
		if len(s.Seen) != 0 {
			t.Error("the history of another boot")
		}
	})
}

func ExampleState() {
	m := &Memory{}
	for minute := range 3 {
		_ = m.Update(boot, someTime+time.Duration(minute)*time.Minute, func(s *State) {
			s.See("5f1c7d52-0000-4000-8000-000000000000", "888eaf95", 3, 0)
			fmt.Println(s.New("stale-created|5f1c7d52|main|"), len(s.Seen))
		})
	}
	// Output:
	// true 1
	// false 1
	// false 1
}
