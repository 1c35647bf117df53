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
func (x *Tree) link() {
	l := linker{Tree: x}
	l.indexNodes()
	l.arrows = x.newArrows()
	n, last := 0, 0
	for i := range uint32(x.t.Events.Len()) {
		if x.isWork(i) {
			n++
			last = int(i) + 1
		}
	}
	x.workOf = make([]Work, last)
	x.work, x.call, x.operator, x.why = make([]uint32, 0, n), make([]Node, 0, n), make([]Node, 0, n), make([]reason, 0, n)
	for i := range uint32(last) {
		x.workOf[i] = NoWork
		if !x.isWork(i) {
			continue
		}
		x.workOf[i] = Work(len(x.work))
		e := x.t.Events.At(i)
		call := l.callOf(e)
		op, why := l.operatorOf(e, call)
		x.work, x.call, x.operator, x.why = append(x.work, i), append(x.call, call), append(x.operator, op), append(x.why, why)
	}
}

// isWork reports whether an event is a span of device work.
func (x *Tree) isWork(i uint32) bool {
	e := x.t.Events.At(i)
	return e.Kind.OnDevice() && e.Flags&timeline.Instant == 0 && (x.t.Source == nil || x.t.Source.Events.At(i).Phase == 0)
}

// indexNodes lists calls and operators by their ids.
func (l *linker) indexNodes() {
	const numIndexes = 3
	all := [numIndexes]*byID{&l.calls, &l.operators, &l.annotations}
	// index says which index a node belongs into, numIndexes for none.
	index := func(n Node) (int, uint64) {
		e := l.At(n)
		switch c := l.class[n]; {
		case c == Call && e.Correlation != 0:
			return 0, e.Correlation
		case e.Flags&timeline.HasExternal == 0:
		case c == Operator:
			return 1, uint64(e.External)
		case c == Annotation || c == Step:
			return 2, uint64(e.External)
		}
		return numIndexes, 0
	}
	var ranges [numIndexes]idRange
	for n := range Node(len(l.event)) {
		if i, id := index(n); i < numIndexes {
			ranges[i].see(id)
		}
	}
	for i, r := range ranges {
		each := func(f func(Node, uint64)) {
			for n := range Node(len(l.event)) {
				if of, id := index(n); of == i {
					f(n, id)
				}
			}
		}
		switch {
		case r.close():
			*all[i] = l.closeIDs(r, each)
		case r.n > 0:
			*all[i] = l.farIDs(r, each)
		}
	}
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
