package chrome

import (
	"errors"
	"time"
)

// Compat chooses whose set of arguments a document has.
type Compat uint8

const (
	// CompatNone is the default: torch 2.11's arguments, the newer ones of
	// Kineto where the tracer reported them (graph id, channel, priority, the
	// occupancy object), the return value of API calls that failed, and
	// occupancy by the true shared-memory limit. What is not known is absent.
	CompatNone Compat = iota
	// CompatKineto writes exactly the arguments of torch 2.11, with Kineto's
	// numbers where they are known to be wrong: occupancy 0 for kernels above
	// 48 KiB of shared memory, -99 on unknown devices, -1 for unresolved waits.
	CompatKineto
)

// Options of writing. The zero value is good.
type Options struct {
	Compat Compat
	// Gzip compresses what Write writes. WriteFile goes by the file's ending.
	Gzip bool
	// RuntimeCategory, if it is set, is the category of calls of the runtime in place of
	// the one that goes with the tracer. It says nothing to a trace that was read.
	RuntimeCategory string
	// TraceName is the value of the document's traceName. WriteFile sets it to
	// the path if it is empty.
	TraceName string
	// Since, if it is set, has WriteFile fail with outfile.ErrTaken rather than
	// replace a file that came, or changed, after that time.
	Since time.Time
	// Workers is the number of goroutines that render and compress; 0 means as
	// many as there are processors.
	Workers int
}

// Stats says what was written.
type Stats struct {
	Events    uint64 // lines of traceEvents, flows and metadata events included
	Flows     uint64 // flow events among them
	Bytes     int64  // of JSON
	FileBytes int64  // as written, after compression
	// InvalidText counts the strings and argument lists in which bytes that are
	// not UTF-8 were replaced by U+FFFD, or text that is not JSON was mended.
	InvalidText uint64
}

// Errors that Scan wraps; test with errors.Is.
var (
	// ErrSyntax: the text is not a document of the Trace Event Format.
	ErrSyntax = errors.New("chrome: malformed trace")
	// ErrTruncated: the text ends before the document does. Everything that was
	// complete has been handed out.
	ErrTruncated = errors.New("chrome: trace ends early")
	// ErrTooLarge: one event or top-level member is larger than Scan will hold.
	ErrTooLarge = errors.New("chrome: value too large")
	// ErrTime: a ts or dur is not a decimal number that int64 nanoseconds hold.
	ErrTime = errors.New("chrome: bad time")
)
