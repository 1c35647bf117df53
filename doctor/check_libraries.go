package doctor

import (
	"fmt"
	"path"
	"strings"

	"github.com/flagos-ai/flagos-trace/tracer"
)

// tritonHow marks the copy that only Triton's own profiler loads.
const tritonHow = "Triton"

// findCUPTI looks for copies of libcupti where programs get theirs from.
func (e *exam) findCUPTI() []copyOf {
	f := finder{s: e.s}
	for _, dir := range e.s.loaderFolders() {
		f.add("loader", quote(dir)+"/libcupti.so*")
	}
	for _, dir := range e.pythonFolders() {
		f.add("Python", quote(dir)+"/nvidia/*/lib/libcupti.so*", quote(dir)+"/torch/lib/libcupti*.so*")
		f.add(tritonHow, quote(dir)+"/triton/backends/nvidia/lib/cupti/libcupti.so*")
	}
	for _, v := range []string{"CUDA_HOME", "CUDA_PATH"} {
		if root := e.s.getenv(v); root != "" {
			root = quote(e.s.abs(root))
			f.add(v, root+"/extras/CUPTI/lib64/libcupti.so*", root+"/lib64/libcupti.so*")
		}
	}
	if root := e.s.getenv("CONDA_PREFIX"); root != "" {
		f.add("conda", quote(root)+"/lib/libcupti.so*")
	}
	f.add("toolkit", "/usr/local/cuda*/extras/CUPTI/lib64/libcupti.so*", "/usr/local/cuda*/targets/*/lib/libcupti.so*", "/opt/cuda/extras/CUPTI/lib64/libcupti.so*")
	return f.list
}

// pythonFolders lists where Python packages are, of the interpreter that was
// asked and of an active environment.
func (e *exam) pythonFolders() []string {
	var list []string
	for _, dir := range e.python.Path {
		if path.IsAbs(dir) {
			list = append(list, dir)
		}
	}
	for _, v := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if root := e.s.getenv(v); root != "" {
			list = append(list, e.s.glob(quote(root)+"/lib/python3.*/site-packages")...)
		}
	}
	return list
}

// usable lists the copies that a program may load, the agent included.
func (e *exam) usable() (list, triton []copyOf) {
	for _, c := range e.cupti {
		if c.How == tritonHow {
			triton = append(triton, c)
		} else {
			list = append(list, c)
		}
	}
	return list, triton
}

func checkCUPTI(e *exam) []Finding {
	const id = "library.cupti"
	list, triton := e.usable()
	also := ""
	if len(triton) > 0 {
		also = "; Triton has one for its own profiler, " + paths(triton)
	}
	switch bound := e.bound(); {
	case len(list) == 0 && bound != "":
		return one(id, OK, "the agent finds "+bound+also, "")
	case len(list) == 0 && !e.hasNVIDIA():
		return one(id, Skip, "no copy of libcupti was found, and no NVIDIA driver that would need one"+also, "")
	case len(list) == 0 && len(e.recordings) > 0:
		return one(id, Skip, "no copy of libcupti was found as a file"+also+"; what the recording made of that is told below", "")
	case len(list) == 0:
		return one(id, Fail, "no copy of libcupti was found"+also, e.installCUPTI())
	case len(list) == 1:
		return one(id, OK, paths(list)+also, "")
	default:
		return one(id, Warn, fmt.Sprintf("%d copies of libcupti: %s%s; two that are loaded into one process disturb each other", len(list), paths(list), also),
			"nothing, as long as traces are complete; otherwise set FLAGOS_CUPTI_LIBRARY to the copy that the program itself loads"+e.torchHint())
	}
}

// torchHint names torch's copy in brackets, if there is one.
func (e *exam) torchHint() string {
	if lib := e.torchCUPTI(); lib != "" {
		return " (torch: " + lib + ")"
	}
	return ""
}

// bound returns the library that a trial recording used, "" for none.
func (e *exam) bound() string {
	for _, r := range e.recordings {
		if c := r.completeness(); c != nil && c.Library != "" {
			return c.Library
		}
	}
	return ""
}

