package e2e

// cniPlugins is where Debian's containernetworking-plugins lie.
const cniPlugins = "/usr/lib/cni"

// neededFiles says which file shows that a Debian package is there: what debian.Install wants to know.
var neededFiles = map[string]string{
	"containerd":                  "/usr/bin/containerd",
	"runc":                        "/usr/sbin/runc",
	"containernetworking-plugins": cniPlugins + "/bridge",
	"iproute2":                    "/usr/sbin/ip",
	"iptables":                    "/usr/sbin/iptables",
	// CRI-O: what it needs to run, and what is built from C.
	"conmon":         "/usr/bin/conmon",
	"gcc":            "/usr/bin/gcc",
	"libc6-dev":      "/usr/include/stdlib.h",
	"libseccomp-dev": "/usr/include/seccomp.h",
	"pkg-config":     "/usr/bin/pkg-config",
}
