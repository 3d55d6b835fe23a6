package boot

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// stat is /proc/stat of a 6.18 kernel with the interrupts shortened.
const stat = `cpu  51953 0 18032 267737 955 0 190 37 0 0
cpu0 25077 0 8261 135844 171 0 35 17 0 0
cpu1 26876 0 9770 131893 784 0 155 20 0 0
intr 2021613 0 0 0 0 340 173 0 40 1 129271 0 22743
ctxt 3542117
btime 1796062042
processes 4711
procs_running 2
procs_blocked 0
softirq 1012423 0 118033 4 22104 55021 0 1 254071 0 563189
`

const bootID = "67b62943-19cb-4b11-a3cf-0ca57de94046\n"

func node(files map[string]string) fs.FS {
	out := fstest.MapFS{}
	for p, s := range files {
		out[p] = &fstest.MapFile{Data: []byte(s)}
	}
	return out
}

func TestRead(t *testing.T) {
	t.Parallel()
	btime := time.Unix(1796062042, 0)
	for name, tc := range map[string]struct {
		files  map[string]string
		now    time.Time
		uptime time.Duration
		booted time.Time
		id     string
	}{
		// btime has whole seconds and is rounded down: 1796062042.21 by the uptime. A container made at .110 of that
		// second may be of either boot.
		"recorded": {
			map[string]string{UptimePath: "13.79 10.07\n", StatPath: stat, IDPath: bootID},
			time.Unix(1796062056, 0), 13790 * time.Millisecond, btime, "67b62943-19cb-4b11-a3cf-0ca57de94046",
		},
		// Uptime counts the time asleep, so the boot stays where it was.
		"after a suspend of an hour": {
			map[string]string{UptimePath: "3613.79 10.07\n", StatPath: stat, IDPath: bootID},
			time.Unix(1796065656, 0), 3613790 * time.Millisecond, btime, "67b62943-19cb-4b11-a3cf-0ca57de94046",
		},
		// A kernel whose uptime stood still in a paused machine: now - uptime is too late by the pause.
		"uptime short of the wall clock": {
			map[string]string{UptimePath: "13.79 10.07\n", StatPath: stat},
			time.Unix(1796065656, 0), 13790 * time.Millisecond, btime, "",
		},
		// btime moves with the wall clock; a btime read before the clock was set back is too late.
		"btime later than now - uptime": {
			map[string]string{UptimePath: "100.00 10.07\n", StatPath: stat},
			time.Unix(1796062056, 0), 100 * time.Second, time.Unix(1796061956, 0), "",
		},
		"no btime": {
			map[string]string{UptimePath: "13.79 10.07\n", StatPath: "cpu  1 2 3\n"},
			time.Unix(1796062056, 0), 13790 * time.Millisecond, time.Unix(1796062042, 210e6), "",
		},
		"garbage but for the uptime": {
			map[string]string{UptimePath: "13.79\n", StatPath: "btime soon\n", IDPath: "\n"},
			time.Unix(1796062056, 0), 13790 * time.Millisecond, time.Unix(1796062042, 210e6), "",
		},
		"btime of 0": {
			map[string]string{UptimePath: "13.79 10.07\n", StatPath: "btime 0\n"},
			time.Unix(1796062056, 0), 13790 * time.Millisecond, time.Unix(1796062042, 210e6), "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := Read(node(tc.files), tc.now)
			if err != nil {
				t.Fatal(err)
			}
			if !c.Now.Equal(tc.now) || c.Uptime != tc.uptime || !c.Booted.Equal(tc.booted) || c.ID != tc.id {
				t.Errorf("got  %v %v %v %q\nwant %v %v %v %q", c.Now, c.Uptime, c.Booted, c.ID, tc.now, tc.uptime, tc.booted, tc.id)
			}
		})
	}
}

