package tracer

import (
	"cmp"
	"slices"
)

// Vendor is what is known of a vendor before any of its libraries is bound.
type Vendor struct {
	Tracer string   // name of the tracer: "cupti"
	Names  []string // what else people call its devices
	word   string   // the one of Names that is better known than the tracer's name, if one is
	Nodes  []string // device nodes, of which there is one where there are devices
	// Injects: the driver loads the library that CUDA_INJECTION64_PATH names. Without,
	// the agent has to be preloaded.
	Injects bool
	// OwnClock: the library's times are in a clock of its own, which need not keep time
	// with any of the system's.
	OwnClock bool
	// Library is the profiling library where some of what it records takes its being
	// preloaded, too: LibraryNeeds says what. "" if there is nothing of the kind.
	Library, LibraryNeeds string
	// Homes are variables that name the folder of the vendor's toolkit, and Roots such
	// folders; the library is in one of Folders below.
	Homes, Roots, Folders []string
	// BufferSize, bytes, and Buffers are what the library's records go into unless the
	// user says otherwise; 0 leaves it to the agent.
	BufferSize, Buffers int
}

// vendors has a row for each vendor with a tracer, in the order in which they are tried.
var vendors = []Vendor{
	{Tracer: "cupti", Names: []string{"cuda", "nvidia"}, Nodes: []string{"/dev/nvidiactl"}, Injects: true},
	{
		Tracer: "ascend", Names: []string{"npu", "cann", "huawei"}, Nodes: []string{"/dev/davinci_manager", "/dev/davinci0"},
		Library: "libmspti.so", LibraryNeeds: "copies and fills",
		Homes: []string{"ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"}, Roots: []string{"/usr/local/Ascend/ascend-toolkit/latest", "/usr/local/Ascend/cann*"},
		Folders: []string{"lib64", "tools/mspti/lib64"},
		// The library warns of less than 2 MiB, and hands buffers over half full.
		BufferSize: 2 << 20, Buffers: 128,
	},
	// Of these no device node is known for certain: the folder of their software stands
	// for it, too.
	{Tracer: "musa", OwnClock: true, Names: []string{"mthreads", "moorethreads"}, Nodes: []string{"/dev/mtgpu.0", "/usr/local/musa"}, Homes: []string{"MUSA_HOME"}, Roots: []string{"/usr/local/musa"}, Folders: []string{"lib", "lib64", "extras/MUPTI/lib", "extras/MUPTI/lib64"}},
	{Tracer: "metax", OwnClock: true, Names: []string{"maca", "muxi"}, Nodes: []string{"/dev/mxcd", "/opt/maca"}, Homes: []string{"MACA_PATH", "METAX_PATH"}, Roots: []string{"/opt/maca"}, Folders: []string{"lib", "lib64"}},
	{Tracer: "ppu", OwnClock: true, Names: []string{"thead", "t-head"}, Nodes: []string{"/usr/local/PPU_SDK"}, Homes: []string{"PPU_SDK", "PPU_HOME"}, Roots: []string{"/usr/local/PPU_SDK"}, Folders: []string{"lib", "lib64", "CUDA_SDK/lib64", "CUDA_SDK/targets/x86_64-linux/lib"}},
	{Tracer: "roctracer", word: "dcu", OwnClock: true, Names: []string{"dcu", "hygon", "dtk"}, Nodes: []string{"/opt/dtk"}, Homes: []string{"ROCM_PATH"}, Roots: []string{"/opt/dtk"}, Folders: []string{"roctracer/lib", "lib"}},
}

// Vendors returns the vendors that have a tracer.
func Vendors() []Vendor { return slices.Clone(vendors) }

// Word is what people are told to name the vendor with.
func (v Vendor) Word() string {
	return cmp.Or(v.word, v.Tracer)
}

// VendorOf returns the vendor of a tracer, or of devices that people call so.
func VendorOf(name string) (Vendor, bool) {
	for _, v := range vendors {
		if v.Tracer == name || slices.Contains(v.Names, name) {
			return v, true
		}
	}
	return Vendor{}, false
}

// Untraced is a vendor whose devices nothing here records, and why.
type Untraced struct {
	Vendor string
	Names  []string // what people call its devices
	Why    string
}

// untraced are the vendors that are known and have no tracer.
var untraced = []Untraced{
	{"Enflame", []string{"enflame", "gcu", "tops"}, "its library TOPSPTI has no public header: the numbers of its activities and the layout of its records are not known"},
	{"Cambricon", []string{"cambricon", "mlu"}, "its library CNPAPI has no public header: the numbers of its activities and the layout of its records are not known"},
	{"Kunlunxin", []string{"kunlunxin", "kunlun", "xpti"}, "its library XPTI hands out C++ objects, whose layout is the compiler's, and has no public header"},
	{"Iluvatar", []string{"iluvatar", "corex"}, "no interface for tracing its devices is public"},
	{"TsingMicro", []string{"tsingmicro", "tsm"}, "no interface for tracing its devices is public"},
}

// Remains says what of this project works on devices that nothing here records.
const Remains = "calls and work of these devices cannot be recorded; a trace that the vendor's own profiler or torch.profiler writes, with the operators of the program, can be read, validated, merged and compared"

// UntracedVendor returns a vendor without a tracer by what people call its devices.
func UntracedVendor(name string) (Untraced, bool) {
	for _, u := range untraced {
		if slices.Contains(u.Names, name) {
			return u, true
		}
	}
	return Untraced{}, false
}
