package spool

import (
	"strings"

	"github.com/flagos-ai/flagos-trace/tracer"
)

// Type is the type of a frame. Readers skip types they do not know.
type Type uint32

// Frame types. The numbers stand in files and never change.
const (
	TypeHeader       Type = 1  // JSON of Header; the first frame
	TypeBuffer       Type = 2  // an activity buffer, see Buffer
	TypeNames        Type = 3  // names behind pointers
	TypeCallbackName Type = 4  // the library's name of a callback id
	TypeStride       Type = 5  // the library's own record size of a kind
	TypeOffsets      Type = 6  // record offsets of the buffer that follows
	TypeDevices      Type = 7  // JSON of []tracer.Device
	TypeClock        Type = 8  // Clock sample
	TypeThread       Type = 9  // JSON of Thread
	TypeCounters     Type = 10 // JSON of Counters; the last one counts
	TypeDiagnosis    Type = 11 // UTF-8 text for people
	TypeWindow       Type = 12 // Window: the program opened or closed a recording window
	TypeEnd          Type = 13 // JSON of End; the last frame of an orderly end
	// TypeBinding is JSON of tracer.BindingInfo as it stands once the driver is
	// initialised (driver and runtime versions known); it replaces the header's.
	TypeBinding Type = 14
	// TypeLoss is JSON of Loss: something is known to be missing. A TypeDiagnosis
	// with the same text may stand beside it, for readers that do not know it.
	TypeLoss Type = 15
	// TypeRequested is JSON of []string: the activity kinds enabled, by name, as of
	// the last time the tracer was armed; it replaces the header's.
	TypeRequested Type = 16
	// TypeSession is JSON of Session: a profiler of the program's own ran beside the
	// recording.
	TypeSession Type = 17

	maxType = TypeSession
)

// Loss says that something is missing whose amount is not known.
type Loss struct {
	Code string `json:"code"` // one of the Loss constants, or one of a later version
	Text string `json:"text"` // for people
}

// Session is a session of a profiler that the program brings along, such as
// torch.profiler, which shared the vendor's library with the recording. It is no
// loss: both have their records. While it ran the library's clock may have been
// another.
type Session struct {
	StartNS int64 `json:"start_ns"`         // CLOCK_REALTIME
	EndNS   int64 `json:"end_ns,omitempty"` // absent if it had not ended when the recording did
	// Kinds are the vendor's numbers of the activity kinds it recorded.
	Kinds []uint32 `json:"kinds,omitempty"`
	// Buffers counts those of the recording's that were copied for it.
	Buffers uint64 `json:"buffers,omitempty"`
	// Late counts buffers that the library had not handed over when the session
	// ended: it lacks their records, the recording has them.
	Late int `json:"late,omitempty"`
}

// Codes of losses.
const (
	LossDevice = "device_unsupported" // the library delivers no records for a device
	LossClock  = "clock_replaced"     // another profiler took over, and probably the buffers
	LossMemory = "no_memory"          // there was no memory for buffers
	LossFlush  = "flush_failed"       // the library refused to hand over records
	LossAgent  = "agent_failed"       // the agent stopped early
	LossStart  = "agent_not_started"  // the process has no room for the agent: limits, or a part missing
	// LossMaxSize: the spool reached the size allowed, and buffers were left out.
	LossMaxSize = "max_size"
)

// Header says who wrote the spool. Times are CLOCK_REALTIME nanoseconds.
type Header struct {
	Agent     string             `json:"agent"` // version of the agent
	PID       int                `json:"pid"`
	PPID      int                `json:"ppid"`
	Process   string             `json:"process"` // base name of argv[0]
	Host      string             `json:"host"`
	StartNS   int64              `json:"start_ns"` // when the tracer was armed, or bound if Paused
	Binding   tracer.BindingInfo `json:"binding"`
	Options   tracer.Options     `json:"options"`
	Requested []string           `json:"requested"` // activity kinds enabled, by name
	Env       map[string]string  `json:"env"`       // RANK, LOCAL_RANK, WORLD_SIZE where set
	// Paused: nothing was enabled at the start. What is recorded lies between
	// TypeWindow frames.
	Paused bool `json:"paused,omitempty"`
	// Segment counts the files of a spool of which only the newest are kept, from
	// 0; SegmentNS is when a later one was begun. What ended before is in earlier
	// ones. Each segment repeats all but the buffers.
	Segment   int   `json:"segment,omitempty"`
	SegmentNS int64 `json:"segment_ns,omitempty"`
}

// Clock is one reading of the clocks, taken together. A clock that cannot be
// read is 0.
type Clock struct {
	Realtime     int64  // ns
	Monotonic    int64  // ns
	MonotonicRaw int64  // ns
	TSC          uint64 // ticks
	Vendor       uint64 // the tracer's clock
}

// OwnThreadPrefix begins the names of the agent's own threads; IsOwnThread knows them.
const OwnThreadPrefix = "flagos-"

// IsOwnThread reports whether a thread of this name is the agent's. The prefix alone does
// not tell: a program may be called flagos-train.
func IsOwnThread(name string) bool {
	rest, ok := strings.CutPrefix(name, OwnThreadPrefix)
	return ok && (rest == "flush" || rest == "write" || rest == "ctl")
}

// Thread names a host thread. API calls recorded on the agent's own are not the
// program's.
type Thread struct {
	TID  int    `json:"tid"`
	Name string `json:"name"`
}

// Counters are totals since the start.
type Counters struct {
	BuffersRequested uint64 `json:"buffers_requested"`
	BuffersDelivered uint64 `json:"buffers_delivered"`
	// BuffersDiscarded counts requests answered with the discard buffer because
	// the pool was empty; what the library wrote there is lost.
	BuffersDiscarded uint64 `json:"buffers_discarded"`
	// BytesDiscarded counts valid bytes lost that way.
	BytesDiscarded uint64 `json:"bytes_discarded"`
	// BuffersForeign counts buffers of another profiler in the process that the
	// library handed to us; they are left alone.
	BuffersForeign uint64 `json:"buffers_foreign,omitempty"`
	// RecordsDropped is what the library says it lost, absent if it cannot say.
	RecordsDropped *uint64 `json:"records_dropped,omitempty"`
	// WriteErrors counts frames that could not be written (disk full).
	WriteErrors uint64 `json:"write_errors"`
	// BytesUnwritten counts buffer bytes lost that way.
	BytesUnwritten uint64 `json:"bytes_unwritten"`
	// BytesOverSize counts buffer bytes left out because the spool had the size
	// allowed.
	BytesOverSize uint64 `json:"bytes_over_max_size,omitempty"`
	// RingDropped counts bytes of old segments that were removed as asked.
	RingDropped uint64 `json:"ring_dropped_bytes,omitempty"`
	Flushes     uint64 `json:"flushes"`
	AgentCPUNS  int64  `json:"agent_cpu_ns"` // CPU time of the agent's own threads, ns
}

// Window marks the opening (Open) or closing of a recording window at a
// CLOCK_REALTIME time in nanoseconds.
type Window struct {
	Open bool  `json:"open"`
	NS   int64 `json:"ns"`
}

// End says how the traced process ended, as far as it could tell itself.
type End struct {
	Reason  string `json:"reason"` // "exit", "stop", "fork"
	NS      int64  `json:"ns"`     // CLOCK_REALTIME
	Flushed bool   `json:"flushed"`
}

// Buffer is the payload of a TypeBuffer frame.
type Buffer struct {
	Sequence uint64
	Forced   bool // delivered by the forced flush at the end
	Context  uint64
	Stream   uint32
	Data     []byte
}
