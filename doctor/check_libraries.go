package doctor

import (
	"fmt"
	"path"
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
