package validate

import "github.com/flagos-ai/flagos-trace/internal/hugepage"

// record is one event in columns' stead: what the rules between events need.
// Times are in ns.
type record struct {
	ts, dur int64
	offset  int64
	// id is the correlation id of a span, the id of an arrow, and the sequence
	// number of an operator.
	id    int64
	ext   int64
	index uint32 // in traceEvents
	name  uint32
	row   uint32
	side  uint32 // index plus one of what only some kinds have: device arguments, synchronizations
	flags uint32
	cat   uint16
	ph    byte
	kind  kind
}

// The flags of a record.
const (
	hasTS uint32 = 1 << iota
	hasDur
	hasID
	hasExt
	hasSeq
	hasCbid
	hasCid
	hasBindE      // "bp": "e"
	hasCollective // the key "Collective name"
	hasComms      // all five keys of a collective
	hasGrid
	hasFwdThread
)

func (r *record) end() int64 { return r.ts + r.dur }

// pageBits makes pages of 4096 elements: 256 KiB of records.
const pageBits = 12

// paged is a list in pages, so that it grows without being copied.
type paged[T any] struct {
	pages [][]T
	n     int
}

func (t *paged[T]) at(i uint32) *T { return &t.pages[i>>pageBits][i&(1<<pageBits-1)] }

// add appends a copy of v and returns its place.
func (t *paged[T]) add(v *T) *T {
	if t.n>>pageBits == len(t.pages) {
		t.pages = append(t.pages, hugepage.Make[T](1<<pageBits))
	}
	p := &t.pages[t.n>>pageBits][t.n&(1<<pageBits-1)]
	*p = *v
	t.n++
	return p
}

// device holds the arguments of a kernel, a copy or a set.
type device struct {
	mask, bad     uint64 // arguments that are there, that have the wrong type
	device        int64
	stream        int64
	bytes         int64
	queued        int64
	priority      int64
	bandwidth     float64
	blocks, warps float64
	grid, block   [3]int32
	regs, smem    int32
	occ           int32
}

// sync holds the arguments of a synchronization.
type syncArgs struct {
	mask  uint64
	kind  syncKind
	waits int64 // correlation id of the event record waited for
}

type syncKind uint8

const (
	syncOther syncKind = iota
	syncStreamWait
	syncEvent
	syncStream
)
