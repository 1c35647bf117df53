package calltree

import (
	"cmp"
	"math"
	"slices"

	"github.com/flagos-ai/flagos-trace/internal/hugepage"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// nest makes the nodes, of several threads at a time, and says which have ids.
func (x *Tree) nest() *ids {
	class, inRow := x.classify()
	lists := x.rowLists(class, inRow)
	joined := x.joinStrayPython(lists, class)

	total := 0
	var threads []*thread
	for row, list := range lists {
		if len(list) > 0 {
			threads = append(threads, &thread{Tree: x, row: uint32(row), list: list, at: Node(total)})
			x.rows, x.first = append(x.rows, uint32(row)), append(x.first, Node(total))
			total += len(list)
		}
	}
	x.first = append(x.first, Node(total))
	x.parent, x.end, x.inOp = hugepage.Make[Node](total), hugepage.Make[Node](total), hugepage.Make[Node](total)
	x.class, x.scope, x.covered = hugepage.Make[Class](total), hugepage.Make[int32](total), hugepage.Make[int64](total)
	if joined {
		x.event = hugepage.Make[uint32](total)
	}
	of := &ids{kept: hugepage.Make[kept](total)}
	inParallel(len(threads), func(i int) int { return -len(threads[i].list) }, func(i int) {
		t := threads[i]
		x.sortSpans(t.list, class)
		if joined {
			copy(x.event[t.at:], t.list)
		}
		t.nest(class, of.kept)
	})
	for _, t := range threads {
		for k := range of.ranges {
			of.ranges[k].join(t.ids[k])
		}
	}
	x.gather(threads)
	return of
}

// gather puts together what was learned of each thread.
func (x *Tree) gather(threads []*thread) {
	x.scopes = []scope{{None, None, None}}
	x.opsOnRow = map[uint32]bool{}
	for _, t := range threads {
		// Scopes of a thread count from 1 on: 0 is the one outside of all.
		if more := int32(len(x.scopes) - 1); more > 0 && len(t.scopes) > 1 {
			for n := t.at; n < t.at+Node(len(t.list)); n++ {
				if x.scope[n] > 0 {
					x.scope[n] += more
				}
			}
		}
		x.scopes = append(x.scopes, t.scopes[1:]...)
		x.steps = append(x.steps, t.steps...)
		for c, n := range t.counts {
			x.counts[c] += n
		}
		if !t.hasOps {
			continue
		}
		x.opsOnRow[t.row] = true
		if !x.hasHost {
			x.hasHost, x.opsSpan = true, t.opsSpan
		}
		x.opsSpan.Start, x.opsSpan.End = min(x.opsSpan.Start, t.opsSpan.Start), max(x.opsSpan.End, t.opsSpan.End)
	}
	slices.SortFunc(x.steps, func(a, b Node) int { return cmp.Compare(x.At(a).Start, x.At(b).Start) })
}

// open is a span that has begun.
type open struct {
	node    Node
	op      Node  // the innermost operator at or around it
	scope   int32 // in thread.scopes
	end     int64
	to      int64 // children cover it up to here
	covered int64
}

// thread is a row while its nodes are made, and what is learned of it.
type thread struct {
	*Tree
	row     uint32
	list    []uint32 // its spans
	at      Node     // its first node
	scopes  []scope
	steps   []Node
	counts  [NumClasses]int
	ids     [numKept]idRange
	hasOps  bool
	opsSpan timeline.Window
}

// nest makes the nodes of the thread's spans, which are in order.
func (t *thread) nest(class []Class, kept []kept) {
	x := t.Tree
	t.scopes = []scope{{None, None, None}}
	// The lowest one never ends, and stands for no node. Fields are written where they
	// stand: a processor waits for what is stored in parts and copied as a whole.
	stack := make([]open, 64)
	stack[0] = open{node: None, op: None, end: math.MaxInt64}
	depth := 0
	for k, i := range t.list {
		e := x.t.Events.At(i)
		n := t.at + Node(k)
		middle := e.Start + e.Duration()/2
		p := &stack[depth]
		for p.end <= middle && depth > 0 {
			x.end[p.node], x.covered[p.node] = n, p.covered
			depth--
			p = &stack[depth]
		}
		if from, to := max(e.Start, p.to), min(e.End, p.end); to > from {
			p.covered += to - from
			p.to = to
		}
		c, parent, op, in := class[i], p.node, p.op, p.scope
		switch c {
		case Operator:
			op = n
			if !t.hasOps {
				t.hasOps, t.opsSpan = true, timeline.Window{Start: e.Start, End: e.End}
			}
			t.opsSpan.Start, t.opsSpan.End = min(t.opsSpan.Start, e.Start), max(t.opsSpan.End, e.End)
		case Step:
			t.steps = append(t.steps, n)
			fallthrough
		case Module, Annotation:
			in = t.innerScope(in, n, c)
		}
		if is, id := keptOf(c, e); is != noID {
			kept[n] = is
			t.ids[is].see(id)
		}
		t.counts[c]++
		x.of[i] = int32(n) + 1
		x.parent[n], x.class[n], x.inOp[n], x.scope[n] = parent, c, op, in
		if depth++; depth == len(stack) {
			stack = append(stack, stack...)
		}
		o := &stack[depth]
		o.node, o.op, o.scope = n, op, in
		o.end, o.to, o.covered = e.End, e.Start, 0
	}
	for _, o := range stack[1 : depth+1] {
		x.end[o.node], x.covered[o.node] = t.at+Node(len(t.list)), o.covered
	}
}

// innerScope returns the scope inside a node of a class, within another.
func (t *thread) innerScope(in int32, n Node, c Class) int32 {
	s := t.scopes[in]
	switch c {
	case Module:
		s.module = n
	case Annotation:
		s.annotation = n
	case Step:
		s.step = n
	}
	t.scopes = append(t.scopes, s)
	return int32(len(t.scopes) - 1)
}
