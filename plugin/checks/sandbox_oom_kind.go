package checks

import (
	"slices"
	"time"

	"sandbox-checker/plugin/cgroup"
	"sandbox-checker/plugin/cri"
	"sandbox-checker/plugin/kmsg"
)

// kind tells a sandbox start from a container start and from an application, by the victim and by who else was in the
// cgroup. The process that asked for memory is no evidence.
func (v oomView) kind(s kmsg.Story, limit cgroup.Place) startKind {
	if v.readyBefore(limit.UID, s) {
		return v.inRunningPod(s)
	}
	if s.NoKillable {
		switch {
		case !limit.PodLevel:
			return notAStart
		case len(s.Tasks) > 0: // they are all protected: nothing was starting unless they are helpers
			return kindByTasks(s.Tasks)
		}
		return sandboxStart
	}
	for _, t := range s.Victims {
		if !kmsg.IsHelper(t.Name) {
			return notAStart
		}
	}
	if len(s.Victims) == 0 {
		return notAStart
	}
	victim, _ := cgroup.PlaceOf(s.VictimCgroup)
	if v.knownSandbox(victim.ID, s) {
		return notAStart // it was up before: what died is a running pod's pause
	}
	if !limit.PodLevel {
		return v.startedContainer(limit.ID, s)
	}
	// A table without the victim has lost its rows.
	if len(s.Tasks) > 0 {
		return kindByTasks(s.Tasks)
	}
	if v.container(victim.ID) != nil {
		return v.startedContainer(victim.ID, s)
	}
	return sandboxStart
}

// readyBefore says whether the pod has a ready sandbox that was there before the story.
func (v oomView) readyBefore(uid string, s kmsg.Story) bool {
	for _, sb := range v.sandboxes {
		if sb.Pod.UID == uid && sb.Ready && timed(s) && !sb.Created.IsZero() && v.at(s).Sub(sb.Created) > startTakes {
			return true
		}
	}
	return false
}

// inRunningPod: where the sandbox lives, helpers alone start a container, and anything else is the application.
func (v oomView) inRunningPod(s kmsg.Story) startKind {
	if len(s.Victims) == 0 {
		return notAStart
	}
	for _, t := range append(slices.Clone(s.Victims), s.Tasks...) {
		if !kmsg.IsHelper(t.Name) {
			return notAStart
		}
	}
	place, _ := cgroup.PlaceOf(s.VictimCgroup)
	return v.startedContainer(place.ID, s)
}

// kindByTasks: helpers alone start a sandbox; beside pause they start a container or run a probe; anything else is an
// application at its limit.
func kindByTasks(tasks []kmsg.Task) startKind {
	pause, helpers := false, false
	for _, t := range tasks {
		switch {
		case t.Name == "pause":
			pause = true
		case kmsg.IsHelper(t.Name):
			helpers = true
		default:
			return notAStart
		}
	}
	if pause && helpers {
		return containerStart
	}
	return sandboxStart
}

// knownSandbox says whether id is a sandbox that was made well before the story.
func (v oomView) knownSandbox(id string, s kmsg.Story) bool {
	if id == "" {
		return false
	}
	for _, sb := range v.sandboxes {
		if sb.ID == id {
			// Times that are none prove nothing.
			return sb.Ready || (timed(s) && !sb.Created.IsZero() && v.at(s).Sub(sb.Created) > startTakes)
		}
	}
	return false
}

// timed says whether the log gave the story a time.
func timed(s kmsg.Story) bool { return s.HasTime || !s.Wall.IsZero() }

// at is the wall time of a story.
func (v oomView) at(s kmsg.Story) time.Time {
	return v.clock.Now.Add(-sinceStory(s, v.kernelClock, v.clock))
}

func (v oomView) container(id string) *cri.Container {
	for i := range v.containers {
		if id != "" && v.containers[i].ID == id {
			return &v.containers[i]
		}
	}
	return nil
}

// startedContainer tells a container's start from a probe in one that runs, or ran. A container that the runtime does not
// list failed to start and is gone.
func (v oomView) startedContainer(id string, s kmsg.Story) startKind {
	c := v.container(id)
	if c != nil && (c.State == cri.Running || (!c.Created.IsZero() && v.at(s).Sub(c.Created) > startTakes)) {
		return notAStart
	}
	return containerStart
}
