package qemu

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"sandbox-checker/test/e2e/internal/process"
)

// disks are what a machine boots from: the kernel, the initial RAM disk and the read-only root disk; and the containerd that is
// on them, as its version begins.
type disks struct{ kernel, initrd, root, containerd string }

// A flavour is one generation of containerd.
type flavour struct {
	name  string
	disks func() (disks, error)
}

var (
	containerd1 = flavour{"1.6", sync.OnceValues(func() (disks, error) {
		return buildDisks("1.6", []string{"/usr/bin/containerd", "/usr/bin/containerd-shim-runc-v2", "/usr/bin/ctr"})
	})}
	containerd2 = flavour{"2.4", sync.OnceValues(func() (disks, error) {
		programs, err := builtAll(buildContainerd2...)
		if err != nil {
			return disks{}, err
		}
		return buildDisks("2.4", programs)
	})}
)

func buildDisks(name string, containerd []string) (disks, error) {
	k, err := fetchKernel()
	if err != nil {
		return disks{}, err
	}
	own, err := builtAll(buildCrictl, buildChecker, buildGuest)
	if err != nil {
		return disks{}, err
	}
	archives, err := builtAll(buildPauseArchive, buildCheckerArchive)
	if err != nil {
		return disks{}, err
	}
	version, _, _ := strings.Cut(name, "-")
	d := disks{k.image, filepath.Join(run.dir, "initrd-"+name+".gz"), filepath.Join(run.dir, "root-"+name+".img"), version + "."}
	return d, timed("built the disks of containerd "+name, func() error {
		root := &tree{dir: filepath.Join(run.dir, "root-"+name)}
		root.fillRoot(k, append(containerd, own...), archives)
		ram := &tree{dir: filepath.Join(run.dir, "initrd-"+name)}
		ram.fillInitrd(k)
		if root.err != nil || ram.err != nil {
			return fmt.Errorf("root disk: %w, initrd: %w", root.err, ram.err)
		}
		if err := writeInitrd(ram.dir, d.initrd); err != nil {
			return err
		}
		return root.writeDisk(d.root)
	})
}

// A tree is a directory that becomes a disk. Its first error stands for all that follow.
type tree struct {
	dir string
	err error
}

func (t *tree) do(f func() error) {
	if t.err == nil {
		t.err = f()
	}
}

func (t *tree) mkdir(dirs ...string) {
	for _, d := range dirs {
		t.do(func() error { return os.MkdirAll(filepath.Join(t.dir, d), 0o755) })
	}
}

func (t *tree) write(path, content string) {
	t.mkdir(filepath.Dir(path))
	t.do(func() error { return os.WriteFile(filepath.Join(t.dir, path), []byte(content), 0o644) })
}

func (t *tree) copy(from, to string, mode fs.FileMode) {
	t.mkdir(filepath.Dir(to))
	t.do(func() error {
		content, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(t.dir, to), content, mode)
	})
}

func (t *tree) link(target, name string) {
	t.mkdir(filepath.Dir(name))
	t.do(func() error { return os.Symlink(target, filepath.Join(t.dir, name)) })
}

var soname = regexp.MustCompile(`/\S+\.so\S*`)

// program copies a program and the shared libraries that it asks for.
func (t *tree) program(from, to string) {
	t.copy(from, to, 0o755)
	out, _ := exec.Command("ldd", from).CombinedOutput() // it fails on static ones, which have none
	for _, library := range soname.FindAllString(string(out), -1) {
		t.copy(library, library, 0o755)
	}
}

func (t *tree) fillRoot(k kernel, programs, archives []string) {
	t.mkdir("proc", "sys", "dev", "run", "tmp", "root", "state", "var/lib/containerd", "var/lib/cni", "var/lib/kubelet", "var/log/pods", "var/log/containers", "opt/containerd")
	t.link("/run", "var/run")
	t.busybox()
	for _, p := range programs {
		t.program(p, filepath.Join("usr/bin", filepath.Base(p)))
	}
	t.program("/usr/sbin/runc", "usr/sbin/runc")
	for _, p := range []string{"loopback", "bridge", "host-local"} {
		t.program("/usr/lib/cni/"+p, "opt/cni/bin/"+p)
	}
	for _, a := range archives {
		t.copy(a, filepath.Join("opt", filepath.Base(a)), 0o644)
	}
	t.copyModules(k, "overlay", "veth", "bridge", "virtio_net")
	t.copy("testdata/rcS", "etc/rcS", 0o755)
	t.copy("testdata/inittab", "etc/inittab", 0o644)
	t.copy("testdata/containerd.toml", "etc/containerd/config.toml", 0o644)
	t.copy("testdata/crictl.yaml", "etc/crictl.yaml", 0o644)
	t.copy("testdata/10-pods.conflist", "etc/cni/net.d/10-pods.conflist", 0o644)
	t.copy("testdata/kubelet.yaml", "etc/kubernetes/kubelet.yaml", 0o644)
	t.copy("testdata/hold-runc", "opt/hold-runc", 0o755)
	t.write("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n")
	t.write("etc/group", "root:x:0:\n")
	t.write("etc/hosts", "127.0.0.1 localhost\n")
	t.write("etc/resolv.conf", "")
}

