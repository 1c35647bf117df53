package fakegpu

import (
	"os"
	"path/filepath"
)

// An Alike is a vendor whose runtime and tracing library are modelled on CUDA's.
type Alike struct {
	Name    string // the folder of its libraries in a build
	Library string // the tracing library, "" if the tracer has none of its own
	Runtime string
	prefix  string // of the runtime's functions
	sources string // of the tracing library
	minimal string // version script of a build with fewer functions, in <Name>-minimal
}

// The vendors there are.
var (
	MUSA  = Alike{"musa", "libmupti.so", "libmusart.so", "musa", "mupti", "mupti-minimal"}
	MetaX = Alike{"metax", "libmcpti.so", "libmcruntime.so", "mc", "mcpti", ""}
	PPU   = Alike{"ppu", "libcupti.so", "libhgpti.so", "cuda", "ppu", ""}
	DCU   = Alike{"dcu", "libroctracer64.so", "libgalaxyhip.so.5", "hip", "roctracer", ""}
)

func alikeSteps() (all []step) {
	shared := func(soname string, more ...string) []string {
		return append([]string{"-shared", "-Wl,-z,defs", "-Wl,-soname," + soname, "-ldl", "-lpthread"}, more...)
	}
	for _, v := range []Alike{MUSA, MetaX, PPU, DCU} {
		prefix := "-DRT_PREFIX=" + v.prefix
		sources := []string{"alike/alike.c", v.sources + "/*.c"}
		if v == DCU {
			sources = sources[1:]
		}
		all = append(all,
			step{v.Name + "/" + v.Runtime, []string{"alike/runtime.c", "alike/round.c"}, shared(v.Runtime, prefix)},
			step{v.Name + "/" + v.Library, sources, shared(v.Library, prefix)},
			step{"fakegpu-" + v.Name, []string{"tools/alike.c"}, []string{prefix, "-L" + v.Name, "-l:" + v.Runtime, "-lpthread"}},
			step{"fakegpu-workload-" + v.Name, []string{"tools/vendor.c"},
				[]string{prefix, `-DVENDOR_CALLS="vendor_alike.h"`, "-L" + v.Name, "-l:" + v.Runtime, "-lpthread"}},
		)
		if v.minimal != "" {
			all = append(all, step{v.Name + "-minimal/" + v.Library, sources,
				shared(v.Library, prefix, "-Wl,--version-script,csrc/maps/"+v.minimal+".map")})
		}
	}
	return all
}

// Alike returns the path of a workload on a vendor's runtime that is the tests' own.
func (p Paths) Alike(v Alike) string { return filepath.Join(p.Dir, "fakegpu-"+v.Name) }

// AlikeLibrary and AlikeRuntime return the paths of a vendor's libraries.
func (p Paths) AlikeLibrary(v Alike) string { return filepath.Join(p.Dir, v.Name, v.Library) }

// AlikeRuntime returns the path of the runtime.
func (p Paths) AlikeRuntime(v Alike) string { return filepath.Join(p.Dir, v.Name, v.Runtime) }

// AlikeMinimal returns the path of the tracing library with fewer functions.
func (p Paths) AlikeMinimal(v Alike) string {
	return filepath.Join(p.Dir, v.Name+"-minimal", v.Library)
}

// AlikeEnv returns the environment variables (NAME=value) with which a program finds
// the libraries of the vendor.
func (p Paths) AlikeEnv(v Alike) []string {
	path := filepath.Join(p.Dir, v.Name)
	if old := os.Getenv("LD_LIBRARY_PATH"); old != "" {
		path += ":" + old
	}
	return []string{"LD_LIBRARY_PATH=" + path}
}
