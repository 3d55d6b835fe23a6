package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

func (c *cli) version(args []string) (int, error) {
	if len(args) > 0 {
		return 0, fmt.Errorf("version: takes no arguments")
	}
	return 0, c.print(versionText())
}

// versionText is one line: what this program was built of, as the Go toolchain stamped it.
func versionText() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return versionOf(info)
}

// versionOf tells the module's version, the commit, and whether files had been changed after that commit. A build that knows
// no commit, as with -buildvcs=false or of sources without git, tells (devel) alone.
func versionOf(info *debug.BuildInfo) string {
	version, commit, modified := info.Main.Version, "", ""
	if version == "" {
		version = "(devel)"
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = " " + s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = " modified"
		}
	}
	return fmt.Sprintf("sandbox-checker %s%s%s %s %s/%s\n", version, commit, modified, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
