package merge

import (
	"hash/fnv"
	"strings"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/timeline"
)

func (x *extractor) flows() {
	from, t := x.from, x.t
	src := from.Source
	ends := x.ends()
	for i := range from.Flows {
		f, s := from.Flows[i], *src.Flows.At(uint32(i))
		row, ok := x.rows[f.Row]
		if !ok || from.Strings.At(f.Name) == CollectiveArrow {
			continue
		}
		switch text := from.Strings.At(s.Fields); {
		case s.Fields == 0 && f.Name == src.FlowName && src.FlowName != 0 && categoryOf(&f) == src.FlowCategory:
			f.ID += x.ids.correlation
		case s.Fields == 0 && x.own(&f):
			f.ID += x.ids.correlation
			if f.Start || f.Enclosing {
				if e, ok := ends[arrowEnd{f.ID, f.TS, row}]; ok && x.attach(e, f.Start) {
					continue
				}
			}
		case hasID(text):
			if n, ok := numericID(text); ok {
				f.ID = n + x.ids.flow
			}
			text = x.textID(text, x.ids.flow, &f.ID)
			s.Fields = t.Strings.ID(text)
		default:
			f.ID += x.ids.flow
			s.Fields = x.string(s.Fields)
		}
		f.Row, f.Name, f.Category = row, x.string(f.Name), x.category(f.Category)
		t.Flows = append(t.Flows, f)
		t.Source.Flows.Add(s)
	}
}

// arrowEnd is where an arrow's end stands: on the event of that correlation id that
// starts there.
type arrowEnd struct {
	id  uint64
	ts  int64
	row uint32
}

// own reports whether an arrow is one from an API call to device work in a part that
// calls these otherwise than the merged trace.
func (x *extractor) own(f *timeline.FlowPoint) bool {
	i, s := x.info, &x.from.Strings
	if i.Arrow == "" || f.Step || s.At(f.Name) != i.Arrow {
		return false
	}
	if c := categoryOf(f); c != timeline.NoCategory {
		return !i.NoArrowCategory && s.At(c) == i.ArrowCategory
	}
	return i.NoArrowCategory
}

// ends finds the events that such arrows may stand on.
func (x *extractor) ends() map[arrowEnd]uint32 {
	if x.info.Arrow == "" {
		return nil
	}
	out := map[arrowEnd]uint32{}
	for i := range uint32(x.t.Events.Len()) {
		if e := x.t.Events.At(i); e.Correlation != 0 {
			k := arrowEnd{e.Correlation, e.Start, e.Row}
			if _, ok := out[k]; !ok {
				out[k] = i
			}
		}
	}
	return out
}

func (x *extractor) attach(event uint32, start bool) bool {
	flag := timeline.FlowIn
	if start {
		flag = timeline.FlowOut
	}
	e := x.t.Events.At(event)
	if e.Flags&flag != 0 {
		return false
	}
	e.Flags |= flag
	return true
}

// fields takes the renumbering of ids among an event's further members back.
func (x *extractor) fields(text string, phase byte) string {
	out, from := []byte(nil), 0
	for w := chrome.WalkMembers([]byte(text)); w.Next(); {
		key := string(w.Key)
		if key != "bind_id" && (key != "id" || !ownID(phase)) {
			continue
		}
		out = append(out, text[from:w.End-len(w.Value)]...)
		if n, ok := unsigned(w.Value); ok && key == "id" {
			out = appendID(out, w.Value, n+x.ids.other)
		} else {
			out = x.unsuffixed(out, w.Value)
		}
		from = w.End
	}
	return string(append(out, text[from:]...))
}

// textID is fields for the id of an arrow, which comes first.
func (x *extractor) textID(fields string, by uint64, id *uint64) string {
	w := chrome.WalkMembers([]byte(fields))
	if !w.Next() {
		return fields
	}
	out := []byte(fields[:w.End-len(w.Value)])
	if n, ok := unsigned(w.Value); ok {
		out = appendID(out, w.Value, n+by)
	} else {
		at := len(out)
		out = x.unsuffixed(out, w.Value)
		h := fnv.New64a()
		h.Write([]byte(strings.Trim(string(out[at:]), `"`)))
		*id = h.Sum64()
	}
	return string(append(out, fields[w.End:]...))
}

func (x *extractor) unsuffixed(dst []byte, v chrome.Value) []byte {
	if !v.IsString() || x.info.Suffix == "" {
		return append(dst, v...)
	}
	text := string(v[1 : len(v)-1])
	if bare, ok := strings.CutSuffix(text, " "+x.info.Suffix); ok {
		return append(dst, bare...)
	}
	return append(append(append(dst, '"'), strings.TrimSuffix(text, x.info.Suffix)...), '"')
}
