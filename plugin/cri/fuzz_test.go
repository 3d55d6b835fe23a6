package cri

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// FuzzReplay: what a runtime, or the writer of a capture, sends never panics, and what can be read can be renamed and read
// again to the same lists.
func FuzzReplay(f *testing.F) {
	for _, name := range []string{"containerd-1.6", "containerd-2.4", "cri-o-1.34"} {
		var seed [5][]byte
		for i, file := range []string{"pods.json", "ps.json", "info.json", "inspectp.json", "config.toml"} {
			raw, err := os.ReadFile(filepath.Join("testdata", name, file))
			if err != nil && file != "config.toml" {
				f.Fatal(err)
			}
			seed[i] = raw
		}
		f.Add(seed[0], seed[1], seed[2], seed[3], seed[4])
	}
	f.Add([]byte(`{"items":[{"createdAt":"-6795364578871345152","state":9}]}`), []byte(`{}`), []byte(`{"config":{"crio":{}}}`), []byte(`{"status":null}`), []byte("[crio"))
	f.Fuzz(func(t *testing.T, pods, ps, info, inspectp, config []byte) {
		r := Records{Pods: pods, Containers: ps, Info: info, CRIOConfig: config, Sandbox: map[string][]byte{"x": inspectp}}
		re, err := Replay(r)
		if err != nil {
			return
		}
		renamed, err := r.Renamed(func(p Pod) Pod { return p })
		if err != nil {
			t.Fatalf("can be read and not be renamed: %v", err)
		}
		again, err := Replay(renamed)
		if err != nil {
			t.Fatalf("renamed and no longer readable: %v", err)
		}
		ctx := context.Background()
		for _, re := range []*Recorded{re, again} {
			list, err := re.CreatedContainers(ctx)
			if err != nil {
				t.Error(err)
			}
			for _, c := range list {
				if c.State != Created || c.Created.UnixNano() < 0 && !c.Created.IsZero() {
					t.Errorf("%+v", c)
				}
			}
		}
		if len(re.sandboxes) != len(again.sandboxes) || len(re.containers) != len(again.containers) {
			t.Error("renaming changed how many there are")
		}
		for i := range re.sandboxes {
			if a, b := re.sandboxes[i], again.sandboxes[i]; a.ID != b.ID || a.Ready != b.Ready || !a.Created.Equal(b.Created) || a.Attempt != b.Attempt {
				t.Errorf("renaming changed %+v to %+v", a, b)
			}
		}
	})
}
