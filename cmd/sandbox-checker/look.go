package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/capture"
	"sandbox-checker/plugin/checks"
	"sandbox-checker/plugin/cri"
	"sandbox-checker/plugin/state"
)

// lookTimeout is for a person who waits: a list of 10,000 containers may take a while on a sick node.
const lookTimeout = 30 * time.Second

// outcome is one check's verdict and all it saw.
type outcome struct {
	check   plugin.Check
	verdict plugin.Verdict
	result  plugin.Result
}

func judgeAll(ctx context.Context, h *plugin.Host, o plugin.Options) []outcome {
	var out []outcome
	for _, chk := range checks.All() {
		v, r := chk.Judge(ctx, h, o)
		out = append(out, outcome{chk, v, r})
	}
	return out
}

// lookOnce records this node and judges the recording: report and capture tell of one and the same moment. Of a runtime that does
// not answer every call, it judges what it answers.
func lookOnce(ctx context.Context, s *settings, at *step) (report, *capture.File) {
	h := liveHost(ctx, s, at)
	answers, rest := record(ctx, h)
	// One moment for all that follows, and after the runtime has answered, which may take seconds.
	h.Now, h.KernelClock, h.Live = time.Now(), kernelClock(), false
	f := &capture.File{Now: h.Now, KernelClock: h.KernelClock, Content: map[string][]byte{}}
	f.SetCRI(answers)
	defer h.Close()
	recorder := capture.Record(h)
	// A person who looks changes no history.
	history, err := h.ReadFile(s.stateDir + "/" + state.FileName)
	if err != nil {
		s.log.Debug("no history", "cause", err)
	}
	h.State = &state.Memory{Raw: history}
	rt, err := cri.Replay(f.CRI)
	switch {
	case rest != nil:
		h.Runtime = rest // it is closed with the host
	case err != nil:
		h.Close()
		h.Runtime, h.RuntimeErr = nil, err
	default:
		h.Close()
		h.Runtime = rt
	}
	r := newReport(ctx, h, s.opts, f.CRI.Version)
	recorder.Add(f)
	return r, f
}

// record asks for all that a capture holds. When a call fails, and the capture then holds no more than that, it asks for the most
// important ones again, each by itself.
func record(ctx context.Context, h *plugin.Host) (cri.Records, *answered) {
	client, ok := h.Runtime.(*cri.Client)
	if !ok {
		return cri.Records{Err: h.RuntimeErr.Error()}, nil
	}
	most, cancel := part(ctx, 0.7)
	defer cancel()
	r, err := client.Record(most, checks.WantsSandboxStatus)
	if err == nil {
		return r, nil
	}
	rest, cancel := part(ctx, 0.7)
	defer cancel()
	return r, askEach(rest, client)
}

// capture writes a capture of this node.
func (c *cli) capture(args []string) (int, error) {
	s := &settings{}
	rest, err := s.parse(captureFlags(s), args, c)
	if err != nil {
		return 0, fmt.Errorf("capture: %w", err)
	}
	if len(rest) > 0 {
		return 0, fmt.Errorf("capture: unexpected argument %q", rest[0])
	}
	text, err := c.captureText(s)
	if err != nil {
		return 0, fmt.Errorf("capture: %w", err)
	}
	if s.output == "" || s.output == "-" || s.output == "/dev/stdout" {
		return 0, c.print(string(text))
	}
	// A rename would put a file in the place of a device, a pipe or a link.
	if st, err := os.Lstat(s.output); err == nil && !st.Mode().IsRegular() {
		return 0, fmt.Errorf("capture: %s: is there and no regular file", s.output)
	}
	err = writeAtomically(s.output, 0o600, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("capture: %w", err)
	}
	_, _ = fmt.Fprintf(c.err, "capture written to %s: read it before you send it\n", s.output) // it is written all the same
	return 0, nil
}

func (c *cli) captureText(s *settings) ([]byte, error) {
	f, err := before(s.timeout, func(ctx context.Context, at *step) (*capture.File, error) {
		_, f := lookOnce(ctx, s, at)
		return f, nil
	})
	if err != nil {
		return nil, err
	}
	if f.CRI.Err != "" {
		c.complain(fmt.Errorf("capture: the runtime is not in it: %s", f.CRI.Err))
	}
	f.About = "Written by " + versionText()
	f.HideSecrets()
	if s.redact {
		if err := f.Redact(hostNames()...); err != nil {
			return nil, err
		}
	}
	return f.Format(), nil
}

// hostNames are the names this node may go by.
func hostNames() []string {
	var names []string
	if n, err := os.Hostname(); err == nil {
		names = append(names, n)
	}
	return append(names, os.Getenv("NODE_NAME"))
}

// before runs look and gives up at the deadline with an error that says what hung.
func before[T any](timeout time.Duration, look func(context.Context, *step) (T, error)) (T, error) {
	type answer struct {
		val T
		err error
	}
	var got answer
	v := within(timeout, func(ctx context.Context, at *step) plugin.Verdict {
		val, err := look(ctx, at)
		got = answer{val, err}
		return plugin.Verdict{}
	})
	if v.Line != "" {
		var none T
		return none, fmt.Errorf("%s", v.Line)
	}
	return got.val, got.err
}
