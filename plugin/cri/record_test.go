package cri

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func everySandbox(pods []Sandbox, _ []Container) []string {
	var ids []string
	for _, s := range pods {
		ids = append(ids, s.ID)
	}
	return append(ids, "went away between two calls")
}

// A capture must give the verdicts that the node gives: what is recorded replays as the live client answered.
func TestRecordReplays(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"containerd-1.6", "containerd-2.4", "cri-o-1.34"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rt := recorded(t, name)
			spoil(rt)
			c := dial(t, serveCRIO(t, rt, testdata(t, "cri-o-1.34/config.toml")))
			ctx := soon(t)
			r, err := c.Record(ctx, everySandbox)
			if err != nil {
				t.Fatal(err)
			}
			re, err := Replay(r)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, c, re)
			if re.Socket() != c.Socket() {
				t.Errorf("socket %q, want %q", re.Socket(), c.Socket())
			}
			for what, raw := range map[string][]byte{"pods": r.Pods, "ps": r.Containers, "inspectp": r.Sandbox["odd"], "version": r.Version} {
				if strings.Contains(string(raw), "hunter2") {
					t.Errorf("%s holds annotations: no verdict needs them and they may hold anything\n%s", what, raw)
				}
				if len(raw) == 0 || raw[len(raw)-1] != '\n' {
					t.Errorf("%s: %d bytes that do not end in a newline", what, len(raw))
				}
			}
			if !strings.Contains(string(r.Version), `"runtimeVersion": "v1.2.3"`) {
				t.Errorf("version %s", r.Version)
			}
			if !strings.Contains(string(r.Sandbox["odd"]), `"createdAt": "2026-11-30T17:43:50.417187008Z"`) {
				t.Errorf("inspectp has no time as crictl prints it: %s", r.Sandbox["odd"])
			}
			again, err := c.Record(ctx, everySandbox)
			if err != nil || !reflect.DeepEqual(r, again) {
				t.Errorf("recorded twice, and not the same: %v", err)
			}
		})
	}
}

// spoil adds what real runtimes send now and then: states of a later CRI, times that are none, and no metadata.
func spoil(rt *fakeRuntime) {
	secret := map[string]string{"token": "hunter2"}
	rt.pods.Items = append(rt.pods.Items,
		&runtimeapi.PodSandbox{Id: "odd", State: 7, CreatedAt: -6795364578871345152, Annotations: secret,
			Metadata: &runtimeapi.PodSandboxMetadata{Name: "gr\u00fc\u00df\x00\"\\", Namespace: "n", Uid: "u", Attempt: 4294967295}},
		&runtimeapi.PodSandbox{Id: "bare"})
	rt.containers.Containers = append(rt.containers.Containers,
		&runtimeapi.Container{Id: "odd", PodSandboxId: "odd", State: 9, CreatedAt: 1<<63 - 1, Annotations: secret},
		&runtimeapi.Container{Id: "created", PodSandboxId: "odd", Labels: map[string]string{podNameLabel: "p", podNamespaceLabel: "n", podUIDLabel: "u"}})
	rt.sandbox["odd"] = network(runtimeapi.NamespaceMode_NODE)
	rt.sandbox["odd"].Annotations, rt.sandbox["odd"].CreatedAt = secret, 1796060630417187008
	rt.sandbox["bare"] = &runtimeapi.PodSandboxStatus{}
}

func compare(t *testing.T, c *Client, re *Recorded) {
	t.Helper()
	ctx := soon(t)
	pods, err := c.Sandboxes(ctx)
	got, rerr := re.Sandboxes(ctx)
	same(t, "sandboxes", got, rerr, pods)
	ctrs, err2 := c.Containers(ctx)
	gotCtrs, rerr := re.Containers(ctx)
	same(t, "containers", gotCtrs, rerr, ctrs)
	created, err3 := c.CreatedContainers(ctx)
	gotCtrs, rerr = re.CreatedContainers(ctx)
	same(t, "created", gotCtrs, rerr, created)
	st, err4 := c.Status(ctx)
	gotSt, rerr := re.Status(ctx)
	same(t, "status", gotSt, rerr, st)
	for _, id := range []string{"odd", "bare"} {
		host, err := c.HostNetwork(ctx, id)
		if err != nil {
			t.Error(err)
		}
		gotHost, rerr := re.HostNetwork(ctx, id)
		same(t, "network of "+id, gotHost, rerr, host)
	}
	for _, err := range []error{err, err2, err3, err4} {
		if err != nil {
			t.Error(err)
		}
	}
}

