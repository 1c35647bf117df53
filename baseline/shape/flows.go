package shape

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/flagos-ai/flagos-trace/calltree"
	"github.com/flagos-ai/flagos-trace/timeline"
)

func micro(ns int64) string { return strconv.FormatFloat(float64(ns)/1000, 'f', 3, 64) + " us" }

// Ends that arrows have at an id.
const (
	endStart  = 1
	endFinish = 2
)

// arrows checks the arrows from calls to device work. Arrows of calls that started
// nothing, of which Kineto writes one end, are left alone.
func (s *scanner) arrows(ids *idTable) {
	t := s.t
	ends := newIDTableLike(ids)
	both := &halves{near: newIDTableLike(ids)}
	any := false
	put := func(id uint64, end uint32) { ends.set(id, ends.get(id)|end); any = true }
	attached := s.measure(ArrowAttached)
	var from, to []string
	note := func(list *[]string, name string) {
		if !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	for i := range uint32(t.Events.Len()) {
		e := t.Events.At(i)
		if e.Flags&(timeline.FlowIn|timeline.FlowOut) == 0 {
			continue
		}
		c := s.class(e)
		if c == nil {
			continue
		}
		// An end at the wrong side does not join: a start belongs to a call, and a finish
		// to device work. Where it belongs to neither, it still counts.
		if e.Flags&timeline.FlowOut != 0 {
			attached.Checked++
			note(&from, c.name)
			both.put(e.Correlation, endStart)
			if !e.Kind.OnDevice() {
				put(e.Correlation, endStart)
			}
		}
		if e.Flags&timeline.FlowIn != 0 {
			attached.Checked++
			both.put(e.Correlation, endFinish)
			if e.Kind.OnDevice() {
				note(&to, c.name)
				put(e.Correlation, endFinish)
			}
		}
	}
	s.looseArrows(attached, both)
	both.count(s.o)
	if len(from)+len(to) > 0 || any {
		slices.Sort(from)
		slices.Sort(to)
		s.flow(DeviceFlow, from, to)
	}
	if !any {
		return
	}
	m := s.measure(ArrowOfWork)
	for w := range s.tree.Works() {
		i := s.tree.WorkEvent(w)
		e := t.Events.At(i)
		if e.Correlation == 0 || s.tree.Call(w) == calltree.None {
			continue
		}
		m.Checked++
		call := s.tree.At(s.tree.Call(w))
		start := ends.get(e.Correlation)&endStart != 0
		if finish := e.Flags&timeline.FlowIn != 0; !start || !finish {
			x := s.example(i)
			x.Want, x.Got = "an arrow from "+t.Strings.At(call.Name), "no end at the work"
			if !start {
				x.Got = "no start at the call"
			}
			if !start && !finish {
				x.Got = "neither end"
			}
			m.bad(x)
		}
	}
}

// newIDTableLike makes an empty table for the same ids.
func newIDTableLike(o *idTable) *idTable {
	if o.dense == nil {
		return &idTable{sparse: map[uint64]uint32{}}
	}
	return &idTable{min: o.min, dense: make([]uint32, len(o.dense))}
}

func (s *scanner) flow(kind string, from, to []string) {
	if s.shape.Flows == nil {
		s.shape.Flows = map[string]*Flow{}
	}
	s.shape.Flows[kind] = &Flow{Presence: Always, From: from, To: to}
}

// textID begins the fields of an arrow whose id stands in quotes.
const textID = `"id": "`

// looseArrows counts the ends of arrows to device work that stand on no event of
// their id.
func (s *scanner) looseArrows(m *Measure, both *halves) {
	t := s.t
	for i := range t.Flows {
		p := &t.Flows[i]
		if s.kindOf(p) != DeviceFlow {
			continue
		}
		m.Checked++
		id := strconv.FormatUint(p.ID, 10)
		if f := t.Strings.At(t.Source.Flows.At(uint32(i)).Fields); strings.HasPrefix(f, textID) {
			s.o.TextIDs++
			id = strings.TrimPrefix(f[:min(len(f), 40)], `"id": `) + ", which is text,"
		}
		what, end := "an end", uint32(endFinish)
		if p.Start {
			what, end = "a start", endStart
		}
		if !p.Step {
			both.put(p.ID, end)
		}
		m.bad(Example{Event: -1, Offset: t.Source.Flows.At(uint32(i)).Offset, Name: t.Strings.At(p.Name),
			Got: what + " of id " + id + " that stands on no event with this correlation id"})
	}
}

// kindOf is the kind of an arrow.
func (s *scanner) kindOf(p *timeline.FlowPoint) string {
	category := ""
	switch p.Category {
	case 0:
		category = s.t.Strings.At(p.Name)
	case timeline.NoCategory:
	default:
		category = s.t.Strings.At(p.Category)
	}
	return flowKind(s.rules, s.t.Strings.At(p.Name), category)
}

// flows checks that arrows of other kinds have both ends, by id.
func (s *scanner) flows() {
	t := s.t
	type end struct {
		kind, index int
		id          uint64
		bits        uint8
	}
	var (
		list  = make([]end, 0, len(t.Flows))
		kinds []string
		known = map[[2]uint32]int{}
	)
	for i := range t.Flows {
		p := &t.Flows[i]
		key := [2]uint32{p.Name, p.Category}
		k, ok := known[key]
		if !ok {
			name := s.kindOf(p)
			if k = slices.Index(kinds, name); k < 0 {
				k = len(kinds)
				kinds = append(kinds, name)
			}
			known[key] = k
		}
		bits := uint8(endFinish)
		if p.Start {
			bits = endStart
		}
		if p.Step {
			bits = 0
		}
		list = append(list, end{k, i, p.ID, bits})
	}
	slices.SortFunc(list, func(a, b end) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.id, b.id), cmp.Compare(a.index, b.index))
	})
	for at := 0; at < len(list); {
		next, bits := at, uint8(0)
		for next < len(list) && list[next].kind == list[at].kind && list[next].id == list[at].id {
			bits |= list[next].bits
			next++
		}
		if kind := kinds[list[at].kind]; kind != DeviceFlow {
			m := s.o.Arrows[kind]
			if m == nil {
				m = &Measure{}
				s.o.Arrows[kind] = m
				s.flow(kind, nil, nil)
			}
			m.Checked++
			if bits != endStart|endFinish {
				got := "a start without an end"
				if bits == endFinish {
					got = "an end without a start"
				}
				m.bad(Example{Event: -1, Offset: t.Source.Flows.At(uint32(list[at].index)).Offset, Name: kind, Got: got + ", id " + strconv.FormatUint(list[at].id, 10)})
			}
		}
		at = next
	}
	total := &Measure{}
	for _, m := range s.o.Arrows {
		total.Checked += m.Checked
		total.Broken += m.Broken
	}
	if total.Checked > 0 {
		s.o.Measures[ArrowPaired] = total
	}
}

// halves counts the ids of starts and finishes of arrows to device work.
type halves struct {
	near *idTable
	far  map[uint64]uint32 // ids that no call or work has
}

func (h *halves) put(id uint64, end uint32) {
	if h.near.holds(id) {
		h.near.set(id, h.near.get(id)|end)
		return
	}
	if h.far == nil {
		h.far = map[uint64]uint32{}
	}
	h.far[id] |= end
}

func (h *halves) count(o *Observation) {
	add := func(bits uint32) {
		if bits&endStart != 0 {
			o.FlowStarts++
		}
		if bits&endFinish != 0 {
			o.FlowFinishes++
		}
		if bits == endStart|endFinish {
			o.FlowBoth++
		}
	}
	for _, bits := range h.near.dense {
		add(bits)
	}
	for _, m := range []map[uint64]uint32{h.near.sparse, h.far} {
		for _, bits := range m {
			add(bits)
		}
	}
}
