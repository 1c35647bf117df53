package shape

import (
	"math"

	"github.com/flagos-ai/flagos-trace/calltree"
	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// idTable keeps a number by id: in a slice where ids are close together, as
// correlation ids are.
type idTable struct {
	min    uint64
	dense  []uint32
	sparse map[uint64]uint32
}

// newIDTable makes a table for ids from min to max, of which there are about n.
func newIDTable(min, max uint64, n int) *idTable {
	if max >= min && max-min < uint64(n)*16+1<<16 {
		return &idTable{min: min, dense: make([]uint32, max-min+1)}
	}
	return &idTable{sparse: make(map[uint64]uint32, n)}
}

func (t *idTable) get(id uint64) uint32 {
	if t.dense == nil {
		return t.sparse[id]
	}
	if id-t.min < uint64(len(t.dense)) {
		return t.dense[id-t.min]
	}
	return 0
}

func (t *idTable) set(id uint64, v uint32) {
	if t.dense != nil {
		if id-t.min < uint64(len(t.dense)) {
			t.dense[id-t.min] = v
		}
		return
	}
	t.sparse[id] = v
}

// holds reports whether the table has room for an id.
func (t *idTable) holds(id uint64) bool { return t.dense == nil || id-t.min < uint64(len(t.dense)) }

// correlations makes a table for the correlation ids of the trace.
func (s *scanner) correlations() *idTable {
	low, high, n := uint64(math.MaxUint64), uint64(0), 0
	for i := range uint32(s.t.Events.Len()) {
		if e := s.t.Events.At(i); e.Correlation != 0 && (e.Kind.IsAPI() || e.Kind.OnDevice()) {
			low, high = min(low, e.Correlation), max(high, e.Correlation)
			n++
		}
	}
	return newIDTable(low, high, n)
}

// What is known of a correlation id, beside the first call with it.
const (
	idHasWork = 1 << 31
	idEvent   = idHasWork - 1
)

// joins checks what ties API calls, device work and operators together.
func (s *scanner) joins() {
	t, tree := s.t, s.tree
	ids := s.correlations()
	s.calls(ids)

	var (
		callOf, linked, after = s.measure(CallOfWork), s.measure(Linked), s.measure(AfterLaunch)
		hasCalls              = s.measure(IDsUnique).Checked > 0
		opRow                 = make([]bool, len(t.Rows))
		hasOps                bool
		byID                  = make([]int64, t.Strings.Len())
		byCall                = make([]int64, t.Strings.Len())
		compared              = make([]bool, t.Strings.Len())
		exampleOf             = map[uint32]Example{}
		early                 = int64(0)
	)
	if !s.hasFractions() {
		early = 1000 // times are whole microseconds
	}
	for n := range tree.Nodes() {
		if tree.Class(n) == calltree.Operator {
			hasOps = true
			opRow[tree.At(n).Row] = true
		}
	}
	for w := range tree.Works() {
		i := tree.WorkEvent(w)
		e := t.Events.At(i)
		d := e.Duration()
		if e.Correlation != 0 {
			ids.set(e.Correlation, ids.get(e.Correlation)|idHasWork)
		}
		call, op := tree.Call(w), tree.Operator(w)
		if hasCalls {
			callOf.Checked++
			if call == calltree.None {
				x := s.example(i)
				x.NS = d
				callOf.bad(x)
			}
		}
		if call != calltree.None {
			after.Checked++
			if launch := tree.At(call); e.Start+early < launch.Start {
				x := s.example(i)
				x.Want, x.Got = "after "+tree.Name(call), micro(launch.Start-e.Start)+" before it"
				after.bad(x)
			}
		}
		named := op != calltree.None && e.Flags&timeline.HasExternal != 0 && tree.At(op).Flags&timeline.HasExternal != 0 && tree.At(op).External == e.External
		// A graph that is replayed outside of operators has none: it stands for those that
		// ran when it was captured.
		if hasOps && !s.loneGraph(call) {
			linked.Checked++
			if !named {
				x := s.example(i)
				x.NS = d
				linked.bad(x)
			}
		}
		if op != calltree.None {
			s.o.OperatorNS[tree.Name(op)] += d
		}
		if call == calltree.None || !opRow[tree.At(call).Row] {
			continue
		}
		around := tree.Enclosing(call, calltree.Operator)
		a, b := uint32(0), uint32(0)
		if named && tree.Class(op) == calltree.Operator {
			a = tree.At(op).Name
			byID[a] += d
			compared[a] = true
		}
		if around != calltree.None {
			b = tree.At(around).Name
			byCall[b] += d
			compared[b] = true
		}
		if a != b {
			for _, name := range [2]uint32{a, b} {
				if _, ok := exampleOf[name]; !ok {
					exampleOf[name] = s.example(i)
				}
			}
		}
	}
	m := s.measure(Attributed)
	for name := range compared {
		if !compared[name] {
			continue
		}
		m.Checked++
		text := t.Strings.At(uint32(name))
		s.o.AttributedTo[text] = true
		a, b := byID[name], byCall[name]
		if diff := max(a-b, b-a); float64(diff) > max(1000, 0.01*float64(max(a, b))) {
			x := exampleOf[uint32(name)]
			s.o.Attribution = append(s.o.Attribution, Attributable{text, a, b, x})
			x.Name, x.NS = text, diff
			x.Want, x.Got = micro(b)+" of device time, started by calls inside the operator", micro(a)+", by the work whose External id names it"
			m.bad(x)
		}
	}
	s.launches(ids)
	s.arrows(ids)
}

// calls checks that a correlation id names one API call.
func (s *scanner) calls(ids *idTable) {
	t := s.t
	m := s.measure(IDsUnique)
	s.shape.Calls = map[string]Presence{}
	seen := make([]bool, t.Strings.Len())
	for i := range uint32(t.Events.Len()) {
		e := t.Events.At(i)
		if !e.Kind.IsAPI() || e.Flags&timeline.Instant != 0 {
			continue
		}
		if !seen[e.Name] {
			seen[e.Name] = true
			s.shape.Calls[t.Strings.At(e.Name)] = Always
		}
		if e.Correlation == 0 {
			continue
		}
		m.Checked++
		first := ids.get(e.Correlation)
		if first == 0 {
			ids.set(e.Correlation, i+1)
			continue
		}
		// A driver call inside a runtime call may share its id, and processes count alone.
		if o := t.Events.At(first - 1); o.Kind == e.Kind && t.Rows[o.Row].PID == t.Rows[e.Row].PID {
			x := s.example(i)
			x.Key, x.Got = "correlation", "also that of "+t.Strings.At(o.Name)
			m.bad(x)
		}
	}
}

// launches checks that calls which launch have device work. While a stream is
// captured into a graph they have none, on whichever thread.
func (s *scanner) launches(ids *idTable) {
	t := s.t
	m := s.measure(WorkOfLaunch)
	captures := s.captures()
	captured := s.elsewhere(captures, ids)
	for i := range uint32(t.Events.Len()) {
		e := t.Events.At(i)
		if !e.Kind.IsAPI() || e.Correlation == 0 || t.Calls.At(e.Detail).Has&event.StartsWork == 0 || captures.at(e.Row, e.Start) {
			continue
		}
		m.Checked++
		if ids.get(e.Correlation)&idHasWork == 0 {
			if captured[i] {
				m.Checked--
				continue
			}
			m.bad(s.example(i))
		}
	}
}
