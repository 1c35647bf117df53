package event

// Kind says what an Event describes.
type Kind uint8

// The kinds of activity a device tracer reports.
const (
	Invalid             Kind = iota
	Kernel                   // a kernel ran on the device
	Memcpy                   // a copy ran on the device
	MemcpyPeer               // a copy between two devices ran
	Memset                   // a fill ran on the device
	Runtime                  // a call of the vendor's runtime API on a host thread
	Driver                   // a call of the vendor's driver API on a host thread
	ExternalCorrelation      // an API call was made under an external id
	Sync                     // the host, or a stream, waited
	DeviceEvent              // an event (a marker in a stream) was recorded
	Overhead                 // time the tracer itself took
	Context                  // a context was created on a device
	Marker                   // the program marked a moment, or an end of a range
	NumKinds                 // number of kinds, for arrays indexed by Kind
)

var kindNames = [NumKinds]string{
	"invalid", "kernel", "memcpy", "memcpy_peer", "memset", "runtime", "driver",
	"external_correlation", "sync", "device_event", "overhead", "context", "marker",
}

// String returns the kind's name as it stands in completeness records.
func (k Kind) String() string {
	if k < NumKinds {
		return kindNames[k]
	}
	return "invalid"
}

// OnDevice reports whether events of this kind are work done by the device.
func (k Kind) OnDevice() bool {
	return k == Kernel || k == Memcpy || k == MemcpyPeer || k == Memset
}

// IsAPI reports whether events of this kind are calls made by a host thread.
func (k Kind) IsAPI() bool { return k == Runtime || k == Driver }

// Fields is the set of optional fields an Event carries.
type Fields uint32

// Optional fields. A field that a library version does not report is absent,
// which is not the same as zero.
const (
	HasGraph       Fields = 1 << iota // GraphID, GraphNodeID
	HasChannel                        // Channel, ChannelType
	HasCluster                        // Launch.Cluster
	HasPriority                       // Priority
	HasQueued                         // Queued
	HasReturn                         // ReturnValue
	HasEventID                        // EventID
	HasSyncID                         // SyncID
	HasStream                         // Stream (a context-wide wait has none)
	HasDevice                         // Device
	HasMaxClusters                    // Launch.MaxActiveClusters
	StartsWork                        // an API call of those that start device work
	HasThread                         // PID and TID of a Marker
	HasSharedTotal                    // Launch.Static is static and dynamic shared memory together, as traces have it
	HasDims                           // Launch.Grid and Launch.Block, of a kernel in a trace that was read
	HasCallID                         // CBID, of a call in a trace that was read
	HasBytes                          // Bytes, of a copy in a trace that was read
	NoLaunch                          // in Launch.Has: the library does not tell how a kernel was launched
	NoContext                         // Context is not known: the library has no such thing
	NoCallID                          // CBID is not known: the library has no such numbers
	HostSpan                          // a copy or fill whose times are those of the call, not of the device
	HasTask                           // Task
	NoRegisters                       // in Launch.Has: Launch.Registers is not known
	NoShared                          // in Launch.Has: Launch.Static is not known, nor therefore the sum
)

// Launch is the configuration a kernel was launched with. It is comparable, so
// equal configurations can be stored once.
type Launch struct {
	Grid      [3]int32 // blocks
	Block     [3]int32 // threads
	Cluster   [3]int32 // blocks of a cluster; meaningful with HasCluster
	Registers uint32   // registers per thread
	Static    int32    // static shared memory, bytes per block
	Dynamic   int32    // dynamic shared memory, bytes per block
	// MaxActiveClusters is the number of clusters the device can hold at once,
	// as the library reports it; meaningful with HasMaxClusters.
	MaxActiveClusters uint32
	Has               Fields // HasCluster, HasMaxClusters
}

// Task is what some libraries tell of device work beyond its place and its times.
// Strings are ids in the Strings given to the decoder; 0, and a number that is 0,
// was not told.
type Task struct {
	Type uint32 // what part of the device it is for, in the vendor's words: "KERNEL_AIVEC"
	// Of a collective operation.
	Communicator uint32
	Algorithm    uint32
	DataType     uint32
	Count        uint64  // elements
	Bandwidth    float64 // GB/s, as the library says
}

// Event is one activity. Which fields are meaningful depends on Kind; see the
// comments. Times are in the tracer's clock: nanoseconds, or ticks.
type Event struct {
	Kind Kind
	Has  Fields
	// Incomplete is set when the activity had begun and not ended when the
	// buffers were forced out; End is then 0.
	Incomplete bool
	Start, End uint64
	// Name is an id in the Strings given to the decoder: the symbol of a kernel
	// (mangled), the name of an API call, of an overhead, of a sync or of a marker.
	Name        uint32
	Correlation uint64 // extended to 64 bits; 0 is "none"

	// Device work, waits, contexts.
	Device, Context, Stream uint32

	// Kernel.
	Launch   Launch
	Queued   uint64 // tracer's clock; 0 when the library was not asked
	Priority int32
	Task     Task // meaningful with HasTask

	// Kernel, Memcpy, Memset.
	GraphID     uint32 // 0: not from a graph
	GraphNodeID uint64
	Channel     uint32
	ChannelType uint32

	// Memcpy, MemcpyPeer, Memset.
	Bytes                 uint64
	Copy                  CopyKind
	Src, Dst              MemoryKind // Memset uses Dst
	Async                 bool
	SrcDevice, SrcContext uint32 // MemcpyPeer
	DstDevice, DstContext uint32 // MemcpyPeer

	// Runtime, Driver. A Marker has PID and TID as well.
	CBID        uint32 // callback id, in the id space of Kind
	PID, TID    uint32
	ReturnValue uint32

	// Marker, whose Start is the moment. The two ends of a range have one id, and
	// the name and the domain stand at its beginning.
	Phase    MarkerPhase
	MarkerID uint32
	Domain   uint32 // in Strings; 0 is the default domain

	// ExternalCorrelation.
	External   ExternalKind
	ExternalID uint64

	// Sync, DeviceEvent.
	SyncKind SyncKind
	EventID  uint32
	SyncID   uint64

	// Overhead.
	OverheadKind uint32 // the vendor's number, for display of unknown ones
}
