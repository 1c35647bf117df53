package version

import (
	"runtime/debug"
	"testing"
)

func TestFromBuild(t *testing.T) {
	setting := func(kv ...string) (s []debug.BuildSetting) {
		for i := 0; i < len(kv); i += 2 {
			s = append(s, debug.BuildSetting{Key: kv[i], Value: kv[i+1]})
		}
		return s
	}
	for _, c := range []struct {
		name string
		info debug.BuildInfo
		want string
	}{
		{"tagged module", debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, "v1.2.3"},
		{"nothing known", debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "devel"},
		{"commit", debug.BuildInfo{Settings: setting("vcs.revision", "0123456789abcdef", "vcs.modified", "false")}, "devel+0123456789ab"},
		{"changed commit", debug.BuildInfo{Settings: setting("vcs.revision", "0123456789abcdef", "vcs.modified", "true")}, "devel+0123456789ab.dirty"},
		{"short commit", debug.BuildInfo{Settings: setting("vcs.revision", "0123")}, "devel+0123"},
	} {
		if got := fromBuild(&c.info); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestLinkerWins(t *testing.T) {
	defer func(old string) { set = old }(set)
	set = "v9.9.9"
	if got := Full(); got != "flagos-trace v9.9.9" {
		t.Errorf("Full() = %q", got)
	}
}
