package calltree

import (
	"slices"

	"github.com/flagos-ai/flagos-trace/internal/hugepage"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// classify says what each event is, lists the device work, and marks what is no node.
// inRow is by piece of the trace and row how many nodes there are.
func (x *Tree) classify() (class []Class, inRow [][]int) {
	n := x.t.Events.Len()
	class = hugepage.Make[Class](n)
	inRow = make([][]int, pieces(n))
	x.of = hugepage.Make[int32](n)
	works := make([][]uint32, pieces(n))
	eachPiece(n, func(k, from, to int) {
		c := newClassifier(x.t)
		count := make([]int, len(x.t.Rows))
		inRow[k] = count
		for i := uint32(from); i < uint32(to); i++ {
			e := x.t.Events.At(i)
			class[i] = c.class(i, e)
			switch {
			case class[i] != none:
				count[e.Row]++
			case e.Kind.OnDevice() && e.Flags&timeline.Instant == 0:
				works[k] = append(works[k], i)
			}
		}
	})
	x.work = slices.Concat(works...)
	return class, inRow
}

// rowLists lists the events that are nodes by row, one row behind the other in one
// array, which becomes the list of the nodes' events. at is what classify counted; it
// becomes where the next one goes.
func (x *Tree) rowLists(class []Class, at [][]int) [][]uint32 {
	rows, n := len(x.t.Rows), len(class)
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
