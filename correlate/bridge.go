package correlate

import (
	"cmp"
	"slices"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// bridge links API calls to operators, and to annotations, by time: the innermost
// one of the same thread around the middle of the call. What was pushed as an
// external id counts where there is one.
func (b *Builder) bridge() {
	b.parents = map[uint32]uint32{}
	if b.first == 0 {
		return
	}
	rows := b.byRow()
	threads := b.callsByThread()
	rowOf := map[[2]int64]uint32{}
	for id := range b.t.Rows {
		if r := &b.t.Rows[id]; r.Kind == timeline.RowThread && id < len(rows) && len(rows[id]) > 0 {
			rowOf[[2]int64{r.PID, r.TID}] = uint32(id)
		}
	}
	callsOf := make([][]uint32, len(rows)) // by row
	for i, th := range b.threadList {
		if row, ok := rowOf[[2]int64{int64(th.pid), b.tids[i]}]; ok {
			b.threadSeen[i] = true
			if len(callsOf[row]) == 0 {
				callsOf[row] = threads[i]
			} else { // pthread handles: two of them may be one thread
				callsOf[row] = append(slices.Clip(callsOf[row]), threads[i]...)
				b.inOrder(callsOf[row], b.byMiddle)
			}
		}
	}
	s := sweep{b: b, operator: b.t.Strings.ID(categoryOperator)}
	for row, ops := range rows {
		s.run(ops, callsOf[row])
	}
	for _, l := range s.operators {
		if !b.operators.get(l.correlation).has {
			b.operators.set(l.correlation, l.external)
			b.byTime.set(l.correlation, true)
		}
	}
	for _, l := range s.annotations {
		if !b.annotations.get(l.correlation).has {
			b.annotations.set(l.correlation, l.external)
		}
	}
}

// byRow lists the operators and annotations of each row in the order of their
// starts; of equal starts the longer comes first.
func (b *Builder) byRow() [][]uint32 {
	operator, annotation := b.t.Strings.ID(categoryOperator), b.t.Strings.ID(categoryAnnotation)
	mine := func(e *timeline.Event) bool {
		return e.Kind == timeline.Host && (e.Category == operator || e.Category == annotation)
	}
	count := make([]int, len(b.t.Rows))
	for i := range b.first {
		if e := b.t.Events.At(i); mine(e) {
			count[e.Row]++
		}
	}
	rows := make([][]uint32, len(b.t.Rows))
	for r, n := range count {
		rows[r] = make([]uint32, 0, n)
	}
	for i := range b.first {
		if e := b.t.Events.At(i); mine(e) {
			rows[e.Row] = append(rows[e.Row], i)
		}
	}
	for _, list := range rows {
		b.inOrder(list, func(x, y uint32) int {
			e, f := b.t.Events.At(x), b.t.Events.At(y)
			return cmp.Or(cmp.Compare(e.Start, f.Start), cmp.Compare(f.End, e.End), cmp.Compare(x, y))
		})
	}
	return rows
}

// callsByThread lists the API calls of each thread in the order of their middles.
func (b *Builder) callsByThread() [][]uint32 {
	count := make([]int, len(b.threadList))
	for i := b.first; i < uint32(b.t.Events.Len()); i++ {
		if e := b.t.Events.At(i); e.Kind.IsAPI() {
			count[e.Row]++
		}
	}
	threads := make([][]uint32, len(b.threadList))
	for th, n := range count {
		threads[th] = make([]uint32, 0, n)
	}
	for i := b.first; i < uint32(b.t.Events.Len()); i++ {
		if e := b.t.Events.At(i); e.Kind.IsAPI() {
			threads[e.Row] = append(threads[e.Row], i)
		}
	}
	for _, list := range threads {
		b.inOrder(list, b.byMiddle)
	}
	return threads
}

func middle(e *timeline.Event) int64 { return e.Start + (e.End-e.Start)/2 }

func (b *Builder) byMiddle(x, y uint32) int {
	return cmp.Or(cmp.Compare(middle(b.t.Events.At(x)), middle(b.t.Events.At(y))), cmp.Compare(x, y))
}

func (b *Builder) inOrder(list []uint32, by func(x, y uint32) int) {
	if !slices.IsSortedFunc(list, by) {
		slices.SortFunc(list, by)
	}
}

// timed is a link found by time.
type timed struct {
	correlation uint64
	external
}

// sweep goes through the operators and the calls of a thread in the order of
// time, with what is open in hand.
type sweep struct {
	b                      *Builder
	operator               uint32 // the category
	openOps, openNotes     []uint32
	operators, annotations []timed
}

// run takes one thread.
func (s *sweep) run(ops, calls []uint32) {
	s.openOps, s.openNotes = s.openOps[:0], s.openNotes[:0]
	at := s.b.t.Events.At
	for len(ops) > 0 || len(calls) > 0 {
		if len(ops) > 0 && (len(calls) == 0 || at(ops[0]).Start <= middle(at(calls[0]))) {
			s.open(ops[0])
			ops = ops[1:]
			continue
		}
		s.call(at(calls[0]))
		calls = calls[1:]
	}
}

// open puts an operator or an annotation on top of those that are still open.
func (s *sweep) open(i uint32) {
	e := s.b.t.Events.At(i)
	if e.Category == s.operator {
		s.openOps = append(s.ended(s.openOps, e.Start), i)
		return
	}
	s.openNotes = s.ended(s.openNotes, e.Start)
	if n := len(s.openNotes); n > 0 && s.b.t.Events.At(s.openNotes[n-1]).End >= e.End {
		s.b.parents[i] = s.openNotes[n-1]
	}
	s.openNotes = append(s.openNotes, i)
}

// ended takes what ends at time t or before from the top. What ended beneath
// something that is still open comes up later.
func (s *sweep) ended(open []uint32, t int64) []uint32 {
	for len(open) > 0 && s.b.t.Events.At(open[len(open)-1]).End <= t {
		open = open[:len(open)-1]
	}
	return open
}

// call notes what is around a call.
func (s *sweep) call(c *timeline.Event) {
	if c.Correlation == 0 {
		return
	}
	t := middle(c)
	s.openOps, s.openNotes = s.ended(s.openOps, t), s.ended(s.openNotes, t)
	if n := len(s.openNotes); n > 0 {
		if e := s.b.t.Events.At(s.openNotes[n-1]); e.Flags&timeline.HasExternal != 0 {
			s.annotations = append(s.annotations, timed{c.Correlation, external{e.External, true}})
		}
	}
	n := len(s.openOps)
	if n == 0 {
		return
	}
	op := s.b.t.Events.At(s.openOps[n-1])
	if op.Flags&timeline.HasExternal == 0 {
		s.b.unnamed.set(c.Correlation, true)
		return
	}
	x := external{op.External, true}
	switch pushed := s.b.operators.get(c.Correlation); {
	case !pushed.has:
		s.operators = append(s.operators, timed{c.Correlation, x})
	case pushed == x:
		s.b.agreed++
	default:
		s.b.disagreed++
	}
}
