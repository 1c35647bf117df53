package event

// CopyKind is the direction of a copy. The values are CUPTI's, which the other
// vendors follow; the texts are the ones Kineto prints.
type CopyKind uint8

var copyNames = [...]string{"", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"}

// String returns "HtoD" and the like, "<unknown>" for a value outside the table.
func (k CopyKind) String() string {
	if k > 0 && int(k) < len(copyNames) {
		return copyNames[k]
	}
	return "<unknown>"
}

// MemoryKind is the kind of memory a copy or fill touched. Values as CUPTI's.
type MemoryKind uint8

var memoryNames = [...]string{"Unknown", "Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static"}

// String returns Kineto's text, "Unrecognized" for a value outside the table.
func (m MemoryKind) String() string {
	if int(m) < len(memoryNames) {
		return memoryNames[m]
	}
	return "Unrecognized"
}

// SyncKind says what waited for what. Values as CUPTI's.
type SyncKind uint8

// Kinds of synchronization.
const (
	SyncUnknown     SyncKind = iota
	EventSync                // the host waited for an event
	StreamWaitEvent          // a stream waits for an event
	StreamSync               // the host waited for a stream
	ContextSync              // the host waited for a context
)

var syncNames = [...]string{"Unknown Sync", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync"}

// String returns Kineto's text for the kind.
func (s SyncKind) String() string {
	if int(s) < len(syncNames) {
		return syncNames[s]
	}
	return syncNames[SyncUnknown]
}

// ExternalKind says which stack of external ids a record speaks of.
type ExternalKind uint8

// Stacks of external ids. PyTorch pushes operator ids on the first custom stack
// and annotation (record_function) ids on the second.
const (
	ExternalOther ExternalKind = iota
	ExternalOperator
	ExternalAnnotation
)

// MarkerPhase says what a marker marks.
type MarkerPhase uint8

// Phases of markers.
const (
	MarkerInstant MarkerPhase = iota
	MarkerBegin
	MarkerEnd
)

// AppendCopyName appends the name traces show a copy by: "Memcpy HtoD (Pageable ->
// Device)".
func AppendCopyName(text []byte, k CopyKind, src, dst MemoryKind) []byte {
	text = append(append(text, "Memcpy "...), k.String()...)
	text = append(append(text, " ("...), src.String()...)
	text = append(append(text, " -> "...), dst.String()...)
	return append(text, ')')
}

// AppendFillName appends the name traces show a fill by: "Memset (Device)".
func AppendFillName(text []byte, dst MemoryKind) []byte {
	return append(append(append(text, "Memset ("...), dst.String()...), ')')
}
