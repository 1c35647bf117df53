package agent

import (
	"time"

	"github.com/flagos-ai/flagos-trace/spool"
	"github.com/flagos-ai/flagos-trace/tracer"
)

// Shim is the C side of the agent.
type Shim interface {
	tracer.Shim
	// Open maps the buffer pool and registers the exit handler; false means that
	// there is no pool and everything will be discarded.
	Open(blockBytes, blocks int, exitTimeout time.Duration) bool
	// Warm has the system provide the memory of the first buffers, which are asked
	// for while the program starts up: page by page it would take milliseconds of
	// the program's threads. Called by the writer as it begins.
	Warm()
	// SetActive tells the C interface whether records are taken: while armed.
	SetActive(bool)
	// SetForced marks the buffers completed from now on as forced out.
	SetForced(bool)
	// Take returns the oldest completed block, Release gives it back. Called by
	// the writer alone.
	Take() (Block, bool)
	Release(Block)
	Counts() Counts
	// Wait sleeps until Wake or the timeout; one thread a Waiter.
	Wait(Waiter, time.Duration)
	Wake(Waiter)
	// Exiting reports whether the exit handler is waiting; ExitDone lets it go.
	Exiting() bool
	ExitDone()
	// Clock reads the clocks together; Vendor is left 0.
	Clock() spool.Clock
	// Quiet blocks all signals but faults on the calling thread, and names it.
	Quiet(name string)
	// EnterVendor and LeaveVendor stand round every call of the vendor library
	// made by the flusher: a fork waits for the end of it, bounded, and holds off
	// the next; and a fault in the library ends the process without a report of
	// Go's. Not one within another.
	EnterVendor()
	LeaveVendor()
	// RegisterExit registers the exit handler anew, once, after the first buffer
	// was requested; until then it does nothing. Called by the flusher each time
	// it wakes: it is woken at that first request.
	RegisterExit()
	// Chain calls the initialization function of another injection library with
	// the signal mask the program called with.
	Chain(fn uintptr) int32
	// Spare returns the ids of the threads that were put aside for the Go runtime
	// and are not used yet. They are the agent's own, and the next that the runtime
	// makes.
	Spare() []int
	// Marked reports whether every thread that the runtime makes is kept from taking
	// signals a program may wait for. Where the program has taken the signal which
	// that is done by, they are not.
	Marked() bool
	// Park blocks the calling thread for ever: a thread that ended would run the
	// vendor's destructors while the driver is being torn down.
	Park()
}

// Waiter is a thread of the agent that can be woken.
type Waiter int

// The threads of the agent. The numbers are those of the C side.
const (
	Flusher Waiter = 0
	Writer  Waiter = 1
)

// Block is a completed buffer of the pool. Its data are C memory, valid until
// Release.
type Block struct {
	Index uint32
	spool.Buffer
}

// Counts are totals of the pool; see spool.Counters.
type Counts struct {
	Requested, Delivered, Discarded, DiscardedBytes, Foreign uint64
}
