package tracer

// Options is what the recorder asks of a tracer. It travels to the traced
// process in the environment.
type Options struct {
	API      APILevel
	Sync     bool // waits and device events
	Overhead bool
	// PerThread asks for host buffers of every thread's own: less contention
	// between launching threads, more memory.
	PerThread bool
	// NVTX asks for the ranges and marks that the program reports through NVTX.
	NVTX bool `json:",omitempty"`
}

// APILevel says which API calls are recorded.
type APILevel string

// Levels of API recording.
const (
	APIMinimal APILevel = "minimal" // launches, copies, fills and waits only
	APIKineto  APILevel = "kineto"  // what Kineto shows; the chatty rest is switched off where the library can
	APIAll     APILevel = "all"     // everything, start-up noise included
)

// Shim is the part of the agent that must be C: the two functions the vendor
// library calls for buffers, and the pool behind them. Addresses are of
// functions with the C calling convention.
type Shim interface {
	// RequestFunc and CompleteFunc are given to the vendor's registration call.
	RequestFunc() uintptr
	CompleteFunc() uintptr
	// SetPushPop installs the vendor's functions that push and pop an external
	// id, so that the C API can call them without entering Go; 0 removes them.
	SetPushPop(push, pop uintptr)
}

// ShortShim is a Shim for libraries whose function for completed buffers takes three
// arguments, buffer, size and valid size, where CUPTI's takes a context and a stream
// before them.
type ShortShim interface {
	CompleteShortFunc() uintptr
}

// StackShim is a Shim for libraries that number the stacks of external ids, and the
// answer that one is empty, otherwise than CUPTI. It is told before SetPushPop.
type StackShim interface {
	SetStacks(operator, annotation, empty uint32)
}

// DeliveryShim is a Shim that counts the buffers that were completed.
type DeliveryShim interface {
	Delivered() uint64
}

// Presence says how near a vendor's devices are.
type Presence int

// Presences.
const (
	Absent    Presence = iota
	OnMachine          // the machine has the vendor's devices
	InProcess          // the process has loaded the vendor's libraries, or names one
)

// EnvLibrary names the vendor's library to use, whoever the vendor is.
const EnvLibrary = "FLAGOS_TRACER_LIBRARY"

// Binding is a vendor library bound in this process. Methods are called from
// one locked thread, except as said.
type Binding interface {
	// Info says what was bound.
	Info() BindingInfo
	// Arm registers the shim's callbacks and enables the kinds.
	Arm(s Shim, o Options) error
	// Flush asks the library for finished buffers; force asks for all, work
	// still running included, and may be used once, at the end. It may block for
	// as long as the library does: callers bound it.
	Flush(force bool) error
	// Disarm disables the kinds. Nothing is unloaded.
	Disarm() error
	// Now reads the library's clock (ns or ticks); ok is false if it has none.
	Now() (t uint64, ok bool)
	// Dropped returns the number of records the library says it lost since the
	// last call; ok is false if it cannot say.
	Dropped() (n uint64, ok bool)
	// Inspect walks a completed buffer and reports through Findings what the
	// recorder needs and only this process knows. It is called from the writing
	// thread, never at the same time as itself.
	Inspect(data []byte, f Findings) error
	// Devices returns the attributes of the devices this process sees. It must
	// not be called before the driver is initialised.
	Devices() ([]Device, error)
}

// BindingInfo says which library was bound and how it was found.
type BindingInfo struct {
	Tracer     string `json:"tracer"`  // "cupti"
	Path       string `json:"library"` // as found in the process map, where it can be had
	How        string `json:"how"`     // which step of the search found it
	APIVersion uint32 `json:"api_version"`
	Driver     uint32 `json:"driver_version,omitempty"`
	Runtime    uint32 `json:"runtime_version,omitempty"`
	// HandleThreads: the library was not told to name threads by the system's ids, and
	// may name them by their handles.
	HandleThreads bool `json:"thread_handles,omitempty"`
}

// Findings receives what Inspect found, to be put into the spool before the
// buffer.
type Findings interface {
	// Name returns false when the name could not be kept; it is to be told again.
	Name(ptr uint64, name string) bool
	Stride(kind, bytes uint32)
	CallbackName(domain, id uint32, name string)
	// Offsets is called at most once per buffer.
	Offsets(off []uint32)
	// Diagnose reports something a person should know; each text is kept once.
	Diagnose(text string)
}

// Device is one device as the process sees it. Attributes hold what could be
// read, under the names of Kineto's deviceProperties where Kineto has the
// field ("numSms", "sharedMemPerBlockOptin", bytes), plus
// "reservedSharedMemPerBlock".
type Device struct {
	ID         uint32           `json:"id"`
	Name       string           `json:"name"`
	Attributes map[string]int64 `json:"attributes"`
}
