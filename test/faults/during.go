package faults

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// comeAndGo makes files of all kinds before the one that counts, and takes them away again.
func comeAndGo(n *Node, done <-chan struct{}) {
	name := n.path(conf + "05-come.conf")
	for i := 0; ; i++ {
		select {
		case <-done:
			_ = os.RemoveAll(name)
			return
		case <-time.After(200 * time.Microsecond):
		}
		_ = os.RemoveAll(name)
		switch i % 4 {
		case 0:
			_ = os.WriteFile(name, []byte(`{"name": "x", "type": "bridge"`), 0o600)
		case 1:
			_ = unix.Mkfifo(name, 0o600)
		case 2:
			_ = os.Symlink("05-come.conf", name)
		case 3:
			_ = os.Mkdir(name, 0o700)
		}
	}
}

func grow(n *Node, done <-chan struct{}) {
	growing(n.path(conf+"00-grows.conf"), strings.Repeat("[", 4096), done)
}

func growing(path, piece string, done <-chan struct{}) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	for range 20_000 {
		select {
		case <-done:
			return
		case <-time.After(50 * time.Microsecond):
		}
		_, _ = f.Write(bytes.Repeat([]byte(piece), 4))
	}
	<-done
}

// cgroupsComeAndGo makes and removes cgroups of pods that nobody knows.
func cgroupsComeAndGo(n *Node, done <-chan struct{}) {
	for i := 0; ; i = (i + 1) % 50 {
		dir := n.path(fmt.Sprintf("%s%08d-0000-4000-8000-eeeeeeeeeeee", cgroups, i))
		select {
		case <-done:
			return
		case <-time.After(100 * time.Microsecond):
		}
		whole := n.path("tmp/cgroup") // a cgroup has all its files at once
		_ = os.Mkdir(whole, 0o700)
		_ = os.WriteFile(filepath.Join(whole, "memory.max"), []byte("max\n"), 0o600)
		_ = os.WriteFile(filepath.Join(whole, "memory.current"), []byte("0\n"), 0o600)
		_ = os.WriteFile(filepath.Join(whole, "memory.events"), []byte("oom 0\n"), 0o600)
		_ = os.Rename(whole, dir)
		_ = os.RemoveAll(dir)
	}
}
