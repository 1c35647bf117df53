package correlate

import (
	"cmp"
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
	many  map[int64]*several // for those of several
	n     int
}

// several are the events of one id, by start. last is, for each, the one of those
// up to it that ends last, so that the nearest is found without looking at all.
type several struct {
	events, last []uint32
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
			x.many = map[int64]*several{}
		}
		if x.many[id] == nil {
			x.many[id] = &several{events: []uint32{old}}
		}
		x.many[id].events = append(x.many[id].events, event)
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
	for _, m := range x.many {
		b.arrange(m)
	}
	return x
}

// arrange puts events in order.
func (b *Builder) arrange(m *several) {
	at := b.t.Events.At
	b.inOrder(m.events, func(x, y uint32) int {
		return cmp.Or(cmp.Compare(at(x).Start, at(y).Start), cmp.Compare(x, y))
	})
	m.last = make([]uint32, len(m.events))
	for i, e := range m.events {
		m.last[i] = e
		if i > 0 && at(m.last[i-1]).End > at(e).End {
			m.last[i] = m.last[i-1]
		}
	}
}

// named returns the host event with an id; of several the one around time t, or
// the nearest.
func (b *Builder) named(x *byID, id int64, t int64) (uint32, bool) {
	best, ok := x.get(id)
	if !ok || len(x.many) == 0 {
		return best, ok
	}
	m := x.many[id]
	if m == nil {
		return best, true
	}
	at := b.t.Events.At
	// The first that starts behind t.
	i, _ := slices.BinarySearchFunc(m.events, t, func(e uint32, t int64) int {
		if at(e).Start <= t {
			return -1
		}
		return 1
	})
	switch {
	case i == 0:
		return m.events[0], true
	case i == len(m.events) || t <= at(m.last[i-1]).End || t-at(m.last[i-1]).End <= at(m.events[i]).Start-t:
		return m.last[i-1], true
	}
	return m.events[i], true
}
