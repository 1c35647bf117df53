package fakegpu

import (
	"os"
	"path/filepath"
)

// A MSPTI names one build of Ascend's activity library.
type MSPTI string

// The builds of the activity library of Ascend.
const (
	MSPTINow MSPTI = "mspti"     // all functions
	MSPTIOld MSPTI = "mspti-old" // those of CANN 8.0: no external ids, no FlushPeriod, no kinds above 4
	NoMSPTI  MSPTI = ""          // the runtime only
)

// ascendSteps builds the runtime and the activity library of Ascend, and the
// workload for them.
func ascendSteps() []step {
	shared := func(soname string, more ...string) []string {
		return append([]string{"-shared", "-Wl,-z,defs", "-Wl,-soname," + soname}, more...)
	}
	return []step{
		{"ascend/libascendcl.so", []string{"acl/*.c"}, shared("libascendcl.so", "-lpthread")},
		{"mspti/libmspti.so", []string{"mspti/*.c"}, shared("libmspti.so", "-ldl", "-lpthread")},
		{"mspti-old/libmspti.so", []string{"mspti/*.c"}, shared("libmspti.so", "-ldl", "-lpthread", "-DFAKEMSPTI_OLD",
			"-Wl,--version-script,csrc/maps/mspti-old.map")},
		{"fakegpu-ascend", []string{"tools/ascend.c"}, []string{"-Lascend", "-l:libascendcl.so", "-ldl", "-lpthread"}},
		{"fakegpu-workload-ascend", []string{"tools/vendor.c"},
			[]string{`-DVENDOR_CALLS="vendor_ascend.h"`, "-Lascend", "-l:libascendcl.so", "-lpthread"}},
	}
}

// Ascend returns the path of a workload on the look-alike of Ascend's runtime that is
// the tests' own.
func (p Paths) Ascend() string { return filepath.Join(p.Dir, "fakegpu-ascend") }

// MSPTILibrary returns the path of a build of the activity library.
func (p Paths) MSPTILibrary(m MSPTI) string { return filepath.Join(p.Dir, string(m), "libmspti.so") }

// AscendEnv returns the environment variables (NAME=value) with which a program
// finds the look-alikes of Ascend's libraries.
func (p Paths) AscendEnv(m MSPTI) []string {
	path := filepath.Join(p.Dir, "ascend")
	if m != NoMSPTI {
		path += ":" + filepath.Join(p.Dir, string(m))
	}
	if old := os.Getenv("LD_LIBRARY_PATH"); old != "" {
		path += ":" + old
	}
	return []string{"LD_LIBRARY_PATH=" + path}
}

// Bundled returns the path of the bundled workload on a vendor's runtime, and what must
// stand in its environment (NAME=value): "cuda", "ascend" or the name of an Alike.
func (p Paths) Bundled(vendor string) (program string, env []string) {
	program = filepath.Join(p.Dir, "fakegpu-workload-"+vendor)
	switch vendor {
	case "cuda":
		return p.Workload, p.Env(CUPTI13)
	case "ascend":
		return program, p.AscendEnv(MSPTINow)
	}
	return program, p.AlikeEnv(Alike{Name: vendor})
}
