package cri

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// TestCRIOConfigFaults: CRI-O answers Status and misbehaves at GET /config. Its directories are then not known, in time and in a
// line, and nothing that it names elsewhere is asked.
func TestCRIOConfigFaults(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"hangs": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"hangs in the body": func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte("[crio"))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
		"hangs up": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"sends elsewhere": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://192.0.2.1/config", http.StatusFound)
		},
		"fails":      func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "a%s\nb", http.StatusInternalServerError) },
		"is no TOML": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>\n%s\n")) },
		"has other types": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("[crio.network]\nnetwork_dir = 7\n"))
		},
		"never ends, nested": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("a = " + strings.Repeat("[", 200_000)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, path := listen(t)
			g := grpc.NewServer()
			runtimeapi.RegisterRuntimeServiceServer(g, recorded(t, "cri-o-1.34"))
			s := &http.Server{ReadHeaderTimeout: time.Minute, Protocols: new(http.Protocols), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
					g.ServeHTTP(w, r)
					return
				}
				answer(w, r)
			})}
			s.Protocols.SetHTTP1(true)
			s.Protocols.SetUnencryptedHTTP2(true)
			go func() { _ = s.Serve(l) }()
			t.Cleanup(func() { _ = s.Close() })
			timeout := 20 * time.Second
			if strings.HasPrefix(name, "hangs") && name != "hangs up" {
				timeout = 2 * time.Second
			}
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			st, err := dial(t, path).Status(ctx)
			if err != nil || st.DirsErr == nil || st.ConfDir != "" || strings.Contains(st.DirsErr.Error(), "\n") {
				t.Errorf("%v, %v, directory %q", err, st.DirsErr, st.ConfDir)
			}
		})
	}
}
