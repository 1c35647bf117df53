package version

import "runtime/debug"

// set is filled in by the linker: -X .../internal/version.set=v1.2.3.
var set string

// String returns the version without the tool's name: what the build set, else
// the module version, else "devel" with the commit where the build knows it.
func String() string {
	if set != "" {
		return set
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	return fromBuild(info)
}

// Full returns the name and version that stand in the traces this tool writes.
func Full() string { return "flagos-trace " + String() }

func fromBuild(info *debug.BuildInfo) string {
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = "+" + s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = ".dirty"
		}
	}
	if revision == "" {
		return "devel"
	}
	return "devel" + revision + dirty
}
