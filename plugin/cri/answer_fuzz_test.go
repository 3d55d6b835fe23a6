package cri

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sandbox-checker/plugin/cri/wire"
)

// FuzzAnswer: whatever comes back for a call is an error or a list whose entries all have an id.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte{0x0a, 0x03, 0x0a, 0x01, 'a'})
	f.Add([]byte{0x0a, 0x07, 0x0a, 0x01, 'a', 0x12, 0x00, 0x18, 0x01})
	f.Add([]byte{0x0a, 0x07, 0x0a, 0x01, 'a', 0x12, 0x00, 0x30, 0x00})
	f.Add([]byte{0x0a, 0x00})
	f.Add([]byte{0x0a, 0x05, 0x0a, 0x01, 'a', 0x1a, 0x00})
	f.Add([]byte{0x0a, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, body []byte) {
		var pods wire.ListPodSandboxResponse
		if (codec{}).Unmarshal(body, &pods) == nil && checked(&pods) == nil {
			for _, s := range sandboxesOf(pods.GetItems()) {
				if s.ID == "" || s.Created.UnixNano() < 0 && !s.Created.IsZero() {
					t.Errorf("%+v", s)
				}
			}
		}
		var ctrs wire.ListContainersResponse
		if (codec{}).Unmarshal(body, &ctrs) == nil && checked(&ctrs) == nil {
			for _, c := range containersOf(ctrs.GetContainers()) {
				if c.ID == "" || c.Created.UnixNano() < 0 && !c.Created.IsZero() {
					t.Errorf("%+v", c)
				}
			}
		}
		var st wire.StatusResponse
		if (codec{}).Unmarshal(body, &st) == nil && checked(&st) == nil {
			_, _ = statusOf(st.GetStatus(), infoOf(st.GetInfo()))
		}
	})
}

// FuzzStatus: any verbose status and any configuration of CRI-O is an error or a status; what it says of sizes makes sense.
func FuzzStatus(f *testing.F) {
	for _, name := range []string{"containerd-1.6", "containerd-2.4", "cri-o-1.34"} {
		raw, err := os.ReadFile(filepath.Join("testdata", name, "info.json"))
		if err != nil {
			f.Fatal(err)
		}
		config, _ := os.ReadFile(filepath.Join("testdata", name, "config.toml")) // CRI-O's alone
		f.Add(raw, config)
	}
	f.Add([]byte(`{"config":{"crio":{"DefaultRuntime":"crun","Runtimes":{"crun":{"ContainerMinMemory":"500KiB"}}}}}`), []byte("[crio.network]\nplugin_dir = \"/x\"\n"))
	f.Add([]byte(`{"config":{"crio":{"Runtimes":{"":{"ContainerMinMemory":"-7GiB"}}}}}`), []byte("[crio\n"))
	f.Fuzz(func(t *testing.T, info, config []byte) {
		st, err := recordedStatus(info, config)
		if err != nil {
			return
		}
		if st.MinMemory < 0 || st.MinMemory > 0 && st.Flavor != CRIO {
			t.Errorf("%s wants %d bytes", st.Flavor, st.MinMemory)
		}
		if st.DirsErr != nil && (st.Flavor != CRIO || strings.Contains(st.DirsErr.Error(), "\n")) {
			t.Errorf("%s: %q", st.Flavor, st.DirsErr)
		}
	})
}

// FuzzSocketPath: an endpoint is an error or an absolute path.
func FuzzSocketPath(f *testing.F) {
	for _, s := range []string{"unix:///run/x.sock", "unix:/run/x.sock", "/run/x.sock", "tcp://1.2.3.4:5", "", "unix:", "unix:////", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, endpoint string) {
		if path, err := SocketPath(endpoint); err == nil && (len(path) < 2 || path[0] != '/') {
			t.Errorf("%q is %q", endpoint, path)
		}
	})
}
