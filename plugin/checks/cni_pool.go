package checks

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"sandbox-checker/plugin"
	"sandbox-checker/plugin/cni"
	"sandbox-checker/plugin/cri"
)

// addPools looks for host-local pools without a free address, most of which are held by sandboxes that are gone. A pool
// that living sandboxes fill is a node with too many pods, and no fault of its files.
func addPools(ctx context.Context, h *plugin.Host, rt plugin.Runtime, v *cniView) error {
	subnetEnv := func(p string) []byte {
		raw, err := h.ReadFile(p)
		if err != nil {
			return nil // its absence is a finding of its own
		}
		return raw
	}
	for i := range v.files {
		f := &v.files[i]
		if f.load != nil {
			continue
		}
		for _, pool := range f.net.Pools(subnetEnv) {
			taken, full := takenOf(h, pool)
			if !full {
				continue
			}
			x, err := poolFault(ctx, h, rt, pool, taken)
			if err != nil {
				return err
			}
			if x != nil {
				f.add = append(f.add, *x)
			}
		}
	}
	return nil
}

// takenOf lists a pool's reservations when there is none left. A directory that cannot be seen holds nothing to tell: it is
// made on demand, and it need not be mounted.
func takenOf(h *plugin.Host, pool cni.Pool) ([]string, bool) {
	entries, err := h.ReadDir(pool.Dir)
	if err != nil {
		return nil, false
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return pool.Full(names)
}

func poolFault(ctx context.Context, h *plugin.Host, rt plugin.Runtime, pool cni.Pool, taken []string) (*fault, error) {
	sandboxes, err := rt.Sandboxes(ctx)
	if err != nil {
		return nil, err
	}
	var gone []string
	for _, n := range taken {
		raw, err := h.ReadFile(path.Join(pool.Dir, n))
		if err == nil && !owned(sandboxes, cni.Owner(raw)) {
			gone = append(gone, n)
		}
	}
	if len(gone)*2 <= len(taken) {
		return nil, nil
	}
	return &fault{
		object: pool.Dir,
		cause:  "no address is left, most are reserved by sandboxes that are gone",
		cure:   "remove the files whose sandbox crictl pods does not list",
		evidence: []plugin.Evidence{{Source: pool.Dir,
			Text: fmt.Sprintf("%d addresses reserved, %d of them by sandboxes the runtime does not know: %s", len(taken), len(gone), firstOf(gone))}},
	}, nil
}

// firstOf are the first few names, for a person to begin with.
func firstOf(names []string) string {
	const few = 5
	slices.Sort(names)
	text := strings.Join(names[:min(few, len(names))], ", ")
	if len(names) > few {
		text += ", ..."
	}
	return text
}

func owned(sandboxes []cri.Sandbox, id string) bool {
	for _, s := range sandboxes {
		if s.ID == id {
			return true
		}
	}
	return false
}

// maxProofs bounds how many sandboxes are asked for their network.
const maxProofs = 20

// dropDisproved takes back what this program believes and a pod disproves: a later runtime may know a cniVersion that this
// program does not, or may see a directory that was made anew.
func dropDisproved(ctx context.Context, rt plugin.Runtime, v *cniView) {
	if n := len(v.files); n > 0 && v.watchesAnother(v.files[n-1]) {
		v.proven = podSince(ctx, rt, v.dirBorn.Add(atOnce))
	}
	for i := range v.files {
		f := &v.files[i]
		if !slices.ContainsFunc(f.add, func(x fault) bool { return x.disproved }) || !podSince(ctx, rt, f.mod) {
			continue
		}
		f.add = slices.DeleteFunc(f.add, func(x fault) bool { return x.disproved })
	}
}

// podSince says whether a ready sandbox of the pod network is newer than t.
func podSince(ctx context.Context, rt plugin.Runtime, t time.Time) bool {
	sandboxes, err := rt.Sandboxes(ctx)
	if err != nil || t.IsZero() {
		return false
	}
	asked := 0
	for _, s := range sandboxes {
		if !s.Ready || !s.Created.After(t) || asked >= maxProofs {
			continue
		}
		asked++
		if host, err := rt.HostNetwork(ctx, s.ID); err == nil && !host {
			return true
		}
	}
	return false
}
