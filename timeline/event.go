package timeline

import "github.com/flagos-ai/flagos-trace/event"

// Kind says which table an event's Detail points into and how it is shown.
type Kind uint8

// Kinds of timeline events. The first ones are those of a device tracer.
const (
	Other            Kind = iota // an event of a trace that was read; Detail: Args
	Kernel                       // Detail: Kernels
	Memcpy                       // Detail: Copies
	MemcpyPeer                   // Detail: Copies
	Memset                       // Detail: Copies
	Runtime                      // Detail: Calls
	Driver                       // Detail: Calls
	Sync                         // Detail: Syncs
	Overhead                     // no detail
	DeviceAnnotation             // an annotation's span on a stream; no detail
	Host                         // an operator, annotation or Python call; Detail: Args
	NumKinds
)

var kindNames = [NumKinds]string{
	"other", "kernel", "memcpy", "memcpy_peer", "memset", "runtime", "driver", "sync",
	"overhead", "gpu_user_annotation", "host",
}

// String returns the kind's name as it stands in completeness records.
func (k Kind) String() string {
	if k < NumKinds {
		return kindNames[k]
	}
	return "other"
}

// OnDevice reports whether the event is work done by a device.
func (k Kind) OnDevice() bool { return k >= Kernel && k <= Memset }

// IsAPI reports whether the event is an API call of a host thread.
func (k Kind) IsAPI() bool { return k == Runtime || k == Driver }

// Flags of an event.
type Flags uint8

// Event flags.
const (
	FlowOut     Flags = 1 << iota // an arrow of the event's correlation starts here
	FlowIn                        // an arrow of the event's correlation ends here
	HasExternal                   // External is an external id
	Unfinished                    // the event had not ended: End is the window's end
	Instant                       // a moment, not a span: End is Start
)

// Event is one span of the trace.
type Event struct {
	Start, End  int64  // ns since the Unix epoch; End >= Start
	Correlation uint64 // pairs an API call with its device work; 0: none
	External    int64  // the framework operator's id; meaningful with HasExternal
	Name        uint32 // in Trace.Strings
	Category    uint32 // in Trace.Strings; 0 for kinds whose category the writer knows
	Row         uint32 // in Trace.Rows
	Detail      uint32 // in the table the kind names
	Place       uint32 // in Trace.Places, for device work and waits
	Kind        Kind
	Flags       Flags
}

// Duration returns the event's length in ns.
func (e *Event) Duration() int64 { return e.End - e.Start }

// KernelDetail is what a kernel event has beyond the common.
type KernelDetail struct {
	Launch      uint32 // in Trace.Launches
	GraphID     uint32
	GraphNodeID uint64
	Queued      uint64 // as recorded
	Channel     uint32
	ChannelType uint32
	Priority    int32
	Has         event.Fields
	// Collective is the Args index of the arguments copied from the collective
	// operation this kernel carries out, and of what the library told of its task, 0 if
	// there is none.
	Collective uint32
}

// CopyDetail is what a copy or a fill has beyond the common.
type CopyDetail struct {
	Bytes                 uint64
	GraphNodeID           uint64
	GraphID               uint32
	Channel, ChannelType  uint32
	SrcDevice, SrcContext uint32 // peer copies
	DstDevice, DstContext uint32
	Copy                  event.CopyKind
	Src, Dst              event.MemoryKind
	Async                 bool
	Has                   event.Fields
}

// CallDetail is what an API call has beyond the common.
type CallDetail struct {
	CBID        uint32
	ReturnValue uint32 // 0 is success
	Has         event.Fields
}

// SyncDetail is what a wait has beyond the common.
type SyncDetail struct {
	Kind    event.SyncKind
	Has     event.Fields
	EventID uint32
	SyncID  uint64 // of the recording waited for, where the library tells; 0: none
	// Source is the recording of the event waited for, if it was seen.
	HasSource         bool
	SourceStream      uint32
	SourceCorrelation uint64
}

// Place is where device work ran.
type Place struct {
	Device, Context, Stream uint32
	Has                     event.Fields // HasDevice, HasStream
}
