package correlate

import (
	"math"
	"slices"

	"github.com/flagos-ai/flagos-trace/timeline"
)

const (
	categoryOperator   = "cpu_op"
	categoryAnnotation = "user_annotation"
)

// byID finds host events by their external id. An id may stand for several, where
// each session of the host side counts anew: then time decides.
type byID struct {
	// Ids are counted up, so that those of one process lie close together: dense holds
	// event + 1 by id - least. Where they do not, one holds them.
	least int64
	dense []uint32
	one   map[int64]uint32
	many  map[int64][]uint32 // in the order of the trace; for those of several
	n     int
}

// maxSparse is how many places a dense table may have for each id.
const maxSparse = 8

// newByID prepares for n ids from least to most.
func newByID(n int, least, most int64) *byID {
	if n > 0 && uint64(most)-uint64(least) < uint64(n)*maxSparse+1<<16 {
		return &byID{least: least, dense: make([]uint32, most-least+1)}
	}
	return &byID{one: make(map[int64]uint32, n)}
}

// get returns the first event with an id.
func (x *byID) get(id int64) (uint32, bool) {
	if x.dense == nil {
		at, ok := x.one[id]
		return at, ok
	}
	i := uint64(id) - uint64(x.least)
	if i >= uint64(len(x.dense)) || x.dense[i] == 0 {
		return 0, false
	}
	return x.dense[i] - 1, true
}

func (x *byID) add(id int64, event uint32) {
	old, ok := x.get(id)
	switch {
	case ok:
		if x.many == nil {
			x.many = map[int64][]uint32{}
		}
		if x.many[id] == nil {
			x.many[id] = []uint32{old}
		}
		x.many[id] = append(x.many[id], event)
		return
	case x.dense == nil:
		x.one[id] = event
	default:
		x.dense[uint64(id)-uint64(x.least)] = event + 1
	}
	x.n++
}

// hostIndex is what the joins ask of the host's events.
type hostIndex struct {
	operators, annotations *byID
}

// hosts returns the index of the host's events, which is made once and again
// after they were moved.
func (b *Builder) hosts() *hostIndex {
	if b.index != nil {
		return b.index
	}
	operator, annotation := b.t.Strings.ID(categoryOperator), b.t.Strings.ID(categoryAnnotation)
	b.index = &hostIndex{
		operators:   b.indexIDs(func(e *timeline.Event) bool { return e.Category == operator }),
		annotations: b.indexIDs(func(e *timeline.Event) bool { return e.Category == annotation }),
	}
	return b.index
}

// indexIDs indexes the host events that have an external id and are wanted.
func (b *Builder) indexIDs(want func(*timeline.Event) bool) *byID {
	each := func(fn func(i uint32, id int64)) {
		for i := range b.first {
			if e := b.t.Events.At(i); e.Kind == timeline.Host && e.Flags&timeline.HasExternal != 0 && want(e) {
				fn(i, e.External)
			}
		}
	}
	n, least, most := 0, int64(math.MaxInt64), int64(math.MinInt64)
	each(func(_ uint32, id int64) { n, least, most = n+1, min(least, id), max(most, id) })
	x := newByID(n, least, most)
	each(func(i uint32, id int64) { x.add(id, i) })
	return x
}

// named returns the host event with an id; of several the one around time t, or
// the nearest.
func (b *Builder) named(x *byID, id int64, t int64) (uint32, bool) {
	best, ok := x.get(id)
	if !ok || len(x.many) == 0 {
		return best, ok
	}
	many := x.many[id]
	if len(many) == 0 {
		return best, true
	}
	away := func(i uint32) int64 {
		e := b.t.Events.At(i)
		return max(e.Start-t, t-e.End, 0)
	}
	return slices.MinFunc(many, func(a, c uint32) int {
		return int(min(max(away(a)-away(c), -1), 1))
	}), true
}
