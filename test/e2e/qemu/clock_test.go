package qemu

import (
	"fmt"
	"testing"
	"time"
)

const year = 365 * 24 * time.Hour

// TestWrongClock: the node's clock is wrong at the second boot, and set right while it runs. The container of the boot before
// is told, or, where its time lies in the future and proves nothing, not yet. Those of this boot never are.
func TestWrongClock(t *testing.T) {
	t.Parallel()
	m := newMachine(t, containerd1)
	m.boot(t)
	m.createdPod(t, "before")
	m.sh(t, "sync; sleep 2")
	m.powerLoss()
	for _, wrong := range []struct {
		name string
		by   time.Duration
	}{
		{"an-hour-behind", -time.Hour},
		{"an-hour-ahead", time.Hour},
		{"a-year-behind", -year},
		{"a-year-ahead", year},
	} {
		t.Run(wrong.name, func(t *testing.T) {
			t.Parallel()
			m.copyOf(t).testWrongClock(t, wrong.name, wrong.by)
		})
	}
}

func (m *machine) testWrongClock(t *testing.T, name string, by time.Duration) {
	m.boot(t, time.Now().Add(by))
	off := time.Until(m.clock(t))
	t.Logf("the node's clock is off by %s", off.Round(time.Second))
	if (off - by).Abs() > 10*time.Minute {
		t.Fatalf("want %s: this proves nothing", by)
	}
	stale := []string{"default/before", "before this boot"}
	mine := []string{"default/during", "default/after"}
	told, silent := want{1, stale, mine}, want{0, nil, mine}

	wrong := silent
	if by > 0 {
		wrong = told
	}
	flags := append([]string{"stale-created"}, soon...)
	live := m.check(t, wrong, flags...)
	m.capture(t, "qemu-clock-"+name, live, flags...)
	m.createdPod(t, "during")
	m.sleepPast(t)
	m.check(t, wrong, flags...)
	m.checkOthers(t)

	// Two pods are being made when the clock is set: they are no older than before.
	starting := []pod{{name: "starting-1"}, {name: "starting-2"}}
	for _, p := range starting {
		m.likeKubelet(t, p, 0)
	}
	m.checkOthers(t)
	m.setClock(t)
	live = m.check(t, told, flags...)
	m.capture(t, "qemu-clock-"+name+"-set-right", live, flags...)
	m.checkOthers(t)
	for _, p := range starting {
		m.forget(t, p)
	}
	m.createdPod(t, "after")
	m.sleepPast(t)
	m.check(t, told, flags...)
	m.checkOthers(t)
	m.check(t, want{1, stale, mine}, "stale-created", "--grace", "1s")
}

// checkOthers: nothing is wrong with the rest of the node, whatever the clock.
func (m *machine) checkOthers(t *testing.T) {
	t.Helper()
	m.check(t, want{exit: 0}, "sandbox-crashloop")
	m.check(t, want{exit: 0}, "sandbox-oom")
	m.check(t, want{exit: 0}, "cni-config")
}

// sleepPast is longer than what soon allows a container.
func (m *machine) sleepPast(t *testing.T) {
	t.Helper()
	m.do(t, "sleep", "2")
}

func (m *machine) clock(t *testing.T) time.Time {
	t.Helper()
	var seconds int64
	if _, err := fmt.Sscan(m.do(t, "date", "+%s"), &seconds); err != nil {
		t.Fatal(err)
	}
	return time.Unix(seconds, 0)
}

// setClock steps the clock to what it is here.
func (m *machine) setClock(t *testing.T) {
	t.Helper()
	m.do(t, "date", "-s", fmt.Sprintf("@%d", time.Now().Unix()))
	if off := time.Until(m.clock(t)).Abs(); off > time.Minute {
		t.Fatalf("the clock is still off by %s", off)
	}
}
