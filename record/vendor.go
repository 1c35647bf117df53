package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/flagos-ai/flagos-trace/tracer"
)

// Environment variables of the choice of a tracer. envAccelerator is FlagOS' and the
// user's; the loader reads envPreload.
const (
	envVendor      = "FLAGOS_TRACE_VENDOR"
	envAccelerator = "FLAGOS_ACCELERATOR"
	envPreload     = "LD_PRELOAD"
	envPreloaded   = "FLAGOS_TRACE_PRELOADED"   // what the preloaded part is to take out of LD_PRELOAD for children
	envBufferSize  = "FLAGOS_TRACE_BUFFER_SIZE" // the user's, as is envBuffers
	envBuffers     = "FLAGOS_TRACE_BUFFERS"
)

// envVendors are those that are set for a vendor's programs.
var envVendors = []string{envVendor, envPreload, envPreloaded, envBufferSize, envBuffers}

// preloadName is the part of the agent that is preloaded where the vendor's driver loads
// no library by itself; it lies beside the agent.
const preloadName = "libflagos_trace_preload.so"

// Errors of choosing a vendor, to be told apart with errors.Is.
var (
	// ErrVendor means that there is no tracer for what was asked for.
	ErrVendor = errors.New("no tracer for this vendor")
	// ErrPreload means that something has to be preloaded and cannot be.
	ErrPreload = errors.New("cannot be preloaded")
)

// vendorsFor returns the vendors whose devices the program may use: the one that is
// named; else the one that FlagOS is told to use; else those that the machine has.
func vendorsFor(name string, env []string, exists func(path string) bool) (list []tracer.Vendor, named bool, err error) {
	name = strings.ToLower(name)
	if name != "" && name != "auto" {
		v, ok := tracer.VendorOf(name)
		if u, known := tracer.UntracedVendor(name); !ok && known {
			return nil, false, fmt.Errorf("%w: %s: %s; %s", ErrVendor, u.Vendor, u.Why, tracer.Remains)
		}
		if !ok {
			var known []string
			for _, v := range tracer.Vendors() {
				known = append(known, v.Word())
			}
			return nil, false, fmt.Errorf("%w: %q; there are: auto, %s", ErrVendor, name, strings.Join(known, ", "))
		}
		return []tracer.Vendor{v}, true, nil
	}
	if v, ok := tracer.VendorOf(strings.ToLower(lookup(env, envAccelerator))); ok {
		return []tracer.Vendor{v}, false, nil
	}
	for _, v := range tracer.Vendors() {
		for _, n := range v.Nodes {
			if exists(n) {
				list = append(list, v)
				break
			}
		}
	}
	return list, false, nil
}

// untracedVendor says why programs on the devices that FlagOS is told to use are not
// recorded, "" if nothing speaks against it. The variable is not for us alone: the
// program runs all the same.
func untracedVendor(o *Options) string {
	if o.Vendor != "" && o.Vendor != "auto" {
		return ""
	}
	u, known := tracer.UntracedVendor(strings.ToLower(lookup(o.Env, envAccelerator)))
	if !known {
		return ""
	}
	return fmt.Sprintf("%s is %s: %s: %s; %s", envAccelerator, lookup(o.Env, envAccelerator), u.Vendor, u.Why, tracer.Remains)
}

// CheckVendor returns ErrVendor if there is no tracer for the vendor named.
func CheckVendor(name string) error {
	_, _, err := vendorsFor(name, nil, func(string) bool { return false })
	return err
}

func pathExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// vendorEnv adds to set what programs on a vendor's devices need. agent is the path of
// the library that is injected.
func vendorEnv(set map[string]string, env []string, agent string, o *Options) error {
	list, named, err := vendorsFor(o.Vendor, env, pathExists)
	if err != nil {
		return err
	}
	for _, name := range envVendors {
		set[name] = lookup(env, name)
	}
	set[envVendor], set[envPreloaded] = "", ""
	var first []string // of LD_PRELOAD
	needs := ""
	for _, v := range list {
		if named {
			set[envVendor] = v.Tracer
		}
		if !v.Injects && len(first) == 0 {
			first = append(first, filepath.Join(filepath.Dir(agent), preloadName))
		}
		if v.BufferSize > 0 && len(list) == 1 && set[envBufferSize] == "" && set[envBuffers] == "" {
			set[envBufferSize], set[envBuffers] = strconv.Itoa(v.BufferSize), strconv.Itoa(v.Buffers)
		}
		if o.Preload && v.Library != "" && needs == "" {
			needs = v.LibraryNeeds
			library, err := vendorLibrary(v, env)
			if err != nil {
				return err
			}
			first = append(first, library)
			set[envPreloaded] = library
		}
	}
	if o.Preload && needs == "" {
		return fmt.Errorf("%w: --preload: none of the libraries of the devices here (%s) needs it", ErrPreload, tracersOf(list))
	}
	for _, p := range first {
		if strings.ContainsAny(p, ": ") {
			return fmt.Errorf("%w: %s: the loader takes colons and blanks in %s for the ends of names; put it elsewhere", ErrPreload, p, envPreload)
		}
		if !pathExists(p) {
			return fmt.Errorf("%w: %s: no such file; install the whole of flagos-trace", ErrPreload, p)
		}
	}
	if set[envPreload] != "" {
		first = append(first, set[envPreload])
	}
	set[envPreload] = strings.Join(first, ":")
	return nil
}

func tracersOf(list []tracer.Vendor) string {
	var names []string
	for _, v := range list {
		names = append(names, v.Tracer)
	}
	if len(names) == 0 {
		return "none is known"
	}
	return strings.Join(names, ", ")
}

// vendorLibrary finds the vendor's profiling library: where it is named, in the toolkit
// that the environment names, where the program's loader would look, and in the toolkit's
// usual folders.
func vendorLibrary(v tracer.Vendor, env []string) (string, error) {
	if named := lookup(env, tracer.EnvLibrary); named != "" {
		abs, err := filepath.Abs(named)
		if err == nil && pathExists(abs) {
			return abs, nil
		}
		return "", fmt.Errorf("%w: %s is set to %s: no such file", ErrPreload, tracer.EnvLibrary, named)
	}
	var folders []string
	below := func(root string) {
		for _, folder := range v.Folders {
			folders = append(folders, filepath.Join(root, folder))
		}
	}
	here, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("%w: %s: the working folder cannot be told: %w", ErrPreload, v.Library, err)
	}
	for _, name := range v.Homes {
		if root := lookup(env, name); filepath.IsAbs(root) {
			below(root)
		} else if root != "" {
			below(filepath.Join(here, root))
		}
	}
	folders = append(folders, LoaderFolders(os.DirFS("/"), here, lookup(env, "LD_LIBRARY_PATH"))...)
	for _, pattern := range v.Roots {
		found, _ := filepath.Glob(pattern) // the patterns are good
		for _, root := range found {
			below(root)
		}
	}
	for _, dir := range folders {
		if p := filepath.Join(dir, v.Library); pathExists(p) {
			return p, nil
		}
	}
	return "", fmt.Errorf("%w: %s was not found; set %s, or %s to its path; looked for in: %s, and below %s",
		ErrPreload, v.Library, strings.Join(v.Homes, " or "), tracer.EnvLibrary, strings.Join(folders, ", "), strings.Join(v.Roots, ", "))
}
