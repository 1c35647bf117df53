package calltree

import (
	"iter"
	"sort"

	"github.com/flagos-ai/flagos-trace/internal/hugepage"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// NumWorks returns the number of spans of device work.
func (x *Tree) NumWorks() int { return len(x.work) }

// Works yields the device work in the order of the trace: kernels, copies, fills.
func (x *Tree) Works() iter.Seq[Work] {
	return func(yield func(Work) bool) {
		for w := range Work(len(x.work)) {
			if !yield(w) {
				return
			}
		}
	}
}

// WorkEvent returns the index of the work's span in Trace.Events.
func (x *Tree) WorkEvent(w Work) uint32 { return x.work[w] }

// WorkAt returns the work's span.
func (x *Tree) WorkAt(w Work) *timeline.Event { return x.t.Events.At(x.work[w]) }

// WorkName returns the name of the kernel, copy or fill.
func (x *Tree) WorkName(w Work) string { return x.t.Strings.At(x.WorkAt(w).Name) }

// WorkOf returns the work that an event of the trace is, NoWork if it is none.
func (x *Tree) WorkOf(event uint32) Work {
	if int(event) < len(x.of) {
		return Work(max(0, -x.of[event])) - 1
	}
	return NoWork
}

// Call returns the API call that started the work, None if it is not in the trace.
func (x *Tree) Call(w Work) Node { return x.call[w] }

// Operator returns the operator that the work belongs to, None where there is none;
// Why then says why. In traces whose External ids name annotations it may be one.
func (x *Tree) Operator(w Work) Node { return x.operator[w] }

// Why says why the work has no operator, as one of the timeline.Unlinked constants;
// "" where it has one.
func (x *Tree) Why(w Work) string { return reasonWords[x.why[w]] }

// Context returns the node from which to look for what was around the work when it
// was started: its call, if there is one and it does not lie outside the operator,
// else its operator, or None.
func (x *Tree) Context(w Work) Node {
	if c := x.call[w]; c != None && (x.operator[w] == None || x.Inside(c, x.operator[w])) {
		return c
	}
	return x.operator[w]
}

// Module returns the innermost call of a module around the work; for work of a
// backward operator, around its forward operator. None if there is none.
func (x *Tree) Module(w Work) Node {
	c := x.Context(w)
	if n := x.Enclosing(c, Module); n != None {
		return n
	}
	return x.Enclosing(x.Forward(c), Module)
}

// Annotation returns the innermost annotation around the work on its own thread,
// steps not counted, None if there is none.
func (x *Tree) Annotation(w Work) Node { return x.Enclosing(x.Context(w), Annotation) }

// Step returns the step in which the work was started; see StepOf. None if there is
// none.
func (x *Tree) Step(w Work) Node { return x.StepOf(x.Context(w)) }

// StepOf returns the step that a node is in: the one around it, or the one that
// another thread of its process was in when it began. None if there is none.
func (x *Tree) StepOf(c Node) Node {
	if n := x.Enclosing(c, Step); n != None || c == None || len(x.steps) == 0 {
		return n
	}
	t := x.At(c).Start
	pid := x.t.Rows[x.At(c).Row].PID
	i := sort.Search(len(x.steps), func(i int) bool { return x.At(x.steps[i]).Start > t })
	for look := 0; i > 0 && look < maxLook; look++ {
		i--
		if e := x.At(x.steps[i]); t < e.End && x.t.Rows[e.Row].PID == pid {
			return x.steps[i]
		}
	}
	return None
}

// WorksOf yields the work that belongs to a node itself, in the order of the trace;
// for None the work without an operator.
func (x *Tree) WorksOf(n Node) iter.Seq[Work] {
	return func(yield func(Work) bool) {
		for _, w := range x.byOwner[x.ownerAt[n+1]:x.ownerAt[n+2]] {
			if !yield(w) {
				return
			}
		}
	}
}

// sum lists work by operator, and adds up device time: what is inside a node stands
// behind it.
func (x *Tree) sum() {
	x.ownerAt = hugepage.Make[int32](len(x.event) + 2)
	for _, n := range x.operator {
		x.ownerAt[n+1]++
	}
	// ownerAt holds counts; it becomes where the works of each end, then where they begin.
	at := int32(0)
	for i, n := range x.ownerAt {
		at += n
		x.ownerAt[i] = at
	}
	x.byOwner = make([]Work, len(x.work))
	for w := len(x.operator) - 1; w >= 0; w-- {
		i := &x.ownerAt[x.operator[w]+1]
		*i--
		x.byOwner[*i] = Work(w)
	}
	x.before = make([]int64, len(x.byOwner)+1)
	for i, w := range x.byOwner {
		x.before[i+1] = x.before[i] + x.WorkAt(w).Duration()
	}
}
