package calltree

import (
	"cmp"
	"slices"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// nest makes the nodes.
func (x *Tree) nest() {
	n := uint32(x.t.Events.Len())
	x.nodeOf = make([]Node, n)
	classes := newClassifier(x.t)
	rowsOf := newRowLists(len(x.t.Rows))
	class := make([]Class, n)
	for i := range n {
		c := classes.class(i)
		class[i] = c
		x.nodeOf[i] = None
		if c != none {
			rowsOf.count(x.t.Events.At(i).Row)
		}
	}
	total := rowsOf.allocate()
	for i := range n {
		if class[i] != none {
			rowsOf.add(x.t.Events.At(i).Row, i)
		}
	}
	lists := rowsOf.lists()
	joined := x.joinStrayPython(lists, class)

	// The nodes of a row take the place of its list, unless lists were joined.
	x.event = rowsOf.all[:0]
	if joined {
		x.event = make([]uint32, 0, total)
	}
	x.parent = make([]Node, 0, total)
	x.end = make([]Node, total)
	x.class = make([]Class, 0, total)
	x.inOp = make([]Node, 0, total)
	x.scope = make([]int32, 0, total)
	x.scopes = []scope{{None, None, None}}
	x.covered = make([]int64, total)
	x.opsOnRow = map[uint32]bool{}
	var stack []open
	for row, list := range lists {
		if len(list) == 0 {
			continue
		}
		x.sortSpans(list, class)
		x.rows = append(x.rows, uint32(row))
		x.first = append(x.first, Node(len(x.event)))
		stack = x.nestRow(list, class, stack[:0])
	}
	x.first = append(x.first, Node(len(x.event)))
	slices.SortFunc(x.steps, func(a, b Node) int { return cmp.Compare(x.At(a).Start, x.At(b).Start) })
}

// open is a span that has begun.
type open struct {
	node Node
	end  int64
	to   int64 // children cover it up to here
}

// nestRow makes the nodes of one row's spans, which are in order.
func (x *Tree) nestRow(list []uint32, class []Class, stack []open) []open {
	for _, i := range list {
		e := x.t.Events.At(i)
		n := Node(len(x.event))
		middle := e.Start + e.Duration()/2
		for len(stack) > 0 && stack[len(stack)-1].end <= middle {
			x.end[stack[len(stack)-1].node] = n
			stack = stack[:len(stack)-1]
		}
		parent, op, in := None, None, int32(0)
		if k := len(stack) - 1; k >= 0 {
			p := &stack[k]
			parent, op, in = p.node, x.inOp[p.node], x.scope[p.node]
			if from, to := max(e.Start, p.to), min(e.End, p.end); to > from {
				x.covered[p.node] += to - from
				p.to = to
			}
		}
		x.nodeOf[i] = n
		x.event = append(x.event, i)
		x.parent = append(x.parent, parent)
		x.class = append(x.class, class[i])
		switch class[i] {
		case Operator:
			op = n
		case Module, Annotation, Step:
			in = x.innerScope(in, n, class[i])
		}
		x.inOp, x.scope = append(x.inOp, op), append(x.scope, in)
		stack = append(stack, open{node: n, end: e.End, to: e.Start})
		switch class[i] {
		case Operator:
			if !x.hasHost {
				x.hasHost = true
				x.opsSpan = timeline.Window{Start: e.Start, End: e.End}
			}
			x.opsSpan.Start, x.opsSpan.End = min(x.opsSpan.Start, e.Start), max(x.opsSpan.End, e.End)
			x.opsOnRow[e.Row] = true
		case Step:
			x.steps = append(x.steps, n)
		}
	}
	for _, o := range stack {
		x.end[o.node] = Node(len(x.event))
	}
	return stack
}

// innerScope returns the scope inside a node of a class, within another.
func (x *Tree) innerScope(in int32, n Node, c Class) int32 {
	s := x.scopes[in]
	switch c {
	case Module:
		s.module = n
	case Annotation:
		s.annotation = n
	case Step:
		s.step = n
	}
	x.scopes = append(x.scopes, s)
	return int32(len(x.scopes) - 1)
}

// rowLists sorts events by row into one array.
type rowLists struct {
	n, at []int
	all   []uint32
}

func newRowLists(rows int) *rowLists { return &rowLists{n: make([]int, rows), at: make([]int, rows)} }

func (r *rowLists) count(row uint32) { r.n[row]++ }

func (r *rowLists) allocate() (total int) {
	for row, n := range r.n {
		r.at[row] = total
		total += n
	}
	r.all = make([]uint32, total)
	return total
}

func (r *rowLists) add(row, event uint32) {
	r.all[r.at[row]] = event
	r.at[row]++
}

func (r *rowLists) lists() [][]uint32 {
	lists := make([][]uint32, len(r.n))
	for row, n := range r.n {
		lists[row] = r.all[r.at[row]-n : r.at[row] : r.at[row]]
	}
	return lists
}
