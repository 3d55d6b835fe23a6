package main

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestVersionOf(t *testing.T) {
	t.Parallel()
	const commit = "0123456789abcdef0123456789abcdef01234567"
	rest := " " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH + "\n"
	stamped := func(modified string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: commit}, {Key: "vcs.modified", Value: modified}}
	}
	for _, c := range []struct {
		name, version string
		settings      []debug.BuildSetting
		want          string
	}{
		{"a release", "v0.1.0", stamped("false"), "sandbox-checker v0.1.0 " + commit + rest},
		{"a commit that no tag names", "v0.0.0-20260102030405-0123456789ab", stamped("false"), "sandbox-checker v0.0.0-20260102030405-0123456789ab " + commit + rest},
		{"changed files", "v0.1.0+dirty", stamped("true"), "sandbox-checker v0.1.0+dirty " + commit + " modified" + rest},
		{"go install of a version", "v0.1.0", nil, "sandbox-checker v0.1.0" + rest},
		{"without git", "(devel)", nil, "sandbox-checker (devel)" + rest},
		{"nothing known", "", nil, "sandbox-checker (devel)" + rest},
	} {
		t.Run(c.name, func(t *testing.T) {
			info := &debug.BuildInfo{Main: debug.Module{Version: c.version}, Settings: c.settings}
			if got := versionOf(info); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