// The case that cost a false alarm: a container of this boot, created in the second that btime names.
func TestNotBeforeTheBoot(t *testing.T) {
	t.Parallel()
	c, err := Read(node(map[string]string{UptimePath: "13.79 10.07\n", StatPath: "btime 1796062042\n"}), time.Unix(1796062056, 0))
	if err != nil {
		t.Fatal(err)
	}
	if created := time.Unix(1796062042, 110e6); created.Before(c.Booted) {
		t.Errorf("%v counts as before the boot at %v", created, c.Booted)
	}
	if created := time.Unix(1796062041, 990e6); !created.Before(c.Booted) {
		t.Errorf("%v does not count as before the boot at %v", created, c.Booted)
	}
}

func TestReadFails(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ uptime, want string }{
		"empty":     {"", "/proc/uptime: empty"},
		"blank":     {" \n", "/proc/uptime: empty"},
		"garbage":   {"up 3 days\n", `/proc/uptime: no uptime in "up"`},
		"negative":  {"-1.00 2.00\n", `/proc/uptime: no uptime in "-1.00"`},
		"NaN":       {"NaN 0\n", `/proc/uptime: no uptime in "NaN"`},
		"infinite":  {"Inf 0\n", `/proc/uptime: no uptime in "Inf"`},
		"overflow":  {"1e300 0\n", `/proc/uptime: no uptime in "1e300"`},
		"centuries": {"9999999999.00 0\n", `/proc/uptime: no uptime in "9999999999.00"`},
		"binary":    {"\x00\x01\x02", `no uptime in`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := Read(node(map[string]string{UptimePath: tc.uptime, StatPath: stat}), time.Unix(1796062056, 0))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%+v, %v; want error %q", c, err, tc.want)
			}
		})
	}
	if _, err := Read(node(nil), time.Now()); !errors.Is(err, fs.ErrNotExist) || err.Error() != "/proc/uptime: file does not exist" {
		t.Errorf("no file: %v", err)
	}
}

func TestUptimes(t *testing.T) {
	t.Parallel()
	// As recorded on real nodes, the youngest and the oldest of them.
	for text, want := range map[string]time.Duration{
		"0.01 0.00\n":              10 * time.Millisecond,
		"11.21 7.05\n":             11210 * time.Millisecond,
		"53.16 43.03\n":            53160 * time.Millisecond,
		"440.05 539.31\n":          440050 * time.Millisecond,
		"34559087.77 68023001.4\n": 34559087770 * time.Millisecond,
	} {
		got, err := parseUptime([]byte(text))
		if d := got - want; err != nil || d > time.Microsecond || d < -time.Microsecond {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestBtime(t *testing.T) {
	t.Parallel()
	// The line of the interrupts has 64 KiB on machines with many of them: more than bufio.Scanner takes by itself.
	wide := strings.Replace(stat, "22743\n", "22743"+strings.Repeat(" 0", 100_000)+"\n", 1)
	for name, text := range map[string]string{"usual": stat, "many interrupts": wide, "no newline": "btime 1796062042", "carriage return": "btime 1796062042\r\n"} {
		if got, err := parseBtime([]byte(text)); err != nil || got.Unix() != 1796062042 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	for _, text := range []string{"", "btime\n", "btime \n", "btime -5\n", "btime 99999999999999999999\n", "xbtime 5\n", strings.Repeat("x", 2<<20)} {
		if got, err := parseBtime([]byte(text)); err == nil {
			t.Errorf("%.20q: %v and no error", text, got)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("13.79 10.07\n", stat, bootID)
	f.Add("154.20 150.44\n", "btime 1796060639\n", "")
	f.Add("", "btime", "\x00")
	f.Fuzz(func(t *testing.T, uptime, stat, id string) {
		now := time.Unix(1796062056, 0)
		c, err := Read(node(map[string]string{UptimePath: uptime, StatPath: stat, IDPath: id}), now)
		if err != nil {
			return
		}
		if c.Uptime < 0 || c.Booted.After(now) || c.Booted.After(now.Add(-c.Uptime)) {
			t.Errorf("up %v, booted %v at %v", c.Uptime, c.Booted, now)
		}
	})
}
