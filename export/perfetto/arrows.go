package perfetto

import (
	"cmp"
	"slices"

	"github.com/flagos-ai/flagos-trace/calltree"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// arrows numbers arrows: those from calls to work by the work, others behind.
type arrows struct {
	// Works by the call that started them: those of node n are works[from[n]:from[n+1]].
	from  []int32
	works []calltree.Work

	ids   map[arrowKey]uint64
	ends  map[uint64]int   // by arrow: how many of its ends stand on a span
	byRow map[uint32][]int // indices of Trace.Flows
}

type arrowKey struct {
	name, category uint32
	id             uint64
}

func (a *arrows) prepare(s *writer) {
	x := s.x
	a.from = make([]int32, x.Len()+1)
	for w := range x.Works() {
		if c := x.Call(w); c != calltree.None {
			a.from[c+1]++
		}
	}
	for n := range x.Len() {
		a.from[n+1] += a.from[n]
	}
	a.works = make([]calltree.Work, a.from[x.Len()])
	next := slices.Clone(a.from)
	for w := range x.Works() {
		if c := x.Call(w); c != calltree.None {
			a.works[next[c]] = w
			next[c]++
		}
	}
	s.stats.Flows = uint64(len(a.works))
	a.ids, a.ends, a.byRow = map[arrowKey]uint64{}, map[uint64]int{}, map[uint32][]int{}
	for k := range s.t.Flows {
		p := &s.t.Flows[k]
		a.byRow[p.Row] = append(a.byRow[p.Row], k)
	}
}

// id returns the number of an arrow of the trace.
func (a *arrows) id(s *writer, p *timeline.FlowPoint) uint64 {
	k := arrowKey{p.Name, p.Category, p.ID}
	id, ok := a.ids[k]
	if !ok {
		id = uint64(s.x.NumWorks()) + uint64(len(a.ids)) + 1
		a.ids[k] = id
	}
	return id
}

// count counts the arrows of the trace that have two ends.
func (a *arrows) count() (n uint64) {
	for _, ends := range a.ends {
		if ends > 1 {
			n++
		}
	}
	return n
}

// maxLook bounds how far back the span around a time is looked for.
const maxLook = 1000

// attach finds the spans that ends of arrows stand on: the innermost around their time.
// The spans are in the order in which they begin.
func (s *writer) attach(row uint32, spans []uint32) {
	clear(s.attached)
	at := s.t.Events.At
	for _, k := range s.arrows.byRow[row] {
		p := &s.t.Flows[k]
		n, _ := slices.BinarySearchFunc(spans, p.TS, func(i uint32, ts int64) int { return cmp.Compare(at(i).Start, ts+1) })
		found := false
		for low := max(0, n-maxLook); n > low && !found; n-- {
			if i := spans[n-1]; at(i).End >= p.TS {
				id := s.arrows.id(s, p)
				s.attached[i] = append(s.attached[i], id)
				s.arrows.ends[id]++
				found = true
			}
		}
		if !found {
			s.stats.Loose++
		}
	}
}

// flows appends the arrows at a span.
func (s *writer) flows(b []byte, i uint32) []byte {
	x := s.x
	if n := x.Of(i); n != calltree.None {
		for _, w := range s.arrows.works[s.arrows.from[n]:s.arrows.from[n+1]] {
			b = appendFixed(b, eventFlow, uint64(w)+1)
		}
	} else if w := x.WorkOf(i); w != calltree.NoWork {
		if c := x.Call(w); c != calltree.None {
			field := eventFlowEnds
			if x.WorkAt(w).Start < x.At(c).Start {
				field = eventFlow // clocks are apart: what comes first must not be the end
			}
			b = appendFixed(b, field, uint64(w)+1)
		}
	}
	for _, id := range s.attached[i] {
		b = appendFixed(b, eventFlow, id)
	}
	return b
}
