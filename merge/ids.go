package merge

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"math"
	"strconv"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// correlationKeys are the arguments that hold a correlation id, by any producer.
var correlationKeys = map[string]bool{
	"correlation": true, "Correlation": true, "connection_id": true,
	"wait_on_cuda_event_record_corr_id": true, "wait_on_musa_event_record_corr_id": true,
}

// taken are the ids of one kind that parts have already, as spans.
type taken struct {
	spans []idSpan
	top   uint64
}

type idSpan struct{ lo, hi uint64 }

func (s *idSpan) see(id uint64) {
	if id == 0 {
		return
	}
	if s.lo == 0 {
		s.lo = id
	}
	s.lo, s.hi = min(s.lo, id), max(s.hi, id)
}

// shift returns what must be added to the ids of a part to keep them apart from
// those before: 0 where they are.
func (t *taken) shift(s idSpan) (uint64, error) {
	if s.hi == 0 {
		return 0, nil
	}
	by := uint64(0)
	for _, o := range t.spans {
		if s.lo <= o.hi && o.lo <= s.hi {
			by = t.top
		}
	}
	if s.hi > math.MaxUint64-by {
		return 0, fmt.Errorf("%w: they go up to %d, and those before up to %d; merge this trace first", ErrIDs, s.hi, t.top)
	}
	s.lo, s.hi = s.lo+by, s.hi+by
	t.spans, t.top = append(t.spans, s), max(t.top, s.hi)
	return by, nil
}

// renumbering is what happens to the ids of a part.
type renumbering struct {
	correlation, flow, other uint64 // added
	suffix                   string // of ids that are no numbers
}

// renumber decides what happens to the ids of a part.
func (m *merger) renumber(from *timeline.Trace) (r renumbering, err error) {
	var correlations, flows, others idSpan
	src := from.Source
	for i := range uint32(from.Events.Len()) {
		e := from.Events.At(i)
		correlations.see(e.Correlation)
		if e.Kind == timeline.Sync {
			correlations.see(from.Syncs.At(e.Detail).SourceCorrelation)
		}
		if src != nil {
			if s := src.Events.At(i); s.Fields != 0 && ownID(s.Phase) {
				if n, ok := numericID(from.Strings.At(s.Fields)); ok {
					others.see(n)
				}
			}
		}
	}
	for i := range from.Flows {
		f := &from.Flows[i]
		if src == nil {
			flows.see(f.ID)
			continue
		}
		switch s := src.Flows.At(uint32(i)); {
		case s.Fields == 0 && src.FlowName != 0 && f.Name == src.FlowName && categoryOf(f) == src.FlowCategory:
			correlations.see(f.ID)
		case hasID(from.Strings.At(s.Fields)):
			if n, ok := numericID(from.Strings.At(s.Fields)); ok {
				flows.see(n)
			}
		default:
			flows.see(f.ID)
		}
	}
	if r.correlation, err = m.correlations.shift(correlations); err != nil {
		return r, fmt.Errorf("correlation ids: %w", err)
	}
	if r.flow, err = m.arrows.shift(flows); err != nil {
		return r, fmt.Errorf("ids of arrows: %w", err)
	}
	if r.other, err = m.others.shift(others); err != nil {
		return r, fmt.Errorf("ids of asynchronous events: %w", err)
	}
	if m.done > 0 {
		r.suffix = "@" + strconv.Itoa(m.done)
	}
	return r, nil
}

// args renumbers correlation ids within raw arguments and leaves every other byte.
func (r *renumbering) args(raw []byte) []byte {
	if r.correlation == 0 || !bytes.Contains(raw, []byte("orr")) && !bytes.Contains(raw, []byte("connection_id")) {
		return raw
	}
	var out []byte
	from := 0
	for w := chrome.WalkMembers(raw); w.Next(); {
		if !correlationKeys[string(w.Key)] {
			continue
		}
		n, ok := unsigned(w.Value)
		if !ok || n == 0 {
			continue // none
		}
		lo := w.End - len(w.Value)
		out = appendID(append(out, raw[from:lo]...), w.Value, n+r.correlation)
		from = w.End
	}
	if from == 0 {
		return raw
	}
	return append(out, raw[from:]...)
}

// unsigned reads an id, quoted or not.
func unsigned(v chrome.Value) (uint64, bool) {
	b := []byte(v)
	if v.IsString() {
		b = b[1 : len(b)-1]
	}
	n, err := strconv.ParseUint(string(b), 10, 64)
	return n, err == nil && strconv.FormatUint(n, 10) == string(b)
}

// appendID writes a number quoted if v is.
func appendID(dst []byte, v chrome.Value, n uint64) []byte {
	if v.IsString() {
		return append(strconv.AppendUint(append(dst, '"'), n, 10), '"')
	}
	return strconv.AppendUint(dst, n, 10)
}

// ownID reports whether events of a phase are tied together by an id.
func ownID(phase byte) bool {
	return phase != 0 && bytes.IndexByte([]byte("bneSTpFNOD"), phase) >= 0
}

func hasID(fields string) bool { return len(fields) > 4 && fields[:5] == `"id":` }

// numericID is the id among raw members, where it is a number.
func numericID(fields string) (uint64, bool) {
	return unsigned(chrome.Lookup([]byte(fields), "id"))
}

// fields renumbers the id among the further members of an event.
func (m *merger) fields(c *copying, fields uint32, phase byte) uint32 {
	if fields == 0 || c.ids.other == 0 && c.ids.suffix == "" {
		return c.strings[fields]
	}
	text := c.from.Strings.At(fields)
	var out []byte
	from := 0
	for w := chrome.WalkMembers([]byte(text)); w.Next(); {
		key := string(w.Key)
		if key != "bind_id" && (key != "id" || !ownID(phase)) {
			continue
		}
		out = append(out, text[from:w.End-len(w.Value)]...)
		if n, ok := unsigned(w.Value); ok && key == "id" {
			out = appendID(out, w.Value, n+c.ids.other)
		} else {
			out = c.ids.suffixed(out, w.Value)
		}
		from = w.End
	}
	if from == 0 {
		return c.strings[fields]
	}
	return m.t.Strings.IDBytes(append(out, text[from:]...))
}

// suffixed makes an id that is no number one of the part: quoted, with the part's
// suffix behind it.
func (r *renumbering) suffixed(dst []byte, v chrome.Value) []byte {
	if r.suffix == "" {
		return append(dst, v...)
	}
	if !v.IsString() {
		// The space tells it from one that was quoted.
		return append(append(append(append(dst, '"'), v...), " "+r.suffix...), '"')
	}
	return append(append(append(dst, v[:len(v)-1]...), r.suffix...), '"')
}

// flowText renumbers the id in the members of an arrow's end, and returns what
// tells it from others then.
func (r *renumbering) flowText(fields string, id uint64) (string, uint64) {
	w := chrome.WalkMembers([]byte(fields))
	if !w.Next() {
		return fields, id
	}
	out := []byte(fields[:w.End-len(w.Value)])
	if n, ok := unsigned(w.Value); ok {
		out, id = appendID(out, w.Value, n+r.flow), n+r.flow
	} else if r.suffix != "" {
		at := len(out)
		out = r.suffixed(out, w.Value)
		h := fnv.New64a() // as the reader tells texts apart
		h.Write(out[at+1 : len(out)-1])
		id = h.Sum64()
	} else {
		out = append(out, w.Value...)
	}
	return string(append(out, fields[w.End:]...)), id
}
