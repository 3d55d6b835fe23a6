// Package qemu runs sandbox-checker on a node that really boots: Debian's kernel with cgroup v2 in a software-emulated
// machine, with containerd and a disk that outlives a power loss. Nothing of it needs root on the machine it runs on, once
// Debian's packages are there.
//
// ../README.md tells what is needed and what each suite shows. All code is in test files, but for what ../internal shares.
package qemu
