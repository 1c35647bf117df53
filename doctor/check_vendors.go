package doctor

import (
	"fmt"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/tracer"
)

// preloadName is the part of the agent that is preloaded where no driver loads it.
const preloadName = "libflagos_trace_preload.so"

// vendor is a maker of devices other than NVIDIA, and its profiling library. Of those
// that have a tracer, where the library is stands in package tracer.
type vendor struct {
	id, name  string
	libraries []string
	roots     []string // environment variables that name the SDK
	defaults  []string // patterns of where it is otherwise
	folders   []string // below the SDK
	node      string   // pattern of a device node, "" if it is not known
	functions []string // that its tracer cannot do without
	// binds is the library that the tracer uses, where the others only tell that the
	// vendor's software is there.
	binds string
}

var vendors = []vendor{
	{id: "ascend", name: "Huawei Ascend", libraries: []string{"libmspti.so"}, node: "/dev/davinci[0-9]*", functions: []string{"msptiSubscribe", "msptiUnsubscribe",
		"msptiActivityRegisterCallbacks", "msptiActivityEnable", "msptiActivityDisable", "msptiActivityFlushAll"}},
	{id: "musa", name: "Moore Threads", libraries: []string{"libmupti.so*"}, node: "/dev/mtgpu.[0-9]*", functions: cuptiAs("mupti")},
	{id: "metax", name: "MetaX", libraries: []string{"libmcpti.so*"}, node: "/dev/mxcd", functions: cuptiAs("cupti")},
	{id: "dcu", name: "Hygon", libraries: []string{"libroctracer64.so*"}, functions: []string{"roctracer_set_properties", "roctracer_enable_domain_callback",
		"roctracer_open_pool_expl", "roctracer_enable_domain_activity_expl", "roctracer_flush_activity_expl", "roctracer_op_string", "roctracer_get_timestamp"}},
	{id: "rocm", name: "AMD or Hygon", libraries: []string{"librocprofiler-sdk.so*"}, roots: []string{"ROCM_PATH"}, defaults: []string{"/opt/rocm"},
		folders: []string{"lib", "lib64", "roctracer/lib"}, node: "/dev/kfd"},
	// There may be other copies of what its tracer binds.
	{id: "ppu", name: "T-Head PPU", libraries: []string{"libhgpti.so*"}, binds: "libcupti.so*", functions: cuptiAs("cupti")},
	{id: "enflame", name: "Enflame", libraries: []string{"libtopspti.so*", "libtopspti_prof.so*"}, defaults: []string{"/opt/tops"}, folders: []string{"lib", "extras/TOPSPTI/lib64"}},
	{id: "cambricon", name: "Cambricon", libraries: []string{"libcnpapi.so*"}, roots: []string{"NEUWARE_HOME"}, defaults: []string{"/usr/local/neuware"},
		folders: []string{"lib64", "lib"}, node: "/dev/cambricon_dev[0-9]*"},
	{id: "intel", name: "Intel", libraries: []string{"libpti_view.so*"}, defaults: []string{"/opt/intel/oneapi/pti/latest"}, folders: []string{"lib"}},
	{id: "kunlunxin", name: "Kunlunxin", libraries: []string{"libxpti.so*"}, node: "/dev/xpu[0-9]*"},
}

// vendorOf returns one of the vendors.
func vendorOf(id string) *vendor {
	return &vendors[slices.IndexFunc(vendors, func(v vendor) bool { return v.id == id })]
}

// cuptiAs lists the functions of a library modelled on CUPTI that tracing needs.
func cuptiAs(prefix string) (list []string) {
	for _, f := range []string{"RegisterCallbacks", "Enable", "Disable", "FlushAll"} {
		list = append(list, prefix+"Activity"+f)
	}
	return list
}

// places returns where the vendor's library may be: variables that name the folder of
// its software, such folders, and folders below.
func (v *vendor) places() (roots, defaults, folders []string) {
	if t, ok := tracer.VendorOf(v.id); ok {
		return t.Homes, t.Roots, append(slices.Clone(t.Folders), "lib64")
	}
	return v.roots, v.defaults, v.folders
}

