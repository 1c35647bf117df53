package calltree

import (
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
func (x *Tree) link(of *ids) {
	l := linker{Tree: x}
	all := [numKept]*byID{callID: &l.calls, operatorID: &l.operators, annotationID: &l.annotations}
	inParallel(len(all)-1, func(i int) int { return -of.ranges[i+1].n }, func(i int) { *all[i+1] = x.index(of, kept(i+1)) })
	l.arrows = x.newArrows()
	n := len(x.work)
	x.call, x.operator, x.why = make([]Node, n), make([]Node, n), make([]reason, n)
	eachPiece(n, func(_, from, to int) {
		for w := from; w < to; w++ {
			x.of[x.work[w]] = -1 - int32(w)
			e := x.WorkAt(Work(w))
			x.call[w] = l.callOf(e)
			x.operator[w], x.why[w] = l.operatorOf(e, x.call[w])
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
	calls := l.calls.of(work.Correlation)
	if len(calls) == 1 {
		return calls[0] // without a look at it
	}
	best, bestAgrees := None, false
	for _, c := range l.near(calls, work.Start) {
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
	// What had no External id got the correlation id from older versions of Kineto.
	doubtful := uint64(e.External) == correlation
	for _, index := range []*byID{&l.operators, &l.annotations} {
		nodes := index.of(uint64(e.External))
		if len(nodes) == 1 && !doubtful {
			return nodes[0] // without a look at it
		}
		t := e.Start
		if call != None {
			t = l.At(call).Start + l.At(call).Duration()/2
		}
		best, miss := None, int64(0)
		for _, c := range l.near(nodes, t) {
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
