package e2e

import (
	"strings"
	"testing"
	"time"
)

// TestWatcherComplains: the watcher finds each fault in looks that are otherwise well, and none in those that are.
func TestWatcherComplains(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(1_800_000_000+int64(seconds), 0) }
	const kind = "CNIConfigProblem"
	change := func(l *look, do func(*nodeCondition)) {
		k := l.conditions[kind]
		do(&k)
		l.conditions[kind] = k
	}
	for name, c := range map[string]struct {
		change func(first, second *look)
		want   string // "" is no fault
	}{
		"well": {func(_, _ *look) {}, ""},
		"True": {func(_, l *look) { change(l, func(k *nodeCondition) { k.Status = "True" }) }, "True"},
		"Unknown": {func(_, l *look) {
			l.began, l.ended = at(70), at(71)
			change(l, func(k *nodeCondition) { k.Status = "Unknown" })
		}, "Unknown"},
		"Unknown where it may be": {func(_, l *look) {
			change(l, func(k *nodeCondition) { k.Status, k.LastTransitionTime = "Unknown", at(34) })
		}, ""},
		"turned and back between the looks": {func(_, l *look) {
			change(l, func(k *nodeCondition) { k.LastTransitionTime = at(5) })
		}, "moved"},
		"turned where it may":     {func(_, l *look) { change(l, func(k *nodeCondition) { k.LastTransitionTime = at(30) }) }, ""},
		"a condition that went":   {func(_, l *look) { delete(l.conditions, kind) }, "3 conditions"},
		"no heartbeat":            {func(_, l *look) { l.began, l.ended = at(600), at(601) }, "no heartbeat"},
		"no detector":             {func(_, l *look) { l.detector = nil }, "0 detectors"},
		"another detector":        {func(_, l *look) { l.detector[0].uid = "other" }, "the detector was"},
		"a restarted detector":    {func(_, l *look) { l.detector[0].restarts++ }, "the detector was"},
		"not ready at the end":    {func(_, l *look) { l.detector[0].ready = false }, "not ready"},
		"not ready in between":    {func(l, _ *look) { l.detector[0].ready = false }, ""},
		"another container of it": {func(_, l *look) { l.detector[0].container = "other" }, "the detector was"},
	} {
		first, second := wellLook(at(0)), wellLook(at(40))
		c.change(&first, &second)
		w := &watcher{began: at(0), looks: []look{first, second}, blind: []span{{at(30), at(60)}}}
		switch found := strings.Join(w.faults(), "\n"); {
		case c.want == "" && found != "":
			t.Errorf("%s: %s", name, found)
		case !strings.Contains(found, c.want):
			t.Errorf("%s: want %q: %s", name, c.want, found)
		}
	}
}

func wellLook(at time.Time) look {
	l := look{began: at, ended: at.Add(time.Second), conditions: map[string]nodeCondition{},
		detector: []podLook{{uid: "u", container: "c", ready: true}}}
	for kind, reason := range ourConditions {
		l.conditions[kind] = nodeCondition{Type: kind, Status: "False", Reason: reason,
			LastTransitionTime: time.Unix(1_799_999_000, 0), LastHeartbeatTime: time.Unix(1_799_999_999, 0)}
	}
	return l
}

// TestWatcherMisses: a look-alike that did not take place, or not for long enough, is missing.
func TestWatcherMisses(t *testing.T) {
	oom := lookAlike{app: "a", says: []string{"OOMKilled"}, silent: []string{"Completed"}, restarts: 3}
	pod := func(restarts int, uid string, states ...string) podLook {
		return podLook{app: "a", uid: uid, restarts: restarts, states: states}
	}
	for name, c := range map[string]struct {
		pods []podLook // of a look each, 10 s apart
		want string    // "" is nothing missing
	}{
		"took place":      {[]podLook{pod(2, "u", "OOMKilled"), pod(3, "u", "OOMKilled")}, ""},
		"in two pods":     {[]podLook{pod(1, "u", "OOMKilled"), pod(2, "v", "terminated", "OOMKilled")}, ""},
		"not there":       {nil, "for 0s"},
		"another's":       {[]podLook{{app: "b", states: []string{"OOMKilled"}, restarts: 3}, {app: "b", states: []string{"OOMKilled"}, restarts: 3}}, "for 0s"},
		"only once":       {[]podLook{pod(3, "u", "OOMKilled"), pod(3, "u", "running")}, "for 0s, want 10s"},
		"few restarts":    {[]podLook{pod(1, "u", "OOMKilled"), pod(2, "u", "OOMKilled")}, "restarted 2 times"},
		"another end too": {[]podLook{pod(3, "u", "OOMKilled"), pod(3, "u", "Completed"), pod(3, "u", "OOMKilled")}, "Completed"},
	} {
		var looks []look
		for i, p := range c.pods {
			looks = append(looks, look{began: time.Unix(int64(10*i), 0), pods: []podLook{p}})
		}
		if got := strings.Join(oom.missing(looks, 10*time.Second), "; "); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: want %q: %s", name, c.want, got)
		}
	}
}
