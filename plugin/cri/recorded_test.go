package cri

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"
)

// records is what crictl printed on the runtime of testdata/NAME.
func records(t *testing.T, name string) Records {
	t.Helper()
	r := Records{
		Socket:     "/run/r.sock",
		Pods:       testdata(t, name+"/pods.json"),
		Containers: testdata(t, name+"/ps.json"),
		Info:       testdata(t, name+"/info.json"),
		Sandbox:    map[string][]byte{"host": testdata(t, name+"/inspectp.json")},
	}
	if raw, err := os.ReadFile("testdata/" + name + "/config.toml"); err == nil {
		r.CRIOConfig = raw
	}
	return r
}

func replayed(t *testing.T, name string) *Recorded {
	t.Helper()
	r, err := Replay(records(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestReplay(t *testing.T) {
	t.Parallel()
	web1 := Pod{Namespace: "default", Name: "web-1", UID: "00000001-1111-4111-8111-000000000001"}
	for _, tc := range []struct {
		name, sandbox string
		created       int64
	}{
		{"containerd-1.6", "b7f5661a265bc07e50ce925eea1219b500a66f26cfb7d877ac8f71b47f25eaee", 1796060630417187008},
		{"containerd-2.4", "3f4d1123f33686149de932de22d8444b546387e4d5f59cf40ab4f25a0d7f6882", 1796060599274461965},
		{"cri-o-1.34", "7e6a4f4d696650b972e8f7c787152054c46f805d8137755ce61d2b36917d4948", 1796061047805265447},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := replayed(t, tc.name)
			ctx := context.Background()
			pods, err := r.Sandboxes(ctx)
			if err != nil || len(pods) != 2 {
				t.Fatalf("%d sandboxes, %v", len(pods), err)
			}
			found := false
			for _, s := range pods {
				if s.ID != tc.sandbox {
					continue
				}
				found = true
				if want := (Sandbox{ID: tc.sandbox, Pod: web1, Ready: true, Created: time.Unix(0, tc.created)}); s != want {
					t.Errorf("sandbox\n%+v\nwant\n%+v", s, want)
				}
			}
			ctrs, err := r.Containers(ctx)
			if err != nil || len(ctrs) != 2 || !found {
				t.Fatalf("%d containers, %v; sandbox found: %v", len(ctrs), err, found)
			}
			for _, c := range ctrs {
				if c.Name != "app" || c.Attempt != 0 || c.State != Running || c.Pod.Namespace != "default" || c.Created.Year() != 2026 {
					t.Errorf("container %+v", c)
				}
				if c.SandboxID == tc.sandbox && c.Pod != web1 {
					t.Errorf("pod %+v, want %+v", c.Pod, web1)
				}
			}
			if created, err := r.CreatedContainers(ctx); err != nil || len(created) != 0 {
				t.Errorf("%v created on a healthy node, %v", created, err)
			}
			if host, err := r.HostNetwork(ctx, "host"); err != nil || !host {
				t.Errorf("host network: %v, %v", host, err)
			}
			if r.Socket() != "/run/r.sock" {
				t.Errorf("socket %q", r.Socket())
			}
		})
	}
}

// containerd 1.6 dates what it only half remembers to the year 1754. Such a time proves nothing.
func TestReplayNegativeTime(t *testing.T) {
	t.Parallel()
	r, err := Replay(Records{Pods: testdata(t, "containerd-1.6/pods-after-failure.json")})
	if err != nil {
		t.Fatal(err)
	}
	pods, err := r.Sandboxes(context.Background())
	if err != nil || len(pods) != 2 {
		t.Fatalf("%v, %v", pods, err)
	}
	for i, s := range pods {
		if !s.Created.IsZero() || s.Ready || s.Attempt != uint32(1-i) || s.Pod.Name != "cf-b" {
			t.Errorf("%+v", s)
		}
	}
}

func TestReplayCreated(t *testing.T) {
	t.Parallel()
	r, err := Replay(Records{Containers: testdata(t, "containerd-1.6/ps-created.json")})
	if err != nil {
		t.Fatal(err)
	}
	created, err := r.CreatedContainers(context.Background())
	if err != nil || len(created) == 0 {
		t.Fatalf("%v, %v", created, err)
	}
	all, _ := r.Containers(context.Background())
	if len(all) <= len(created) {
		t.Errorf("%d created of %d", len(created), len(all))
	}
	if c := created[0]; c.Pod.Name != "stale-c" || !c.Created.Equal(time.Unix(0, 1796061056809449648)) {
		t.Errorf("%+v", c)
	}
}

// A later CRI has more fields; an answer of another shape must not pass for a healthy node.
func TestReplayOddAnswers(t *testing.T) {
	t.Parallel()
	later := `{"items":[{"id":"a","state":"SANDBOX_READY","createdAt":"1796060630417187008","mood":{"deep":[1]}}],"page":"2"}`
	r, err := Replay(Records{Pods: []byte(later)})
	if err != nil {
		t.Fatal(err)
	}
	if pods, err := r.Sandboxes(context.Background()); err != nil || len(pods) != 1 || !pods[0].Ready {
		t.Errorf("unknown fields: %v, %v", pods, err)
	}
	numbered := `{"containers":[{"id":"a","state":4,"createdAt":"0"},{"id":"b","state":0,"createdAt":"0"}]}`
	if r, err = Replay(Records{Containers: []byte(numbered)}); err != nil {
		t.Fatal(err)
	}
	if got, err := r.CreatedContainers(context.Background()); err != nil || len(got) != 1 || got[0].ID != "b" || !got[0].Created.IsZero() {
		t.Errorf("states as numbers, one of them unknown: %+v, %v", got, err)
	}
	for name, tc := range map[string]struct {
		r    Records
		want string
	}{
		"pods: no JSON":       {Records{Pods: []byte("FATA[0000] rpc error\n")}, "cri/pods.json: "},
		"pods: empty":         {Records{Pods: []byte("")}, "cri/pods.json: "},
		"pods: cut":           {Records{Pods: []byte(`{"items":[{"id":"a"`)}, "cri/pods.json: "},
		"pods: a list":        {Records{Pods: []byte(`[]`)}, "cri/pods.json: "},
		"pods: items no list": {Records{Pods: []byte(`{"items":{"id":"a"}}`)}, "cri/pods.json: "},
		"pods: id a number":   {Records{Pods: []byte(`{"items":[{"id":7}]}`)}, "cri/pods.json: "},
		"ps: time in words":   {Records{Containers: []byte(`{"containers":[{"createdAt":"yesterday"}]}`)}, "cri/ps.json: "},
		"ps: state a list":    {Records{Containers: []byte(`{"containers":[{"state":[]}]}`)}, "cri/ps.json: "},
		"info: no JSON":       {Records{Info: []byte(`no`)}, "cri/info.json: "},
		"info: conditions":    {Records{Info: []byte(`{"status":{"conditions":"all fine"}}`)}, "cri/info.json: "},
		"inspectp: no JSON":   {Records{Sandbox: map[string][]byte{"a": []byte("x")}}, "cri/inspectp/a.json: "},
		"inspectp: wrong":     {Records{Sandbox: map[string][]byte{"a": []byte(`{"status":{"linux":"x"}}`)}}, "cri/inspectp/a.json: "},
	} {
		if r, err := Replay(tc.r); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%s: %+v, error %v, want %s...", name, r, err, tc.want)
		}
	}
}

