package kmsg

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// What is passed over is what is older, and nothing else is read differently: for logs of every form, cut at any time.
func TestParseSince(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no logs: %v", err)
	}
	logs := map[string]string{
		"raw":   "6,1,5000000,-;old\n SUBSYSTEM=acpi\n DEVICE=+acpi:device:00\n6,2,9000000,-;new\n of two lines\n6,3,1000000,-;old again\nand what a terminal broke off\n12,4,9500000,-;a program's\n",
		"mixed": "6,1,5000000,-;old\nNov 23 19:57:05 node-1 dockerd: another program\n[    9.5] new\n6,2,1,-;old\n[    9.6] newer\n",
		"odd":   "6,1,99999999999999999999,-;no time\n6,1,,-;none\n,1,2,-;none\n6,1,2;no flags\n6,18446744073709551616,2,-;no number\n6,2,9000000,c;x\n",
	}
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		logs[name] = string(raw)
	}
	for name, log := range logs {
		all := Parse([]byte(log))
		for _, since := range []time.Duration{0, 1, 6 * time.Second, time.Hour, 1 << 62} {
			got, seen := ParseSince([]byte(log), since)
			if seen < len(got) || since == 0 && seen != len(all) {
				t.Errorf("%s since %s: %d seen of %d", name, since, seen, len(all))
			}
			for _, r := range got {
				if isRaw(log) && r.Time < since {
					t.Errorf("%s since %s: %+v is older", name, since, r)
				}
			}
			if want := younger(all, since); isRaw(log) && !reflect.DeepEqual(got, want) {
				t.Errorf("%s since %s: %d records, want %d", name, since, len(got), len(want))
			}
		}
	}
	// The order of the ring is not the order of its times, and neither counts.
	got, seen := ParseSince([]byte(logs["raw"]), 6*time.Second)
	if len(got) != 2 || got[0].Text != "new" || !got[1].User || seen != 4 {
		t.Errorf("%+v, %d seen", got, seen)
	}
	if got, seen := ParseSince(nil, 0); got != nil || seen != 0 {
		t.Errorf("%v, %d", got, seen)
	}
}

// isRaw says whether every record of a log is one of /dev/kmsg.
func isRaw(log string) bool {
	for line := range strings.Lines(log) {
		if _, ok := rawHead([]byte(strings.TrimRight(line, "\r\n"))); !ok && line[0] != ' ' {
			return false
		}
	}
	return log != ""
}

func younger(all []Record, since time.Duration) []Record {
	var out []Record
	for _, r := range all {
		if r.Time >= since.Truncate(time.Microsecond) {
			out = append(out, r)
		}
	}
	return out
}
