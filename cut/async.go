package cut

import (
	"cmp"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// An asynchronous span is several events: a begin, moments, an end. They are kept or
// left together.

type asyncKey struct {
	category uint32
	process  pid
	id       string
}

type asyncSpan struct {
	depth  int
	span   timeline.Event
	events []uint32
}

// asyncOrder are the phases of asynchronous spans in the order in which those of one
// moment count; capitals are the old form.
const asyncOrder = "bSnTpeF"

func asyncPhase(phase byte) bool { return phase != 0 && strings.IndexByte(asyncOrder, phase) >= 0 }

// asyncEvents decides on the asynchronous spans that these events are.
func (c *cutter) asyncEvents(list []uint32) {
	t := c.t
	phase := func(i uint32) int { return strings.IndexByte(asyncOrder, t.Source.Events.At(i).Phase) }
	slices.SortStableFunc(list, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(t.Events.At(a).Start, t.Events.At(b).Start), cmp.Compare(phase(a), phase(b)))
	})
	open := map[asyncKey]*asyncSpan{}
	var all []*asyncSpan
	for _, i := range list {
		e, source := t.Events.At(i), t.Source.Events.At(i)
		fields := []byte(t.Strings.At(source.Fields))
		id := chrome.Lookup(fields, "id")
		if id == nil {
			id = chrome.Lookup(fields, "id2")
		}
		r := &t.Rows[e.Row]
		k := asyncKey{e.Category, pidOf(r), string(id)}
		s := open[k]
		if s == nil {
			s = &asyncSpan{span: *e}
			open[k] = s
			all = append(all, s)
		}
		s.events = append(s.events, i)
		s.span.End = max(s.span.End, e.End)
		switch source.Phase {
		case 'b', 'S':
			s.depth++
		case 'e', 'F':
			if s.depth--; s.depth <= 0 {
				delete(open, k)
			}
		}
	}
	for _, s := range all {
		if !c.inTime(&s.span) {
			continue
		}
		for _, i := range s.events {
			c.keep.set(i)
			c.kept++
		}
	}
}