// The error is in the records, and replaying gives it back: a capture of a sick node is the one that is needed most.
func TestRecordFails(t *testing.T) {
	t.Parallel()
	c := dial(t, refusing(t))
	r, err := c.Record(soon(t), everySandbox)
	if err == nil || r.Err != err.Error() || r.Err != "Version at "+c.Socket()+": connection refused" || r.Socket != c.Socket() || r.Pods != nil {
		t.Fatalf("%+v, %v", r, err)
	}
	re, rerr := Replay(r)
	if rerr != nil {
		t.Fatal(rerr)
	}
	if _, rerr = re.Sandboxes(soon(t)); rerr == nil || rerr.Error() != r.Err {
		t.Errorf("replays as %v", rerr)
	}

	hung := dial(t, serve(t, &fakeRuntime{hang: true}))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if r, err := hung.Record(ctx, everySandbox); err == nil || !strings.HasSuffix(r.Err, ": no answer in time") {
		t.Errorf("%+v, %v", r, err)
	}
}

// An answer without a status is recorded as one that tells nothing.
func TestRecordNothing(t *testing.T) {
	t.Parallel()
	raw, err := inspectpJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	if host, err := recordedNetwork(raw); host || err != nil {
		t.Errorf("%s: %t, %v", raw, host, err)
	}
	if raw, err = infoJSON(nil); err != nil || !strings.Contains(string(raw), `"conditions": []`) {
		t.Errorf("%s, %v", raw, err)
	}
}

func TestRenamed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"containerd-1.6", "containerd-2.4", "cri-o-1.34"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rename := func(p Pod) Pod {
				return Pod{Namespace: "ns-" + p.Namespace, Name: fmt.Sprintf("renamed-%c", p.Name[len(p.Name)-1]), UID: p.UID}
			}
			was := records(t, name)
			now, err := was.Renamed(rename)
			if err != nil {
				t.Fatal(err)
			}
			before, after := replayed(t, name), mustReplay(t, now)
			for i := range before.sandboxes {
				before.sandboxes[i].Pod = rename(before.sandboxes[i].Pod)
			}
			for i := range before.containers {
				before.containers[i].Pod = rename(before.containers[i].Pod)
			}
			if before.status.SandboxImage != "" {
				before.status.SandboxImage = "sandbox-image"
			}
			// All but the names stays: the verdicts must.
			if !reflect.DeepEqual(before.status, after.status) {
				t.Errorf("got\n%+v\nwant\n%+v", after.status, before.status)
			}
			if !reflect.DeepEqual(before, after) {
				t.Errorf("got\n%+v\nwant\n%+v", after, before)
			}
			for what, raw := range map[string][]byte{"pods": now.Pods, "ps": now.Containers, "inspectp": now.Sandbox["host"]} {
				for _, word := range []string{"web-1", "web-2", "localhost/pause", "config.seen", "sha256:"} {
					if strings.Contains(string(raw), word) {
						t.Errorf("%s still holds %q\n%s", what, word, raw)
					}
				}
			}
		})
	}
	for _, r := range []Records{{Pods: []byte("x")}, {Containers: []byte("x")}, {Sandbox: map[string][]byte{"a": []byte("x")}}} {
		if _, err := r.Renamed(func(p Pod) Pod { return p }); err == nil || !strings.HasPrefix(err.Error(), "cri/") {
			t.Errorf("what cannot be read passes: %v", err)
		}
	}
}

func mustReplay(t *testing.T, r Records) *Recorded {
	t.Helper()
	out, err := Replay(r)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
