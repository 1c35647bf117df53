package perfetto

import (
	"cmp"
	"slices"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// layout spreads the spans of one row over lanes, in each of which spans nest.
type layout struct {
	t      *timeline.Trace
	device bool // only annotations hold other spans
	lanes  [][]uint32
	open   [][]uint32 // by lane: the spans that are open
}

// lay returns the spans of each lane, in the order in which they begin. The first lane
// has all that fits.
func (l *layout) lay(events []uint32, device bool) [][]uint32 {
	l.device = device
	for i := range l.lanes {
		l.lanes[i], l.open[i] = l.lanes[i][:0], l.open[i][:0]
	}
	used := 0
	at := l.t.Events.At
	slices.SortFunc(events, func(x, y uint32) int {
		return cmp.Or(cmp.Compare(at(x).Start, at(y).Start), cmp.Compare(at(y).End, at(x).End), cmp.Compare(at(y).Kind, at(x).Kind), cmp.Compare(x, y))
	})
	for _, i := range events {
		n := 0
		for n < used && !l.takes(n, at(i)) {
			n++
		}
		if n == used {
			used++
			if n == len(l.lanes) {
				l.lanes, l.open = append(l.lanes, nil), append(l.open, nil)
			}
		}
		l.lanes[n] = append(l.lanes[n], i)
		l.open[n] = append(l.open[n], i)
	}
	return l.lanes[:used]
}

// takes reports whether a span can stand in a lane, and closes what has ended there.
func (l *layout) takes(n int, e *timeline.Event) bool {
	open := l.open[n]
	for len(open) > 0 && l.t.Events.At(open[len(open)-1]).End <= e.Start {
		open = open[:len(open)-1]
	}
	l.open[n] = open
	if len(open) == 0 {
		return true
	}
	top := l.t.Events.At(open[len(open)-1])
	return top.End >= e.End && (!l.device || top.Kind == timeline.DeviceAnnotation)
}
