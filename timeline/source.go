package timeline

// Source is what a trace that was read from a document has beyond a recorded
// one: what is needed to write the document again with nothing else changed,
// and to say where something stood.
//
// In a trace with a Source, arguments are kept as they stood, "External id"
// included; the typed tables (Kernels, Copies, ...) hold what could be
// understood of them. Metadata then has every top-level member of the document,
// in order, but for traceEvents.
type Source struct {
	// Events stands parallel to Trace.Events, Flows to Trace.Flows.
	Events Sparse[SourceEvent]
	Flows  Blocks[SourceFlow]
	// Base is baseTimeNanoseconds, which is added to the times of the document.
	Base    int64
	HasBase bool
	// Whole: no time of the document has decimals, so that all are rounded to
	// microseconds.
	Whole bool
	// Array: the document is a bare array of events.
	Array bool
	// EventsAt is the index in Metadata of the member behind traceEvents.
	EventsAt int
	// FlowName and FlowCategory, in Trace.Strings, are what the document calls
	// the arrows that FlowOut and FlowIn stand for.
	FlowName, FlowCategory uint32
}

// SourceEvent is what an event that was read has beyond its columns.
type SourceEvent struct {
	Args uint32 // in Trace.Args: the arguments as they stood
	// Fields, in Trace.Strings, are the members of the event that no column holds,
	// as raw JSON members without braces: "tts", "cname", an asynchronous
	// event's id.
	Fields     uint32
	offsetLow  uint32
	offsetHigh uint16
	// Phase is the event's phase where it is neither a span nor an instant: 'C',
	// 'b', 'n', 'e', 'N', 'O', 'D', 'M' and what else the format has; else 0. An event
	// that has one is of the kind Other.
	Phase byte
}

// Offset returns the byte offset of the event in the text of its document, after
// decompression.
func (s *SourceEvent) Offset() int64 { return int64(s.offsetHigh)<<32 | int64(s.offsetLow) }

// SetOffset sets the byte offset, below 2^48.
func (s *SourceEvent) SetOffset(n int64) {
	s.offsetLow, s.offsetHigh = uint32(n), uint16(n>>32)
}

// SourceFlow is what an end of an arrow that was read has beyond its columns.
type SourceFlow struct {
	Offset int64  // of its event in the text of the document, bytes
	Fields uint32 // in Trace.Strings; see SourceEvent. An id that is no number stands here
}

// RawArgs returns the raw members of the arguments of event i where the trace
// keeps them: of any event of a trace that was read, of host events of others.
func (t *Trace) RawArgs(i uint32) []byte {
	if t.Source != nil {
		return t.Args.At(t.Source.Events.At(i).Args)
	}
	if e := t.Events.At(i); e.Kind == Host || e.Kind == Other {
		return t.Args.At(e.Detail)
	}
	return nil
}
