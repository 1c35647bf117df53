package chrome

import (
	"slices"
	"strconv"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// A trace that was read is written as it stood: its members, its events with
// their arguments, its rows and processes, and nothing that a recording would
// add.

// sourcePlan prepares such a trace.
func (p *plan) sourcePlan() {
	t := p.t
	p.source = t.Source
	p.base = t.Source.Base
	for k := range p.heads {
		p.heads[k] = ""
	}
	p.catHeads = map[uint32]categoryHead{}
	p.segments = append(p.segments, segment{what: headSegment})
	var lo, bytes uint32
	n := uint32(t.Events.Len())
	// Decimals would claim a resolution that times of whole microseconds do not have.
	p.whole = t.Source.Whole
	for i := range n {
		e := t.Events.At(i)
		p.whole = p.whole && (e.Start-p.base)%1000 == 0 && (e.End-p.base)%1000 == 0
		bytes += eventBytes + uint32(len(p.names[e.Name])+len(t.Args.At(t.Source.Events.At(i).Args)))
		if _, ok := p.catHeads[e.Category]; !ok && e.Category != 0 {
			p.catHeads[e.Category] = categoryHead{text: `, "cat": "` + p.names[e.Category] + `"`}
		}
		if bytes >= segmentBytes || i+1 == n {
			p.segments = append(p.segments, segment{what: eventSegment, lo: lo, hi: i + 1})
			lo, bytes = i+1, 0
		}
	}
	for i := range t.Flows {
		p.whole = p.whole && (t.Flows[i].TS-p.base)%1000 == 0
	}
	for lo, n := uint32(0), uint32(len(t.Flows)); lo < n; lo += flowPoints {
		p.segments = append(p.segments, segment{what: flowSegment, lo: lo, hi: min(lo+flowPoints, n)})
	}
	if last := &p.segments[len(p.segments)-1]; !tailEvents(t) && last.what != headSegment {
		last.last = true
	}
	p.segments = append(p.segments, segment{what: tailSegment})
	p.start = t.Source.Base // of the metadata events
	if t.Window.Start > p.start {
		p.start = t.Window.Start
	}
	for i := range t.Rows {
		r := &t.Rows[i]
		p.rows[i].ids = `"pid": ` + sourceID(r.PID, r.PIDText, r.EmptyPID) + `, "tid": ` + sourceID(r.TID, r.TIDText, r.EmptyTID)
	}
}

// tailEvents reports whether events name rows or processes, behind the others.
func tailEvents(t *timeline.Trace) bool {
	for i := range t.Groups {
		if g := &t.Groups[i]; g.Name != "" || g.Label != "" || !g.NoSortIndex {
			return true
		}
	}
	for i := range t.Rows {
		if r := &t.Rows[i]; r.Name != "" || r.HasSortIndex {
			return true
		}
	}
	return false
}

// micros appends a time with three decimals, or with none in a trace of whole
// microseconds.
func (r *renderer) micros(dst []byte, ns int64) []byte {
	if r.whole {
		return strconv.AppendInt(dst, ns/1000, 10)
	}
	return appendMicros(dst, ns)
}

func sourceID(n int64, text string, empty bool) string {
	if empty {
		return `""`
	}
	return rowID(n, text)
}

func (r *renderer) sourceSegment(dst []byte, s segment) []byte {
	switch s.what {
	case headSegment:
		return r.sourceHead(dst)
	case tailSegment:
		return r.sourceTail(dst)
	case flowSegment:
		for i := s.lo; i < s.hi; i++ {
			dst = r.sourceFlowPoint(dst, i)
		}
	default:
		for i := s.lo; i < s.hi; i++ {
			dst = r.sourceEvent(dst, i)
		}
	}
	if s.last {
		dst = trimComma(dst)
	}
	return dst
}

// sourceHead appends everything before the events.
func (r *renderer) sourceHead(dst []byte) []byte {
	if r.source.Array {
		return append(dst, "[\n"...)
	}
	dst = append(dst, '{')
	if c := r.t.Completeness; c != nil && !slices.ContainsFunc(r.t.Metadata, func(m timeline.Property) bool { return m.Key == KeyCompleteness }) {
		dst = r.sourceMember(append(dst, '\n'), &timeline.Property{Key: KeyCompleteness})
		dst = append(dst, ',')
	}
	for i := range min(r.source.EventsAt, len(r.t.Metadata)) {
		dst = r.sourceMember(append(dst, '\n'), &r.t.Metadata[i])
		dst = append(dst, ',')
	}
	return append(dst, "\n\"traceEvents\": [\n"...)
}

func (r *renderer) sourceMember(dst []byte, m *timeline.Property) []byte {
	dst = append(r.text(dst, "\"", m.Key), `": `...)
	switch {
	case m.Key == "baseTimeNanoseconds" && r.source.HasBase:
		return strconv.AppendInt(dst, r.source.Base, 10)
	case m.Key == KeyCompleteness && r.t.Completeness != nil:
		raw := completenessJSON(r.t.Completeness)
		return append(dst, raw[:len(raw)-1]...)
	}
	return append(dst, m.Raw...)
}

// sourceTail appends what names rows and processes, and the members behind the
// events. A last event has no comma.
func (r *renderer) sourceTail(dst []byte) []byte {
	for i := range r.t.Groups {
		g := &r.t.Groups[i]
		ids := `"pid": ` + rowID(g.PID, g.PIDText) + `, "tid": 0`
		if g.Name != "" {
			dst = r.metaText(r.meta(dst, "process_name", ids), "name", g.Name)
		}
		if g.Label != "" {
			dst = r.metaText(r.meta(dst, "process_labels", ids), "labels", g.Label)
		}
		if !g.NoSortIndex {
			dst = r.metaInt(r.meta(dst, "process_sort_index", ids), "sort_index", g.SortIndex)
		}
	}
	for i := range r.t.Rows {
		row := &r.t.Rows[i]
		if row.Name != "" {
			dst = r.metaText(r.meta(dst, "thread_name", r.rows[i].ids), "name", row.Name)
		}
		if row.HasSortIndex {
			dst = r.metaInt(r.meta(dst, "thread_sort_index", r.rows[i].ids), "sort_index", row.SortIndex)
		}
	}
	dst = trimComma(dst)
	dst = append(dst, "\n]"...)
	if r.source.Array {
		return append(dst, '\n')
	}
	for i := min(r.source.EventsAt, len(r.t.Metadata)); i < len(r.t.Metadata); i++ {
		dst = r.sourceMember(append(dst, ",\n"...), &r.t.Metadata[i])
	}
	return append(dst, "\n}\n"...)
}

// trimComma takes off what separates an event from the next. A list of none has
// only its bracket.
func trimComma(dst []byte) []byte {
	if n := len(dst); n >= 2 && dst[n-2] == ',' {
		return dst[:n-2]
	}
	return dst
}

// sourceEvent appends event i as it stood.
func (r *renderer) sourceEvent(dst []byte, i uint32) []byte {
	e, s := r.t.Events.At(i), r.source.Events.At(i)
	phase, span := byte('X'), true
	switch {
	case s.Phase != 0:
		phase, span = s.Phase, false
	case e.Flags&timeline.Instant != 0:
		phase, span = 'i', false
	}
	dst = append(append(dst, `{"ph": "`...), phase, '"')
	if e.Category != 0 {
		dst = append(dst, r.catHeads[e.Category].text...)
	}
	dst = append(append(dst, `, "name": "`...), r.names[e.Name]...)
	dst = append(dst, `", `...)
	ids := r.rows[e.Row].ids
	dst = append(append(dst, ids...), `, "ts": `...)
	ts := len(dst)
	dst = r.micros(dst, e.Start-r.base)
	tsEnd := len(dst)
	if span {
		dst = r.micros(append(dst, `, "dur": `...), max(e.End-e.Start, 0))
	}
	if s.Fields != 0 {
		dst = append(append(dst, ", "...), r.t.Strings.At(s.Fields)...)
	}
	if raw := r.t.Args.At(s.Args); len(raw) > 0 {
		dst = append(append(append(dst, `, "args": {`...), raw...), '}')
	}
	dst = append(dst, "},\n"...)
	r.stats.Events++
	if e.Flags&timeline.FlowOut != 0 {
		dst = r.sourceFlow(dst, e.Correlation, ids, ts, tsEnd, 's')
	}
	if e.Flags&timeline.FlowIn != 0 {
		dst = r.sourceFlow(dst, e.Correlation, ids, ts, tsEnd, 'f')
	}
	return dst
}

// sourceFlow appends an end of an arrow that an event's flag stands for.
func (r *renderer) sourceFlow(dst []byte, id uint64, ids string, ts, tsEnd int, phase byte) []byte {
	dst = append(append(dst, `{"ph": "`...), phase)
	dst = appendUint(dst, `", "id": `, id)
	dst = append(append(dst, ids...), `, "ts": `...)
	dst = append(dst, dst[ts:tsEnd]...)
	return r.sourceFlowEnd(dst, r.source.FlowName, r.source.FlowCategory, phase == 'f')
}

func (r *renderer) sourceFlowEnd(dst []byte, name, category uint32, enclosing bool) []byte {
	if category != timeline.NoCategory {
		dst = append(append(append(dst, `, "cat": "`...), r.names[category]...), '"')
	}
	dst = append(append(append(dst, `, "name": "`...), r.names[name]...), '"')
	if enclosing {
		dst = append(dst, `, "bp": "e"`...)
	}
	r.stats.Events++
	r.stats.Flows++
	return append(dst, "},\n"...)
}

// sourceFlowPoint appends an arrow's end that stands for itself.
func (r *renderer) sourceFlowPoint(dst []byte, i uint32) []byte {
	p, f := &r.t.Flows[i], r.source.Flows.At(i)
	phase := byte('f')
	switch {
	case p.Start:
		phase = 's'
	case p.Step:
		phase = 't'
	}
	dst = append(append(dst, `{"ph": "`...), phase)
	dst = append(dst, `", `...)
	fields := r.t.Strings.At(f.Fields)
	if len(fields) < 5 || fields[:5] != `"id":` {
		dst = appendUint(dst, `"id": `, p.ID)
	}
	if fields != "" {
		dst = append(append(dst, fields...), ", "...)
	}
	dst = append(append(dst, r.rows[p.Row].ids...), `, "ts": `...)
	dst = r.micros(dst, p.TS-r.base)
	category := p.Category
	if category == 0 {
		category = p.Name
	}
	return r.sourceFlowEnd(dst, p.Name, category, p.Enclosing)
}