// installCUPTI says how to get a libcupti that fits the driver.
func (e *exam) installCUPTI() string {
	const how = ", and set FLAGOS_CUPTI_LIBRARY to the libcupti.so.%d in it"
	version := 0
	if e.alone != nil {
		version = e.alone.Driver
	}
	major, minor := version/1000, version%1000/10
	switch {
	case major >= 13:
		return fmt.Sprintf("install the CUPTI of CUDA %d.%d, or of an older CUDA %d: `pip install 'nvidia-cuda-cupti<%d.%d'`"+how, major, minor, major, major, minor+1, major)
	case major == 12 && minor > 0:
		return fmt.Sprintf("install the CUPTI of CUDA 12.%d, or of an older CUDA 12: `pip install 'nvidia-cuda-cupti-cu12<12.%d'`"+how, minor, minor+1, major)
	case major > 0:
		return fmt.Sprintf("install the CUPTI of CUDA %d.%d: it is in the toolkit, in extras/CUPTI/lib64. Set FLAGOS_CUPTI_LIBRARY to the libcupti.so there", major, minor)
	}
	return "install the CUPTI that belongs to the program's CUDA: it is in the toolkit, in extras/CUPTI/lib64. Set FLAGOS_CUPTI_LIBRARY to the libcupti.so there"
}

// vendor is a maker of devices other than NVIDIA, and its profiling library.
type vendor struct {
	id, name  string
	libraries []string
	roots     []string // environment variables that name the SDK
	defaults  []string // patterns of where it is otherwise
	folders   []string // below the SDK
	node      string   // pattern of a device node, "" if it is not known
}

var vendors = []vendor{
	{"ascend", "Huawei Ascend", []string{"libmspti.so"}, []string{"ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"},
		[]string{"/usr/local/Ascend/*/latest", "/usr/local/Ascend/latest"}, []string{"lib64", "tools/mspti/lib64"}, "/dev/davinci[0-9]*"},
	{"musa", "Moore Threads", []string{"libmupti.so*"}, []string{"MUSA_HOME"}, []string{"/usr/local/musa"},
		[]string{"lib", "lib64", "extras/MUPTI/lib", "extras/MUPTI/lib64"}, "/dev/mtgpu.[0-9]*"},
	{"metax", "MetaX", []string{"libmcpti.so*"}, []string{"METAX_PATH", "MACA_PATH"}, []string{"/opt/maca"}, []string{"lib", "lib64"}, "/dev/mxcd"},
	{"dcu", "Hygon", []string{"libroctracer64.so*"}, []string{"ROCM_PATH"}, []string{"/opt/dtk"},
		[]string{"lib", "lib64", "roctracer/lib"}, ""},
	{"rocm", "AMD or Hygon", []string{"librocprofiler-sdk.so*"}, []string{"ROCM_PATH"}, []string{"/opt/rocm"},
		[]string{"lib", "lib64", "roctracer/lib"}, "/dev/kfd"},
	{"ppu", "T-Head PPU", []string{"libhgpti.so*"}, []string{"PPU_SDK", "PPU_HOME"}, []string{"/usr/local/PPU_SDK"}, []string{"lib", "lib64"}, ""},
	{"enflame", "Enflame", []string{"libtopspti.so*", "libtopspti_prof.so*"}, nil, []string{"/opt/tops"}, []string{"lib", "extras/TOPSPTI/lib64"}, ""},
	{"cambricon", "Cambricon", []string{"libcnpapi.so*"}, []string{"NEUWARE_HOME"}, []string{"/usr/local/neuware"}, []string{"lib64", "lib"}, "/dev/cambricon_dev[0-9]*"},
	{"intel", "Intel", []string{"libpti_view.so*"}, nil, []string{"/opt/intel/oneapi/pti/latest"}, []string{"lib"}, ""},
	{"kunlunxin", "Kunlunxin", []string{"libxpti.so*"}, nil, nil, nil, "/dev/xpu[0-9]*"},
}

// find returns what there is of a vendor: copies of its library, device nodes.
func (e *exam) find(v *vendor) (libraries []copyOf, devices []string) {
	f := finder{s: e.s}
	for _, lib := range v.libraries {
		for _, dir := range e.s.loaderFolders() {
			f.add("loader", quote(dir)+"/"+lib)
		}
		for _, name := range v.roots {
			if root := e.s.getenv(name); root != "" {
				for _, dir := range v.folders {
					f.add(name, path.Join(quote(e.s.abs(root)), dir, lib))
				}
			}
		}
		for _, root := range v.defaults {
			for _, dir := range v.folders {
				f.add("SDK", path.Join(root, dir, lib))
			}
		}
	}
	if v.node != "" {
		devices = e.s.glob(v.node)
	}
	return f.list, devices
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
			found.Status, found.Seen = OK, found.Seen+". It is recorded with --vendor "+known.Tracer
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
