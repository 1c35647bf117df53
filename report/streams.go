package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/flagos-ai/flagos-trace/calltree"
	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// stream tells streams apart.
type stream struct {
	device int // in measure.Run.Devices
	has    bool
	number uint32 // or the row, where the trace says no stream
}

// streamLines finds the line of a stream.
type streamLines struct {
	v     *view
	at    map[stream]int
	of    []stream
	label []string
	spans []int
	// places has for places the line that was found last, and 1 + the device that it is of.
	places []struct{ device, line int }
}

// find returns the line of device work.
func (s *streamLines) find(device int, e *timeline.Event) int {
	last := &s.places[e.Place]
	if last.device == device+1 {
		return last.line
	}
	p := &s.v.t.Places[e.Place]
	k := stream{device: device, has: p.Has&event.HasStream != 0, number: p.Stream}
	if !k.has {
		k.number = e.Row
	}
	i, ok := s.at[k]
	if !ok {
		i = len(s.of)
		s.at[k] = i
		label := fmt.Sprintf("stream %d", p.Stream)
		if !k.has {
			label = rowLabel(&s.v.t.Rows[e.Row])
		}
		s.of, s.label, s.spans = append(s.of, k), append(s.label, label), append(s.spans, 0)
	}
	if k.has {
		last.device, last.line = device+1, i
	}
	return i
}

// works calls each with the device work of each device, and its line.
func (s *streamLines) works(each func(line int, w calltree.Work, e *timeline.Event)) {
	for d := range s.v.m.Devices {
		for _, w := range s.v.m.Devices[d].Works {
			e := s.v.x.WorkAt(w)
			each(s.find(d, e), w, e)
		}
	}
}

// streams has a row for each stream of each device.
func (v *view) streams(d detail) []line {
	s := streamLines{v: v, at: map[stream]int{}, places: make([]struct{ device, line int }, len(v.t.Places))}
	s.works(func(i int, _ calltree.Work, _ *timeline.Event) { s.spans[i]++ })
	out := make([]line, len(s.of))
	index := make([]int, len(s.of))
	for i, k := range s.of {
		index[i] = i
		out[i] = newLine(Row{Kind: RowStream, Label: s.label[i], Device: k.device}, s.spans[i], d)
	}
	s.works(func(i int, w calltree.Work, e *timeline.Event) { out[i].put(e.Start, e.End, e.Name, v.kinds[w]) })
	slices.SortStableFunc(index, func(a, b int) int {
		return cmp.Or(cmp.Compare(s.of[a].device, s.of[b].device), cmp.Compare(s.of[a].number, s.of[b].number))
	})
	sorted := make([]line, len(out))
	for i, k := range index {
		sorted[i] = out[k]
	}
	return sorted
}