// find returns what there is of a vendor: copies of its library, device nodes.
func (e *exam) find(v *vendor) (libraries []copyOf, devices []string) {
	if v.node != "" {
		devices = e.s.glob(v.node)
	}
	return e.copies(v, v.libraries...), devices
}

// binds returns the copies of what the vendor's tracer may bind.
func (e *exam) binds(v *vendor, libraries []copyOf) []copyOf {
	if v.binds == "" {
		return libraries
	}
	return e.copies(v, v.binds)
}

// copies looks for libraries where a vendor's may be.
func (e *exam) copies(v *vendor, names ...string) []copyOf {
	f := finder{s: e.s}
	roots, defaults, folders := v.places()
	for _, lib := range names {
		if named := e.s.getenv(tracer.EnvLibrary); named != "" {
			if fits, _ := path.Match(lib, path.Base(named)); fits {
				f.add(tracer.EnvLibrary, quote(e.s.abs(named)))
			}
		}
		for _, dir := range e.s.loaderFolders() {
			f.add("loader", quote(dir)+"/"+lib)
		}
		for _, name := range roots {
			if root := e.s.getenv(name); root != "" {
				for _, dir := range folders {
					f.add(name, path.Join(quote(e.s.abs(root)), dir, lib))
				}
			}
		}
		for _, root := range defaults {
			for _, dir := range folders {
				f.add("SDK", path.Join(root, dir, lib))
			}
		}
	}
	return f.list
}

// others reports whether there is anything of a vendor other than NVIDIA.
func (e *exam) others() bool {
	for i := range vendors {
		if libraries, devices := e.find(&vendors[i]); len(libraries)+len(devices) > 0 {
			return true
		}
	}
	return false
}

// checkVendors tells of other vendors' devices, whether they can be recorded and what is
// missing if not. Where one of those is all there is, a recording would be empty.
func checkVendors(e *exam) []Finding {
	var list []Finding
	status := Warn
	if !e.hasNVIDIA() {
		status = Fail
	}
	for i := range vendors {
		v := &vendors[i]
		libraries, devices := e.find(v)
		var seen []string
		if len(devices) > 0 {
			seen = append(seen, strings.Join(devices, ", "))
		}
		if len(libraries) > 0 {
			seen = append(seen, paths(libraries))
		}
		if len(seen) == 0 {
			continue
		}
		found := Finding{ID: "library." + v.id, Status: status, Seen: v.name + ": " + strings.Join(seen, "; ")}
		switch known, ok := tracer.VendorOf(v.id); {
		case ok && len(libraries) > 0:
			bound := e.binds(v, libraries)
			if len(bound) == 0 {
				found.Seen += ". " + libraryName(v) + ", which its tracer uses, was not found: what runs on that device cannot be recorded"
				found.Fix = "install the whole of the vendor's software, or set " + tracer.EnvLibrary + " to the " + libraryName(v) + " in it"
				break
			}
			if v.binds != "" {
				found.Seen += "; its tracer uses " + paths(bound)
			}
			if bad := e.unusable(v, bound); bad != "" {
				found.Seen += ". None of these can be used: " + bad
				found.Fix = "set " + tracer.EnvLibrary + " to the " + libraryName(v) + " for this machine, of the vendor's software that the program uses"
				break
			}
			found.Status, found.Seen = OK, found.Seen+". It is recorded with --vendor "+known.Word()
		case ok:
			found.Seen += ". Its profiling library was not found: what runs on that device cannot be recorded"
			found.Fix = "install the vendor's profiling library, or set " + tracer.EnvLibrary + " to it"
		default:
			why := "There is no tracer for it"
			if u, ok := tracer.UntracedVendor(v.id); ok {
				why = "There is no tracer for it: " + u.Why
			}
			found.Seen += ". " + why + ". " + strings.ToUpper(tracer.Remains[:1]) + tracer.Remains[1:]
			found.Fix = "use the vendor's own profiler for that device"
			if len(devices) == 0 && status == Warn {
				found.Status, found.Fix = OK, ""
			}
		}
		list = append(list, found)
	}
	if len(list) == 0 {
		return one("library.others", Skip, "no profiling library and no device of another vendor was found", "")
	}
	return list
}

