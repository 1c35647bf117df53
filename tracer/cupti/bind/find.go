package bind

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/flagos-ai/flagos-trace/tracer"
	"github.com/flagos-ai/flagos-trace/tracer/dl"
)

// found is a library and the step of the search that found it.
type found struct {
	lib   *dl.Library
	how   string
	notes []string // what a person should know about the choice
}

// envLibrary names libcupti, as tracer.EnvLibrary names any vendor's library.
const envLibrary = "FLAGOS_CUPTI_LIBRARY"

// find looks for libcupti: where the environment says; what the process has
// already loaded, because two copies disturb each other; then where the CUDA the
// process uses keeps it.
func find(getenv func(string) string) (found, error) {
	maps, err := dl.Maps()
	if err != nil {
		maps = nil // no process map: the loader's own search remains
	}
	loaded := maps.Files("libcupti")
	for _, v := range []string{tracer.EnvLibrary, envLibrary} {
		p := getenv(v)
		if p == "" {
			continue
		}
		lib, err := dl.Open(p)
		if err != nil {
			return found{}, fmt.Errorf("%w: %s=%s: %w", ErrNotFound, v, p, err)
		}
		f := found{lib: lib, how: v}
		for _, l := range loaded {
			if at := lib.Path("cuptiGetVersion"); at != l {
				f.notes = append(f.notes, fmt.Sprintf("two copies of libcupti in the process: %s, named by %s, and %s, loaded by the program; they disturb each other", at, v, l))
			}
		}
		return f, nil
	}
	if len(loaded) > 0 {
		f := found{how: "already loaded"}
		if len(loaded) > 1 {
			f.notes = append(f.notes, "several copies of libcupti in the process: "+strings.Join(loaded, ", ")+"; they disturb each other")
		}
		for _, p := range append([]string{"libcupti.so.13", "libcupti.so.12", "libcupti.so"}, loaded...) {
			if lib, ok := dl.Loaded(p); ok {
				f.lib = lib
				return f, nil
			}
		}
	}
	missing := &dl.NotFoundError{What: "CUPTI"}
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

// candidates lists what to try, best first. Paths are only listed where glob
// finds them; bare names are left to the loader.
func candidates(maps dl.MapList, getenv func(string) string, glob func(string) []string) []candidate {
	majors := majorOrder(maps)
	var list []candidate
	seen := map[string]bool{}
	add := func(how string, patterns ...string) {
		for _, m := range majors {
			for _, p := range patterns {
				for _, name := range glob(fmt.Sprintf(p, m)) {
					if !seen[name] {
						seen[name] = true
						list = append(list, candidate{name, how})
					}
				}
			}
		}
	}
	for _, rt := range maps.Files("libcudart") {
		dir := path.Dir(rt)
		// A wheel for CUDA 13 keeps all libraries in nvidia/cu13/lib, older ones
		// a folder each; a toolkit keeps CUPTI under extras.
		add("beside the CUDA runtime",
			dir+"/libcupti.so.%s*",
			path.Dir(path.Dir(dir))+"/cuda_cupti/lib/libcupti.so.%s*",
			path.Dir(dir)+"/extras/CUPTI/lib64/libcupti.so.%s*",
			path.Dir(path.Dir(path.Dir(dir)))+"/extras/CUPTI/lib64/libcupti.so.%s*")
	}
	for _, v := range []string{"CUDA_HOME", "CUDA_PATH"} {
		if root := getenv(v); root != "" {
			add(v, root+"/extras/CUPTI/lib64/libcupti.so.%s*", root+"/lib64/libcupti.so.%s*")
		}
	}
	for _, m := range majors {
		list = append(list, candidate{"libcupti.so." + m, "loader search"})
	}
	add("toolkit", "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.%s*", "/usr/local/cuda-%s*/extras/CUPTI/lib64/libcupti.so*")
	return append(list, candidate{"libcupti.so", "loader search"})
}

// majorOrder returns the CUDA major versions to try, the one the process uses
// first: that of the loaded runtime, else the newest the driver can serve.
func majorOrder(maps dl.MapList) []string {
	order := []string{"13", "12", "11"}
	first := ""
	for _, prefix := range []string{"libcudart.so.", "libcublas.so.", "libnvrtc.so."} {
		for _, f := range maps.Files(prefix) {
			major, _, _ := strings.Cut(strings.TrimPrefix(path.Base(f), prefix), ".")
			if first == "" && (major == "13" || major == "12" || major == "11") {
				first = major
			}
		}
	}
	// Driver branches: 525 brought CUDA 12, 580 CUDA 13.
	if branch := driverBranch(maps); first == "" && branch > 0 && branch < 580 {
		first = "12"
		if branch < 525 {
			first = "11"
		}
	}
	if first == "" {
		return order
	}
	list := []string{first}
	for _, m := range order {
		if m != first {
			list = append(list, m)
		}
	}
	return list
}

// driverBranch returns the branch of the mapped driver library (580 for
// libcuda.so.580.82.07), 0 if its file name does not say.
func driverBranch(maps dl.MapList) int {
	for _, f := range maps.Files("libcuda.so.") {
		s, _, _ := strings.Cut(strings.TrimPrefix(path.Base(f), "libcuda.so."), ".")
		if n, err := strconv.Atoi(s); err == nil && n >= 100 {
			return n
		}
	}
	return 0
}