// busybox is the whole userland.
func (t *tree) busybox() {
	t.copy("/usr/bin/busybox", "bin/busybox", 0o755)
	out, err := exec.Command("/usr/bin/busybox", "--list").Output()
	t.do(func() error { return err })
	for _, applet := range strings.Fields(string(out)) {
		if applet != "busybox" {
			t.link("/bin/busybox", filepath.Join("bin", applet))
		}
	}
	t.link("/bin/busybox", "sbin/init")
}

func (t *tree) fillInitrd(k kernel) {
	t.mkdir("proc", "sys", "dev", "newroot")
	t.copy("/usr/bin/busybox", "bin/busybox", 0o755)
	t.copy("testdata/init", "init", 0o755)
	var order []string
	for _, m := range k.closure(t, "virtio_pci", "virtio_blk") {
		t.copy(filepath.Join(k.modules, m), filepath.Join("modules", filepath.Base(m)), 0o644)
		order = append(order, filepath.Base(m))
	}
	t.write("modules/order", strings.Join(order, "\n")+"\n")
}

func (t *tree) copyModules(k kernel, names ...string) {
	at := filepath.Join("lib/modules", k.version)
	for _, m := range k.closure(t, names...) {
		t.copy(filepath.Join(k.modules, m), filepath.Join(at, m), 0o644)
	}
	for _, list := range []string{"modules.builtin", "modules.order"} {
		t.copy(filepath.Join(k.modules, list), filepath.Join(at, list), 0o644)
	}
	t.do(func() error { return process.Run(exec.Command("/usr/bin/busybox", "depmod", "-b", t.dir, k.version)) })
}

// closure lists modules and those that they need, in the order in which they load.
func (k kernel) closure(t *tree, names ...string) []string {
	t.do(func() error {
		// The package leaves that to its installation.
		return process.Run(exec.Command("/usr/bin/busybox", "depmod", "-b", strings.TrimSuffix(k.modules, filepath.Join("/lib/modules", k.version)), k.version))
	})
	table, err := os.ReadFile(filepath.Join(k.modules, "modules.dep"))
	t.do(func() error { return err })
	var out []string
	for _, name := range names {
		found := false
		for line := range strings.Lines(string(table)) {
			file, needs, _ := strings.Cut(strings.TrimSpace(line), ":")
			if filepath.Base(file) != name+".ko" {
				continue
			}
			found = true
			first := strings.Fields(needs)
			slices.Reverse(first) // each stands before those that it needs
			for _, m := range append(first, file) {
				if !slices.Contains(out, m) {
					out = append(out, m)
				}
			}
		}
		t.do(func() error {
			if !found {
				return fmt.Errorf("modules.dep: no module %s", name)
			}
			return nil
		})
	}
	return out
}

// writeInitrd packs a directory as the kernel reads it.
func writeInitrd(dir, out string) error {
	pack := exec.Command("sh", "-c", "find . | cpio -o -H newc --quiet -R 0:0")
	pack.Dir = dir
	archive, err := pack.Output()
	if err != nil {
		return fmt.Errorf("cpio: %w", err)
	}
	var buf bytes.Buffer
	w, err := gzip.NewWriterLevel(&buf, gzip.BestSpeed)
	if err != nil {
		return err
	}
	_, err = w.Write(archive)
	if err := errors.Join(err, w.Close()); err != nil {
		return err
	}
	return os.WriteFile(out, buf.Bytes(), 0o600)
}

// writeDisk makes a file system of the tree without mounting it, a little larger than the content.
func (t *tree) writeDisk(out string) error {
	size := int64(16 << 20)
	if err := filepath.WalkDir(t.dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Mode().IsRegular() {
			size += info.Size() + info.Size()/12
		}
		return err
	}); err != nil {
		return err
	}
	return process.Run(exec.Command("/usr/sbin/mkfs.ext4", "-q", "-F", "-O", "^has_journal,^resize_inode", "-m", "0", "-N", "4096",
		"-E", "root_owner=0:0", "-d", t.dir, out, fmt.Sprintf("%dk", size>>10)))
}
