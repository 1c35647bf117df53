package calltree

import (
	"github.com/flagos-ai/flagos-trace/internal/hugepage"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// reason says why work has no operator.
type reason uint8

const (
	linked reason = iota
	noHost
	beforeHost
	afterHost
	noOperator
	otherThread
	noCall
)

var reasonWords = [...]string{
	"", timeline.UnlinkedNoHost, timeline.UnlinkedBeforeHost, timeline.UnlinkedAfterHost,
	timeline.UnlinkedNoOperator, timeline.UnlinkedOtherThread, timeline.UnlinkedNoCall,
}

// linker joins device work with calls and operators.
type linker struct {
	*Tree
	calls       byID // by correlation id
	operators   byID // by External id
	annotations byID // by External id
	arrows      arrows
}

// link finds the call and the operator of all device work.
func (x *Tree) link() {
	l := linker{Tree: x}
	l.indexNodes()
	l.arrows = x.newArrows()
	n := len(x.work)
	if n > 0 {
		x.workOf = hugepage.Make[Work](int(x.work[n-1]) + 1)
	}
	for i := range x.workOf {
		x.workOf[i] = NoWork
	}
	x.call, x.operator, x.why = make([]Node, n), make([]Node, n), make([]reason, n)
	eachPiece(n, func(_, from, to int) {
		for w := from; w < to; w++ {
			x.workOf[x.work[w]] = Work(w)
			e := x.WorkAt(Work(w))
			x.call[w] = l.callOf(e)
			x.operator[w], x.why[w] = l.operatorOf(e, x.call[w])
		}
	})
}

// indexNodes lists calls and operators by their ids.
func (l *linker) indexNodes() {
	const numIndexes = 3
	all := [numIndexes]*byID{&l.calls, &l.operators, &l.annotations}
	n := len(l.event)
	in := hugepage.Make[uint8](n) // by node: which index it belongs into, numIndexes for none
	id := func(i uint8, n Node) uint64 {
		if i == 0 {
			return l.At(n).Correlation
		}
		return uint64(l.At(n).External)
	}
	seen := make([][numIndexes]idRange, pieces(n))
	eachPiece(n, func(k, from, to int) {
		for n := Node(from); n < Node(to); n++ {
			e, i := l.At(n), uint8(numIndexes)
			switch c := l.class[n]; {
			case c == Call && e.Correlation != 0:
				i = 0
			case e.Flags&timeline.HasExternal == 0:
			case c == Operator:
				i = 1
			case c == Annotation || c == Step:
				i = 2
			}
			if in[n] = i; i < numIndexes {
				seen[k][i].see(id(i, n))
			}
		}
	})
	inParallel(numIndexes, func(i int) int { return i }, func(i int) {
		var r idRange
		for k := range seen {
			r.join(seen[k][i])
		}
		each := func(f func(Node, uint64)) {
			for n := range Node(len(in)) {
				if in[n] == uint8(i) {
					f(n, id(uint8(i), n))
				}
			}
		}
		switch {
		case r.close():
			*all[i] = l.closeIDs(r, each)
		case r.n > 0:
			*all[i] = l.farIDs(r, each)
		}
	})
}

// callOf returns the API call that started work: of those with its correlation id
// the outer one where they nest, else the latest that began before it. Where the
// External ids of some agree with the work's, those of other processes do not.
func (l *linker) callOf(work *timeline.Event) Node {
	if work.Correlation == 0 {
		return None
	}
	best, bestAgrees := None, false
	for _, c := range l.near(l.calls.of(work.Correlation), work.Start) {
		e := l.At(c)
		agrees := work.Flags&e.Flags&timeline.HasExternal != 0 && work.External == e.External
		switch {
		case best == None, agrees && !bestAgrees:
			best, bestAgrees = c, agrees
		case bestAgrees && !agrees, l.Inside(c, best):
		case e.Start <= work.Start || l.At(best).Start > work.Start && e.Start < l.At(best).Start:
			best = c
		}
	}
	return best
}

// operatorOf returns the operator that work belongs to, or why there is none.
func (l *linker) operatorOf(work *timeline.Event, call Node) (Node, reason) {
	if work.Flags&timeline.HasExternal != 0 {
		if n := l.named(work, work.Correlation, call); n != None {
			return n, linked
		}
	}
	if call != None {
		e := l.At(call)
		if e.Flags&timeline.HasExternal != 0 {
			if n := l.named(e, e.Correlation, call); n != None {
				return n, linked
			}
		}
		if n := l.Enclosing(call, Operator); n != None {
			return n, linked
		}
	}
	if n := l.arrows.from(l.Tree, work); n != None {
		return n, linked
	}
	switch {
	case !l.hasHost:
		return None, noHost
	case call == None:
		return None, noCall
	}
	e := l.At(call)
	switch {
	case e.End <= l.opsSpan.Start:
		return None, beforeHost
	case e.Start >= l.opsSpan.End:
		return None, afterHost
	case !l.opsOnRow[e.Row]:
		return None, otherThread
	}
	return None, noOperator
}

// named returns the operator that the External id of work, or of a call, names;
// where it names none, the annotation: of several the one around the call.
func (l *linker) named(e *timeline.Event, correlation uint64, call Node) Node {
	t := e.Start
	if call != None {
		t = l.At(call).Start + l.At(call).Duration()/2
	}
	// What had no External id got the correlation id from older versions of Kineto.
	doubtful := uint64(e.External) == correlation
	for _, index := range []*byID{&l.operators, &l.annotations} {
		best, miss := None, int64(0)
		for _, c := range l.near(index.of(uint64(e.External)), t) {
			o := l.At(c)
			away := max(o.Start-t, t-o.End, 0)
			if call != None && l.t.Rows[o.Row].PID != l.t.Rows[l.At(call).Row].PID {
				away += 1 << 61 // another process counts its own ids
			}
			if best == None || away <= miss {
				best, miss = c, away
			}
		}
		if best != None && (!doubtful || call != None && miss == 0) {
			return best
		}
	}
	return None
}
