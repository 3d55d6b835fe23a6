// Package capture writes and replays a host: one text file that holds a node as the checks see it. FORMAT.md beside this
// file is the format, which is public. A capture looks like this:
//
//	sandbox-checker capture 1
//	-- now --
//	2026-03-02T09:00:00Z
//	-- files --
//	-rwxr-xr-x - /opt/cni/bin/bridge
//	-- /proc/uptime --
//	3590.12 7100.00
//	-- cri/pods.json --
//	{"items": []}
package capture
