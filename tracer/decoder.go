package tracer

import "github.com/flagos-ai/flagos-trace/event"

// Buffer is one buffer of activity records as the vendor library completed it.
type Buffer struct {
	Data []byte // the valid part
	// Offsets are the starts of the records in Data, in order, when the process
	// had to walk the buffer with the library's own iterator; nil otherwise.
	Offsets []uint32
	// Origin says where the bytes stand, for messages: file and offset.
	Origin string
	// Forced is set when the buffer came out of the forced flush at the end:
	// only then may a record without an end be one that was still running.
	Forced bool
}

// Decoder turns buffers into events. See the package comment for the order of
// calls. Implementations allocate nothing per record once they have warmed up.
type Decoder interface {
	// Stride tells the size in bytes that the library's own iterator showed for
	// records of a vendor kind.
	Stride(kind, bytes uint32)
	// Name tells the string behind a pointer that records may hold. A later call
	// for the same pointer replaces the string for the buffers that follow.
	Name(ptr uint64, name string)
	// CallbackName tells the library's own name of an API callback id.
	CallbackName(domain, id uint32, name string)
	// Decode calls emit for every activity in the buffer, in order. The Event is
	// reused. What cannot be decoded is counted in the Report; an error is
	// returned only when the rest of the buffer had to be given up.
	Decode(b Buffer, emit func(*event.Event)) error
	// Report says what was seen, skipped and mended so far.
	Report() Report
}

// Report is what a decoder saw. Counts are of records.
type Report struct {
	Library    string // name of the tracer: "cupti"
	APIVersion uint32
	Layout     string // "table", "learned", "mismatch"
	// Received counts the records turned into events, by event kind.
	Received [event.NumKinds]uint64
	// Skipped counts records stepped over because nothing asks for their kind,
	// by vendor kind.
	Skipped map[uint32]uint64
	// Dropped counts records that were implausible, by reason (the Drop
	// constants).
	Dropped map[string]uint64
	// Repaired counts records mended, by reason (the Repair constants).
	Repaired map[string]uint64
	// LostBytes counts bytes at the ends of buffers that could not be walked.
	LostBytes uint64
	// Buffers and Bytes count what was read.
	Buffers, Bytes uint64
	// Diagnoses are messages for people, each said once.
	Diagnoses []string
}

// Reasons for which a record is dropped. They are the keys of Report.Dropped
// and of the completeness record.
const (
	DropUntimed         = "untimed"          // no start time: the library had no room or was not asked
	DropNegative        = "negative"         // ends more than 1 ms before it starts
	DropTooLong         = "too_long"         // lasts over an hour
	DropNoName          = "no_name"          // a kernel whose name could not be read
	DropLayout          = "layout"           // the record's size is not the one of this library version
	DropForeignExternal = "foreign_external" // an external id of a stack nobody here pushes
	DropNoCallbackName  = "no_callback_name" // an API call whose name is not known
	DropFiltered        = "filtered_api"     // an API call that the level of API recording leaves out; not a loss
)

// Reasons for which a record was mended.
const (
	RepairClamped    = "clamped"    // ended up to 1 ms before it started: duration set to 0
	RepairIncomplete = "incomplete" // had begun and not ended when the buffers were forced out
	RepairInherited  = "inherited"  // an API call that repeated the correlation id of an earlier one of its thread: it has none now
	RepairUnnamed    = "unnamed"    // device work without a name, from a library that does not always have one
)