// libraryName is the name of the library that the vendor's tracer uses.
func libraryName(v *vendor) string {
	if v.binds != "" {
		return strings.TrimSuffix(v.binds, "*")
	}
	return strings.TrimSuffix(v.libraries[0], "*")
}

// unusable says why not one of a vendor's libraries can be used, "" if one can.
func (e *exam) unusable(v *vendor, libraries []copyOf) string {
	var why []string
	for _, c := range libraries {
		bad := e.s.flaw(c.Path, v.functions)
		if bad == "" {
			return ""
		}
		why = append(why, c.As+" "+bad)
	}
	return strings.Join(why, "; ")
}

// flaw says what keeps a library from being loaded and bound, "" if nothing is known to.
func (s *System) flaw(name string, functions []string) string {
	lib := s.library(name)
	switch {
	case lib == nil:
		return ""
	case lib.why != "":
		return lib.why
	case lib.arch != "" && lib.arch != runtime.GOARCH:
		return fmt.Sprintf("is for %s, and this is %s", lib.arch, runtime.GOARCH)
	case lib.functions == nil:
		return ""
	}
	var missing []string
	for _, f := range functions {
		if !lib.functions[f] {
			missing = append(missing, f)
		}
	}
	if len(missing) > 0 {
		return "lacks " + strings.Join(missing, ", ") + ": it is too old, or another library"
	}
	return ""
}

// checkPreloaded looks at the part of the agent that has to be preloaded for every
// vendor but NVIDIA. Where there is a sign of their devices record ends without it.
func checkPreloaded(e *exam) []Finding {
	const id = "agent.preload"
	status := Warn
	var names []string
	for i := range vendors {
		v := &vendors[i]
		t, traced := tracer.VendorOf(v.id)
		if !traced {
			continue
		}
		signs := slices.ContainsFunc(t.Nodes, e.s.exists)
		if libraries, _ := e.find(v); signs || len(libraries) > 0 {
			names = append(names, v.name)
		}
		if signs {
			status = Fail
		}
	}
	if len(names) == 0 || e.agentErr != nil {
		return nil
	}
	part := filepath.Join(filepath.Dir(e.agent), preloadName)
	whose := strings.Join(names, ", ")
	switch {
	case !e.s.exists(part):
		return one(id, status, part+" is missing: record needs it for devices of "+whose, "install the whole of flagos-trace (`make build` makes it, too)")
	case strings.ContainsAny(part, ": "):
		return one(id, status, part+" cannot be preloaded for devices of "+whose+": in LD_PRELOAD colons and blanks end a name",
			"put flagos-trace into a folder without colons and blanks in its path")
	}
	return one(id, OK, part+" is there, to be preloaded for devices of "+whose, "")
}

// checkAccelerator looks at FlagOS' variable, by which record chooses a tracer.
func checkAccelerator(e *exam) []Finding {
	const id, name = "env.accelerator", "FLAGOS_ACCELERATOR"
	value := e.s.getenv(name)
	if value == "" {
		return nil
	}
	known, ok := tracer.VendorOf(strings.ToLower(value))
	if u, untraced := tracer.UntracedVendor(strings.ToLower(value)); !ok && untraced {
		return one(id, Warn, name+" is "+value+": there is no tracer for "+u.Vendor+", and record looks for others' devices", "use the vendor's own profiler for that device")
	}
	if !ok {
		var names []string
		for _, v := range tracer.Vendors() {
			names = append(names, v.Word())
		}
		return one(id, Warn, name+" is "+value+", which no tracer goes by: record looks for devices itself", "name the tracer with record --vendor: "+strings.Join(names, ", "))
	}
	return one(id, OK, name+" is "+value+": record uses the tracer "+known.Tracer+" unless --vendor names another", "")
}
