package calltree

import (
	"cmp"
	"slices"

	"github.com/flagos-ai/flagos-trace/internal/hugepage"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// nest makes the nodes, of several threads at a time.
func (x *Tree) nest() {
	class := x.classify()
	lists := x.rowLists(class)
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
	inParallel(len(threads), func(i int) int { return -len(threads[i].list) }, func(i int) {
		t := threads[i]
		x.sortSpans(t.list, class)
		if joined {
			copy(x.event[t.at:], t.list)
		}
		t.nest(class)
	})
	x.gather(threads)
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
	node Node
	end  int64
	to   int64 // children cover it up to here
}

// thread is a row while its nodes are made, and what is learned of it.
type thread struct {
	*Tree
	row     uint32
	list    []uint32 // its spans
	at      Node     // its first node
	scopes  []scope
	steps   []Node
	hasOps  bool
	opsSpan timeline.Window
}

// nest makes the nodes of the thread's spans, which are in order.
func (t *thread) nest(class []Class) {
	x := t.Tree
	t.scopes = []scope{{None, None, None}}
	var stack []open
	for k, i := range t.list {
		e := x.t.Events.At(i)
		n := t.at + Node(k)
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
		c := class[i]
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
		x.nodeOf[i] = n
		x.parent[n], x.class[n], x.inOp[n], x.scope[n] = parent, c, op, in
		stack = append(stack, open{node: n, end: e.End, to: e.Start})
	}
	for _, o := range stack {
		x.end[o.node] = t.at + Node(len(t.list))
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
