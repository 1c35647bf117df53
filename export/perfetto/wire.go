package perfetto

import (
	"encoding/binary"
	"math"
)

// Fields of the messages that are written, by Perfetto's numbers.
const (
	fieldPacket = 1 // of the file

	// TracePacket
	packetClocks     = 6
	packetTime       = 8
	packetSequence   = 10
	packetEvent      = 11
	packetInterned   = 12
	packetFlags      = 13
	packetDescriptor = 60

	// ClockSnapshot, and its Clock
	snapshotClock = 1
	clockID       = 1
	clockTime     = 2

	// TrackEvent
	eventCategory    = 3
	eventAnnotation  = 4
	eventType        = 9
	eventName        = 10
	eventTrack       = 11
	eventCounter     = 30
	eventDouble      = 44
	eventFlow        = 47
	eventFlowEnds    = 48
	typeBegin        = 1
	typeEnd          = 2
	typeInstant      = 3
	typeCounter      = 4
	sequence         = 1
	stateCleared     = 1
	needsState       = 2
	clockRealtime    = 1
	clockBoottime    = 6
	orderExplicit    = 3
	annotationName   = 1
	annotationBool   = 2
	annotationInt    = 4
	annotationDouble = 5
	annotationText   = 6
	annotationIID    = 17

	// InternedData, and its entries
	internedCategory   = 1
	internedName       = 2
	internedAnnotation = 3
	internedText       = 29
	entryID            = 1
	entryText          = 2

	// TrackDescriptor
	trackID       = 1
	trackName     = 2
	trackProcess  = 3
	trackThread   = 4
	trackParent   = 5
	trackCounter  = 8
	trackOrdering = 11
	trackRank     = 12

	processID    = 1
	processName  = 6
	processLabel = 8
	threadPID    = 1
	threadTID    = 2
	threadName   = 5
)

// Wire types.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
)

func appendUint(b []byte, field int, v uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(field)<<3|wireVarint), v)
}

func appendInt(b []byte, field int, v int64) []byte { return appendUint(b, field, uint64(v)) }

func appendFixed(b []byte, field int, v uint64) []byte {
	return binary.LittleEndian.AppendUint64(binary.AppendUvarint(b, uint64(field)<<3|wireFixed64), v)
}

func appendDouble(b []byte, field int, v float64) []byte {
	return appendFixed(b, field, math.Float64bits(v))
}

// appendBytes appends a text, or a message that is complete.
func appendBytes[T string | []byte](b []byte, field int, v T) []byte {
	b = binary.AppendUvarint(b, uint64(field)<<3|wireBytes)
	return append(binary.AppendUvarint(b, uint64(len(v))), v...)
}
