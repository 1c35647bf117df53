package calltree

import (
	"iter"
	"sync"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// Node numbers a span of a host thread in a Tree, from 0 on.
type Node int32

// None stands for a node that is not there.
const None Node = -1

// Work numbers a device event in a Tree, from 0 on, in the order of the trace.
type Work int32

// NoWork stands for device work that is not there.
const NoWork Work = -1

// Tree holds the call forests of a trace and whose the device's work is. See the
// package comment. It must not be changed, nor the trace it was made of.
type Tree struct {
	t *timeline.Trace

	// By node.
	event   []uint32
	parent  []Node
	end     []Node
	class   []Class
	inOp    []Node  // the innermost operator at or around it
	scope   []int32 // in scopes
	covered []int64 // ns

	scopes []scope
	of     []int32  // by event of the trace: 1 + the node it is, or -1 - the work; 0 for neither
	rows   []uint32 // that have nodes, in their order
	first  []Node   // by entry of rows: its first node; and one more

	// By work.
	work     []uint32 // event
	call     []Node
	operator []Node
	why      []reason

	byOwner  []Work     // works by operator, then in order; those without stand first
	ownerAt  []int32    // by node + 1: where its works begin in byOwner; and one more
	before   []int64    // by place in byOwner: the device time of those before it, ns; and one more
	forward  []backward // in the order of nodes
	steps    []Node     // in the order of their starts
	counts   [NumClasses]int
	hasHost  bool
	opsOnRow map[uint32]bool
	opsSpan  timeline.Window
}

// scope is what few nodes are and many lie in: the innermost of each.
type scope struct{ module, annotation, step Node }

// New builds the tree of a trace.
func New(t *timeline.Trace) *Tree {
	x := &Tree{t: t}
	ids := x.nest()
	var group sync.WaitGroup
	group.Go(x.linkForward)
	x.link(ids)
	x.sum()
	group.Wait()
	return x
}

// Trace returns the trace the tree was made of.
func (x *Tree) Trace() *timeline.Trace { return x.t }

// Len returns the number of nodes.
func (x *Tree) Len() int { return len(x.event) }

// Count returns the number of nodes of a class.
func (x *Tree) Count(c Class) int { return x.counts[c] }

// Nodes yields all nodes: thread by thread, a node before those inside it, and
// otherwise in the order of their starts.
func (x *Tree) Nodes() iter.Seq[Node] {
	return func(yield func(Node) bool) {
		for n := range Node(len(x.event)) {
			if !yield(n) {
				return
			}
		}
	}
}

// Threads yields the rows, in Trace.Rows, that have nodes, with the first of their
// nodes and the one behind the last.
func (x *Tree) Threads() iter.Seq2[uint32, [2]Node] {
	return func(yield func(uint32, [2]Node) bool) {
		for i, row := range x.rows {
			if !yield(row, [2]Node{x.first[i], x.first[i+1]}) {
				return
			}
		}
	}
}

// Event returns the index of the node's span in Trace.Events.
func (x *Tree) Event(n Node) uint32 { return x.event[n] }

// At returns the node's span.
func (x *Tree) At(n Node) *timeline.Event { return x.t.Events.At(x.event[n]) }

// Of returns the node of an event of the trace, None if it is none.
func (x *Tree) Of(event uint32) Node { return Node(max(0, x.of[event])) - 1 }

// Name returns the name of the node's span.
func (x *Tree) Name(n Node) string { return x.t.Strings.At(x.At(n).Name) }

// Class says what a node is.
func (x *Tree) Class(n Node) Class { return x.class[n] }

// Parent returns the innermost span around a node on its thread, None at the top.
func (x *Tree) Parent(n Node) Node { return x.parent[n] }

// End returns the node behind the last that is inside n: n+1 where none is.
func (x *Tree) End(n Node) Node { return x.end[n] }

// Inside reports whether n is ancestor, or inside it at any depth.
func (x *Tree) Inside(n, ancestor Node) bool {
	return n != None && ancestor != None && n >= ancestor && n < x.end[ancestor]
}

// Children yields the nodes right inside n, in the order of their starts.
func (x *Tree) Children(n Node) iter.Seq[Node] {
	return func(yield func(Node) bool) {
		for c := n + 1; c < x.end[n]; c = x.end[c] {
			if !yield(c) {
				return
			}
		}
	}
}

// Enclosing returns n or the nearest span around it that is of a class, None if
// there is none.
func (x *Tree) Enclosing(n Node, c Class) Node {
	if n == None {
		return None
	}
	switch c {
	case Operator:
		return x.inOp[n]
	case Module:
		return x.scopes[x.scope[n]].module
	case Annotation:
		return x.scopes[x.scope[n]].annotation
	case Step:
		return x.scopes[x.scope[n]].step
	}
	for n != None && x.class[n] != c {
		n = x.parent[n]
	}
	return n
}

// Forward returns the forward operator of the backward operator that n is, or is
// inside of; None where the trace does not say.
func (x *Tree) Forward(n Node) Node {
	if len(x.forward) == 0 {
		return None
	}
	first, last := x.forward[0].node, x.forward[len(x.forward)-1].node
	for n = x.Enclosing(n, Operator); n >= first; n = x.Enclosing(x.parent[n], Operator) {
		if n > last {
			continue
		}
		// They are nearly as far apart everywhere.
		guess := int(int64(n-first) * int64(len(x.forward)) / int64(last-first+1))
		i := searchNear(len(x.forward), guess, func(i int) bool { return x.forward[i].node >= n })
		if x.forward[i].node == n {
			return x.forward[i].of
		}
	}
	return None
}

// SelfTime returns for how long the node, and nothing inside it, was running, ns.
func (x *Tree) SelfTime(n Node) int64 { return x.At(n).Duration() - x.covered[n] }

// SelfDevice returns the device time of the work that belongs to n itself, ns. Work
// that runs at the same time counts in full.
func (x *Tree) SelfDevice(n Node) int64 { return x.before[x.ownerAt[n+2]] - x.before[x.ownerAt[n+1]] }

// Device returns the device time of the work that belongs to n or to what is inside
// it, ns.
func (x *Tree) Device(n Node) int64 {
	return x.before[x.ownerAt[x.end[n]+1]] - x.before[x.ownerAt[n+1]]
}
