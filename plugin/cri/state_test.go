package cri

import (
	"context"
	"testing"
)

// protojson takes the name of a state that it does not know for 0, and 0 is READY, or CREATED: a container that a later
// CRI calls paused would be reported as one that was never started. A sandbox whose state we do not know is not dead.
func TestReplayStatesOfALaterCRI(t *testing.T) {
	t.Parallel()
	was := Records{
		Pods:       []byte(`{"items":[{"id":"a","state":"SANDBOX_MIGRATING"},{"id":"b","state":"SANDBOX_READY"}]}`),
		Containers: []byte(`{"containers":[{"id":"a","state":"CONTAINER_PAUSED"},{"id":"b","state":"CONTAINER_CREATED"}]}`),
	}
	renamed, err := was.Renamed(func(p Pod) Pod { return p })
	if err != nil {
		t.Fatal(err)
	}
	for what, r := range map[string]Records{"as recorded": was, "renamed": renamed} {
		re := mustReplay(t, r)
		pods, err := re.Sandboxes(context.Background())
		if err != nil || len(pods) != 2 || !pods[0].Ready || !pods[1].Ready {
			t.Errorf("%s: %+v, %v", what, pods, err)
		}
		created, err := re.CreatedContainers(context.Background())
		if err != nil || len(created) != 1 || created[0].ID != "b" {
			t.Errorf("%s: %+v, %v", what, created, err)
		}
	}
}
