package faults

import (
	"encoding/binary"
	"net/http"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

type answerer = func(w http.ResponseWriter, r *http.Request, framed []byte)

// callFaults are those of one call: its answer is not what gRPC wants.
func callFaults() []ServerFault {
	fs := []ServerFault{
		{Name: "hangs before the answer", Hangs: true, call: func(_ http.ResponseWriter, r *http.Request, _ []byte) { hang(r.Context()) }},
		{Name: "hangs in mid message", Hangs: true, call: func(w http.ResponseWriter, r *http.Request, framed []byte) {
			part(w, framed[:5+(len(framed)-5)/2])
			hang(r.Context())
		}},
		{Name: "hangs before the trailers", Hangs: true, call: func(w http.ResponseWriter, r *http.Request, framed []byte) {
			part(w, framed)
			hang(r.Context())
		}},
		{Name: "RST before the answer", call: func(http.ResponseWriter, *http.Request, []byte) { panic(http.ErrAbortHandler) }},
		{Name: "RST in mid message", call: func(w http.ResponseWriter, _ *http.Request, framed []byte) {
			part(w, framed[:5+(len(framed)-5)/2])
			panic(http.ErrAbortHandler)
		}},
		{Name: "message cut, status OK", call: func(w http.ResponseWriter, _ *http.Request, framed []byte) { good(w, framed[:len(framed)-1]) }},
		{Name: "only half of the length", call: func(w http.ResponseWriter, _ *http.Request, framed []byte) { good(w, framed[:3]) }},
		{Name: "message without trailers", call: func(w http.ResponseWriter, _ *http.Request, framed []byte) { part(w, framed) }},
		{Name: "status is no number", call: withStatus("banana")},
		{Name: "status above all", call: withStatus("4294967297")},
		{Name: "status below all", call: withStatus("-1")},
		{Name: "trailers only, status OK", call: func(w http.ResponseWriter, _ *http.Request, _ []byte) {
			trailersOnly(w, status.New(codes.OK, ""))
		}},
		{Name: "nothing at all", call: func(http.ResponseWriter, *http.Request, []byte) {}},
		{Name: "two messages", call: func(w http.ResponseWriter, _ *http.Request, framed []byte) {
			good(w, append(append([]byte(nil), framed...), framed...))
		}},
		{Name: "length of 4 GiB", call: func(w http.ResponseWriter, _ *http.Request, framed []byte) {
			good(w, append([]byte{0, 0xff, 0xff, 0xff, 0xff}, framed[5:]...))
		}},
		{Name: "length of 16 MiB that never come", Hangs: true, call: func(w http.ResponseWriter, r *http.Request, framed []byte) {
			part(w, append(binary.BigEndian.AppendUint32([]byte{0}, 16<<20), framed[5:]...))
			hang(r.Context())
		}},
		{Name: "compressed with what nobody asked for", call: compressed("snappy")},
		{Name: "says compressed and is not", call: compressed("gzip")},
		{Name: "compressed without saying how", call: compressed("")},
		{Name: "wrong content type", call: asType("text/html", http.StatusOK)},
		{Name: "HTTP 404", call: asType("text/plain", http.StatusNotFound)},
		{Name: "HTTP 500", call: asType("application/grpc", http.StatusInternalServerError)},
		{Name: "HTTP 302", call: func(w http.ResponseWriter, r *http.Request, _ []byte) {
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		}},
		{Name: "a header of 1 MiB", call: func(w http.ResponseWriter, _ *http.Request, framed []byte) {
			w.Header().Set("X-Long", strings.Repeat("x", 1<<20))
			good(w, framed)
		}, Outcome: Either},
		{Name: "2,000 headers", call: func(w http.ResponseWriter, _ *http.Request, framed []byte) {
			for i := range 2_000 {
				w.Header().Set("X-"+itoa(i), "y")
			}
			good(w, framed)
		}, Outcome: Either},
		{Name: "GOAWAY after each answer", Outcome: Harmless, call: func(w http.ResponseWriter, _ *http.Request, framed []byte) {
			w.Header().Set("Connection", "close")
			good(w, framed)
		}},
		{Name: "hangs between calls", Hangs: true, after: 1, Outcome: Either, call: func(_ http.ResponseWriter, r *http.Request, _ []byte) {
			hang(r.Context())
		}},
		{Name: "hangs up between calls", after: 1, Outcome: Either, call: func(http.ResponseWriter, *http.Request, []byte) { panic(http.ErrAbortHandler) }},
	}
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		fs = append(fs, ServerFault{Name: "status " + code.String(), call: func(w http.ResponseWriter, _ *http.Request, _ []byte) {
			trailersOnly(w, status.New(code, hostileText))
		}})
	}
	return fs
}

// hostileText is what must not get to stdout as it is.
const hostileText = "failed: %s%n%!d(MISSING) \x1b[2J\x07\r\n\"$(reboot)\" `id` '\\x00' \u202e\u2028 \xff\xfe; exit 0\nno problem: all is well\n"

// part sends so much of an answer at once and leaves the rest open.
func part(w http.ResponseWriter, raw []byte) {
	w.Header().Set("Content-Type", "application/grpc")
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(raw)
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}

func withStatus(code string) answerer {
	return func(w http.ResponseWriter, _ *http.Request, framed []byte) {
		good(w, framed)
		w.Header().Set("Grpc-Status", code)
	}
}

func compressed(how string) answerer {
	return func(w http.ResponseWriter, _ *http.Request, framed []byte) {
		if how != "" {
			w.Header().Set("Grpc-Encoding", how)
		}
		good(w, append([]byte{1}, framed[1:]...))
	}
}

func asType(typ string, code int) answerer {
	return func(w http.ResponseWriter, _ *http.Request, framed []byte) {
		w.Header().Set("Content-Type", typ)
		w.WriteHeader(code)
		_, _ = w.Write(framed)
	}
}