// What was not recorded is an error, and never an empty list: an empty view is not a healthy node.
func TestReplayMissing(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		r    Records
		want [4]string
	}{
		{Records{}, [4]string{"not in the capture: cri/pods.json", "not in the capture: cri/ps.json", "not in the capture: cri/info.json", "not in the capture: cri/inspectp/x.json"}},
		{Records{Err: "ListPodSandbox at /run/x.sock: connection refused"}, [4]string{"ListPodSandbox at /run/x.sock: connection refused",
			"ListPodSandbox at /run/x.sock: connection refused", "ListPodSandbox at /run/x.sock: connection refused", "ListPodSandbox at /run/x.sock: connection refused"}},
	} {
		r, err := Replay(tc.r)
		if err != nil {
			t.Fatal(err)
		}
		ctx := context.Background()
		_, pods := r.Sandboxes(ctx)
		_, ctrs := r.Containers(ctx)
		_, created := r.CreatedContainers(ctx)
		_, st := r.Status(ctx)
		_, host := r.HostNetwork(ctx, "x")
		for i, err := range []error{pods, ctrs, st, host, created} {
			want := tc.want[i%4]
			if i == 4 {
				want = tc.want[1]
			}
			if err == nil || err.Error() != want {
				t.Errorf("%d: error %v, want %s", i, err, want)
			}
		}
	}
}
