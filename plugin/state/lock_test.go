package state

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestTwoAtOnce: two runs that keep and read at the same time lose nothing, and a reader sees a whole file at any time.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	const each = 200
	dir := t.TempDir()
	var done atomic.Bool
	var wg, readers sync.WaitGroup
	readers.Go(func() {
		for reads := 0; !done.Load(); reads++ {
			raw, err := os.ReadFile(filepath.Join(dir, FileName))
			if err == nil && !json.Valid(raw) {
				t.Errorf("read %d: no whole file: %q", reads, raw)
				return
			}
		}
	})
	var waited atomic.Int32
	for store := range 2 {
		wg.Go(func() {
			d := Disk{Path: dir}
			for i := range each {
				// A run that had no turn says so and keeps nothing: it is made again, as NPD would a minute later.
				for try := 0; ; try++ {
					err := d.Update(boot, someTime, see(store*each+i))
					if err == nil {
						break
					}
					if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, errHung) || try > 20 {
						t.Errorf("store %d, update %d: %v", store, i, err)
						return
					}
					waited.Add(1)
				}
				time.Sleep(200 * time.Microsecond)
			}
		})
	}
	wg.Wait()
	done.Store(true)
	readers.Wait()
	d := Disk{Path: dir}
	if n := seen(t, d); n != 2*each {
		t.Errorf("%d pods, want %d", n, 2*each)
	}
	t.Logf("%d of %d had no turn at once", waited.Load(), 2*each)
}

// TestLockHeld: another run that holds the lock and hangs costs a moment, and what this run would have kept.
func TestLockHeld(t *testing.T) {
	t.Parallel()
	d := Disk{Path: t.TempDir()}
	if err := update(t, d, see(1)); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(d.Path, FileName))
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(d.Path, "lock"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	sawFirst, began := false, time.Now()
	err = update(t, d, func(s *State) {
		sawFirst = s.Seen[uid(1)] != nil
		see(2)(s)
	})
	if took := time.Since(began); took > 30*time.Second { // it would be for ever
		t.Errorf("took %s", took)
	}
	if err == nil || !strings.Contains(err.Error(), "lock") {
		t.Errorf("error %v", err)
	}
	if !sawFirst {
		t.Error("the history that is there was not seen")
	}
	if after, err := os.ReadFile(filepath.Join(d.Path, FileName)); err != nil || string(after) != string(before) {
		t.Errorf("written without the lock: %v\n%s", err, after)
	}
	// Many runs that wait at once still come back in time.
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if update(t, d, see(i)) == nil {
				t.Errorf("run %d had the lock", i)
			}
		})
	}
	wg.Wait()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := update(t, d, see(3)); err != nil {
		t.Errorf("after the lock was released: %v", err)
	}
	if n := seen(t, d); n != 2 {
		t.Errorf("%d pods, want those of the runs that had their turn", n)
	}
}
