package checks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/boot"
	"sandbox-checker/plugin/kmsg"
)

// storyTakes is more than the records of one story are apart.
const storyTakes = time.Minute

// kernelLog reads the records of the kernel log that are within the window, and those that a story within it may have begun
// with. A log without a single record is a container's empty view, not a quiet kernel.
func kernelLog(ctx context.Context, h *plugin.Host, window time.Duration) ([]kmsg.Record, error) {
	raw, err := h.KernelLog(ctx)
	if err != nil {
		return nil, err
	}
	records, seen := kmsg.ParseSince(raw, h.KernelClock-window-storyTakes)
	if seen == 0 {
		return nil, fmt.Errorf("%s: no record at all, it is not the log of this node", kmsg.DevicePath)
	}
	return records, nil
}

// recentStories are those that ended within the window.
func recentStories(records []kmsg.Record, kernelClock time.Duration, c boot.Clock, window time.Duration) []kmsg.Story {
	var out []kmsg.Story
	for _, s := range kmsg.Stories(records) {
		if sinceStory(s, kernelClock, c) <= window {
			out = append(out, s)
		}
	}
	return out
}

func sinceStory(s kmsg.Story, kernelClock time.Duration, c boot.Clock) time.Duration {
	return sinceRecord(kmsg.Record{HasTime: s.HasTime, Time: s.Time, Wall: s.Wall}, kernelClock, c)
}

// sinceRecord is how long ago a record was written. One without a time, as in a log that a person copied, counts as now.
func sinceRecord(r kmsg.Record, kernelClock time.Duration, c boot.Clock) time.Duration {
	switch {
	case r.HasTime:
		return kernelClock - r.Time
	case !r.Wall.IsZero():
		return c.Now.Sub(r.Wall)
	}
	return 0
}

// rightFor names what the kernel log needs.
func rightFor(err error) string {
	if errors.Is(err, fs.ErrPermission) {
		return " (needs root, in a container privileged)"
	}
	return ""
}
