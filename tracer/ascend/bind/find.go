package bind

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/flagos-ai/flagos-trace/tracer"
	"github.com/flagos-ai/flagos-trace/tracer/dl"
	"golang.org/x/sys/unix"
)

const (
	libraryName = "libmspti.so"
	runtimeName = "libascendcl.so"
)

// Detect reports how near Ascend's devices are.
func Detect(getenv func(string) string) tracer.Presence {
	maps, err := dl.Maps()
	if err != nil {
		maps = nil
	}
	if strings.HasPrefix(path.Base(getenv(tracer.EnvLibrary)), "libmspti") || len(maps.Files("libascendcl")) > 0 || len(maps.Files("libmspti")) > 0 {
		return tracer.InProcess
	}
	for _, n := range vendor().Nodes {
		if unix.Access(n, unix.F_OK) == nil {
			return tracer.OnMachine
		}
	}
	return tracer.Absent
}

func vendor() tracer.Vendor {
	v, _ := tracer.VendorOf(Name)
	return v
}

// found is a library and the step of the search that found it.
type found struct {
	lib   *dl.Library
	how   string
	notes []string
}

// find looks for libmspti: where the environment says; what the process has already
// loaded; then where CANN keeps it.
func find(getenv func(string) string) (found, error) {
	maps, err := dl.Maps()
	if err != nil {
		maps = nil // no process map: the loader's own search remains
	}
	loaded := maps.Files("libmspti")
	if p := getenv(tracer.EnvLibrary); p != "" {
		lib, err := dl.Open(p)
		if err != nil {
			return found{}, fmt.Errorf("%w: %s=%s: %w", ErrNotFound, tracer.EnvLibrary, p, err)
		}
		f := found{lib: lib, how: tracer.EnvLibrary}
		for _, l := range loaded {
			if at := lib.Path("msptiSubscribe"); at != l {
				f.notes = append(f.notes, fmt.Sprintf("two copies of libmspti in the process: %s, named by %s, and %s, loaded by the program; they disturb each other", at, tracer.EnvLibrary, l))
			}
		}
		return f, nil
	}
	if len(loaded) > 0 {
		f := found{how: "already loaded"}
		if len(loaded) > 1 {
			f.notes = append(f.notes, "several copies of libmspti in the process: "+strings.Join(loaded, ", ")+"; they disturb each other")
		}
		for _, p := range append([]string{libraryName}, loaded...) {
			if lib, ok := dl.Loaded(p); ok {
				f.lib = lib
				return f, nil
			}
		}
	}
	missing := &dl.NotFoundError{What: "MSPTI"}
	for _, c := range candidates(maps, getenv, dl.Glob) {
		lib, err := dl.Open(c.name)
		if err == nil {
			return found{lib: lib, how: c.how}, nil
		}
		missing.Tried = append(missing.Tried, dl.Attempt{Name: c.name, Reason: err.Error()})
	}
	return found{}, errors.Join(ErrNotFound, missing)
}

// candidate is a library to try and the step it belongs to.
type candidate struct{ name, how string }

// candidates lists what to try, best first. Paths are only listed where glob finds
// them.
func candidates(maps dl.MapList, getenv func(string) string, glob func(string) []string) []candidate {
	var list []candidate
	seen := map[string]bool{}
	add := func(how string, patterns ...string) {
		for _, p := range patterns {
			for _, name := range glob(p) {
				if !seen[name] {
					seen[name] = true
					list = append(list, candidate{name, how})
				}
			}
		}
	}
	v := vendor()
	under := func(how, root string) {
		for _, folder := range v.Folders {
			add(how, path.Join(root, folder, libraryName))
		}
	}
	for _, acl := range maps.Files("libascendcl") {
		dir := path.Dir(acl)
		add("beside ACL", dir+"/"+libraryName, path.Dir(dir)+"/tools/mspti/lib64/"+libraryName)
	}
	for _, name := range v.Homes {
		if root := getenv(name); root != "" {
			under(name, root)
		}
	}
	list = append(list, candidate{libraryName, "loader search"})
	for _, root := range v.Roots {
		under("toolkit", root)
	}
	return list
}
