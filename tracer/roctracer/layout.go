package roctracer

// Size of every record, bytes. Source: roctracer's activity_record, and what the agent
// adds to them.
const recordBytes = 64

// Domains. Source: activity_domain_t. The last one is the agent's own.
const (
	DomainHIPOps   = 2
	DomainHIPAPI   = 3
	DomainExternal = 5
	DomainLaunch   = 0x4c617563 // how the call with this correlation id launches a kernel
)

// Offsets in a record, by what it is.
const (
	offDomain      = 0
	offKind        = 4
	offOp          = 8
	offCorrelation = 16
	offBegin       = 24
	offEnd         = 32
	// HIP_OPS
	offDevice = 40
	offQueue  = 48
	offBytes  = 56 // of a copy or a fill
	offName   = 56 // of a kernel, a pointer
	// HIP_API
	offProcess = 40
	offThread  = 44
	// EXT_API; the kind is the stack's number
	offExternal = 40
	// Launch; the kind is one of the Shape constants
	offGrid      = 24
	offBlock     = 36
	offShared    = 48
	offHasShared = 52
	offStream    = 56
)

// Shapes of the arguments of calls that launch, which the agent's C part knows by these
// numbers. In all of them three words of the grid are at byte 8 and three of the block at
// byte 20.
const (
	ShapeNone   = 0
	ShapeDims   = 1 // hipLaunchKernel and the like: where shared memory stands differs by release
	ShapeModule = 2 // hipModuleLaunchKernel: shared memory at 32, 32 bits, and the stream at 40
	ShapeGlobal = 3 // hipExtModuleLaunchKernel: the grid in work items; shared memory at 32, 64 bits, and the stream at 40
)

// Shape returns the shape of the arguments of a call. Source: hip_prof_str.h.
func Shape(call string) uint8 {
	switch call {
	case "hipLaunchKernel", "hipExtLaunchKernel", "hipLaunchCooperativeKernel":
		return ShapeDims
	case "hipModuleLaunchKernel":
		return ShapeModule
	case "hipExtModuleLaunchKernel", "hipHccModuleLaunchKernel":
		return ShapeGlobal
	}
	return ShapeNone
}

// NameOffset returns where a record holds a pointer to a name, 0 if it has none.
func NameOffset(domain, kind, op uint32) int {
	if domain == DomainHIPOps && classify(kind, op).what == kernel {
		return offName
	}
	return 0
}

// RecordBytes is the size of every record.
const RecordBytes = recordBytes

// What a record of the device is.
const (
	other = iota
	kernel
	copied
	filled
)

type class struct {
	what int
	copy uint8 // as CUPTI numbers directions; 0 is not known
}

// commands are the kinds of HIP_OPS records. Source: ROCm's command types as roctracer
// hands them on. Copies of two dimensions do not say their direction.
var commands = map[uint32]class{
	0x11F0: {what: kernel}, 0x11F1: {what: kernel},
	0x11F3: {copied, 2}, 0x11F4: {copied, 1}, 0x11F5: {copied, 8},
	0x1201: {what: copied}, 0x1202: {what: copied}, 0x1203: {what: copied},
	0x1207: {what: filled},
}

// Operations of HIP_OPS.
const (
	opDispatch = 0
	opCopy     = 1
)

// classify says what a record is by its kind, by its op where that holds a kind, and
// else by what the op says of itself.
func classify(kind, op uint32) class {
	if c, ok := commands[kind]; ok {
		return c
	}
	if c, ok := commands[op]; ok {
		return c
	}
	switch op {
	case opDispatch:
		return class{what: kernel}
	case opCopy:
		return class{what: copied}
	}
	return class{}
}
