package cri

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// FuzzAnswer: whatever comes back for a call is an error or a list whose entries all have an id. Read from a stream and read in
// memory it is the same.
func FuzzAnswer(f *testing.F) {
	entry := func(parts ...[]byte) []byte {
		raw := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), bytes.Join(parts, nil))
		return append([]byte{0, 0, 0, 0, byte(len(raw))}, raw...)
	}
	id := withText(nil, 1, "888eaf95")
	f.Add(entry(id, withBytes(nil, 2, withText(nil, 1, "web")), []byte{3 << 3, 1}))
	f.Add(entry(id, withText(nil, 2, "5f1c7d52"), []byte{6 << 3, 0}))
	f.Add(entry())
	f.Add(entry(id, []byte{3<<3 | 2, 0}))
	f.Add(append(entry(id), entry(id)...))
	f.Add([]byte{1, 0, 0, 0, 0})
	f.Add([]byte{0, 0xff, 0xff, 0xff, 0xff, 10, 1})
	f.Add([]byte{0, 0, 0, 0, 3, 10, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, body []byte) {
		for name, read := range map[string]func([]byte) error{
			"sandboxes": func(raw []byte) error {
				var s podSandbox
				if err := eachField(raw, s.add); err != nil {
					return err
				}
				if s.check() == nil && s.row().ID == "" {
					t.Error("a sandbox without an id")
				}
				return s.check()
			},
			"containers": func(raw []byte) error {
				var c container
				if err := eachField(raw, c.add); err != nil {
					return err
				}
				if c.check() == nil && c.row().ID == "" {
					t.Error("a container without an id")
				}
				return c.check()
			},
		} {
			n := 0
			each := eachEntry(func(raw []byte) error { n++; return read(raw) })
			seen, err := readMessage(bytes.NewReader(body), each)
			if err != nil || !seen {
				if err != nil && strings.Contains(plain(err).Error(), "\n") {
					t.Errorf("%s: more than a line: %q", name, plain(err))
				}
				continue
			}
			again := 0
			if err := eachField(body[5:], eachEntry(func(raw []byte) error { again++; return read(raw) })); err != nil || again != n {
				t.Errorf("%s: %d entries from the stream, %d from memory: %v", name, n, again, err)
			}
		}
		var st statusAnswer
		if _, err := readMessage(bytes.NewReader(body), st.add); err == nil {
			_, _ = statusOf(st.status, infoOf(st.info))
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
