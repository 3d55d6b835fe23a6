package e2e

import (
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// ownPods is run before a program, in mounts of its own: of the pods where the kubelet puts them it leaves those of this
// run to be seen. Another runtime of the machine may have pods there that fail, and sandbox-oom looks at all.
const ownPods = `set -e
view=$1 own=$2; shift 2
pods=/sys/fs/cgroup/memory/kubepods logs=` + podLogs + `
mkdir -p "$view/pods" "$view/logs" $pods $logs
mount --bind $pods "$view/pods"
mount --bind $logs "$view/logs"
mount -t tmpfs none $pods
mount -t tmpfs none $logs
show() {
	if [ -d "$1" ]; then mkdir -p "$2"; mount --bind "$1" "$2"; fi
}
for pod in "$view"/pods/burstable/pod"$own"*; do show "$pod" "$pods/burstable/${pod##*/}"; done
for log in "$view"/logs/*_"$own"*; do show "$log" "$logs/${log##*/}"; done
`

// noKernelLog hides the kernel's log too, as it is hidden in a container that is not privileged. Root may read every
// file, so another one has to lie there.
const noKernelLog = "mount --bind /dev/null " + kernelLog + "\n"

// inView makes a program see this run's pods alone, and lets more be done before.
func inView(cmd *exec.Cmd, more string) *exec.Cmd {
	script := ownPods + more + `exec "$@"`
	args := append([]string{"sh", "-c", script, "sh", filepath.Join(run.dir, "view"), uidPrefix(syscall.Getpid()), cmd.Path}, cmd.Args[1:]...)
	cmd.Path, cmd.Args = "/bin/sh", args
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Unshareflags |= syscall.CLONE_NEWNS
	return cmd
}

func askInView(t testing.TB, more string, args ...string) answer {
	t.Helper()
	return askWith(t, inView(exec.Command(built(t, buildChecker), args...), more))
}
