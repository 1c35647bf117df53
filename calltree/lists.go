package calltree

import (
	"slices"

	"github.com/flagos-ai/flagos-trace/internal/hugepage"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// classify says what each event is, lists the device work, and marks what is no node.
func (x *Tree) classify() []Class {
	n := x.t.Events.Len()
	class := hugepage.Make[Class](n)
	x.nodeOf = hugepage.Make[Node](n)
	works := make([][]uint32, pieces(n))
	eachPiece(n, func(k, from, to int) {
		c := newClassifier(x.t)
		for i := uint32(from); i < uint32(to); i++ {
			class[i] = c.class(i)
			x.nodeOf[i] = None
			if class[i] == none && x.isWork(i) {
				works[k] = append(works[k], i)
			}
		}
	})
	x.work = slices.Concat(works...)
	return class
}

// isWork reports whether an event is a span of device work.
func (x *Tree) isWork(i uint32) bool {
	e := x.t.Events.At(i)
	return e.Kind.OnDevice() && e.Flags&timeline.Instant == 0 && (x.t.Source == nil || x.t.Source.Events.At(i).Phase == 0)
}

// rowLists lists the events that are nodes by row, one row behind the other in one
// array, which becomes the list of the nodes' events.
func (x *Tree) rowLists(class []Class) [][]uint32 {
	rows, n := len(x.t.Rows), len(class)
	// By piece of the trace and row: how many there are, then where they go.
	at := make([][]int, pieces(n))
	eachPiece(n, func(k, from, to int) {
		at[k] = make([]int, rows)
		for i := from; i < to; i++ {
			if class[i] != none {
				at[k][x.t.Events.At(uint32(i)).Row]++
			}
		}
	})
	total := 0
	begins := make([]int, rows+1)
	for row := range rows {
		begins[row] = total
		for k := range at {
			at[k][row], total = total, total+at[k][row]
		}
	}
	begins[rows] = total
	x.event = hugepage.Make[uint32](total)
	eachPiece(n, func(k, from, to int) {
		for i := from; i < to; i++ {
			if class[i] != none {
				to := &at[k][x.t.Events.At(uint32(i)).Row]
				x.event[*to] = uint32(i)
				*to++
			}
		}
	})
	lists := make([][]uint32, rows)
	for row := range rows {
		lists[row] = x.event[begins[row]:begins[row+1]:begins[row+1]]
	}
	return lists
}
