package correlate

import (
	"cmp"
	"slices"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// drawRanges gives the ranges of pairMarkers their lanes and adds, for each and
// each stream, the span of the device work that its thread launched in it.
func (b *Builder) drawRanges(calls *index[uint32]) {
	ranges := b.findRanges()
	if len(ranges) == 0 {
		return
	}
	at := b.t.Events.At
	work := b.launchedWork(calls)
	var spans []*timeline.Event
	for len(ranges) > 0 {
		th := at(ranges[0]).Row
		n := 0
		for n < len(ranges) && at(ranges[n]).Row == th {
			n++
		}
		w := 0
		for w < len(work) && work[w].thread < th {
			w++
		}
		work = work[w:]
		for w = 0; w < len(work) && work[w].thread == th; {
			w++
		}
		for _, lane := range b.layRanges(ranges[:n]) {
			spans = append(spans, b.deviceSpans(lane, work[:w])...)
		}
		ranges, work = ranges[n:], work[w:]
	}
	slices.SortStableFunc(spans, func(x, y *timeline.Event) int {
		return cmp.Or(cmp.Compare(x.Start, y.Start), cmp.Compare(y.End, x.End))
	})
	row := b.streamOf
	if b.o.KinetoRows {
		row = nil
	}
	pad(spans, row)
	for _, s := range spans {
		b.t.Events.Add(*s)
	}
}

// streamOf returns a place as a row has it: a device's stream, whatever the
// context.
func (b *Builder) streamOf(e *timeline.Event) timeline.Place {
	p := b.t.Places[e.Place]
	p.Context = 0
	return p
}

// findRanges lists what pairMarkers made, as far as it is in the window, by thread
// and time, outer ranges first.
func (b *Builder) findRanges() []uint32 {
	at := b.t.Events.At
	var list []uint32
	for i := b.first; i < uint32(b.t.Events.Len()); i++ {
		e := at(i)
		if e.Kind != timeline.Host {
			continue
		}
		if e.End < e.Start {
			b.noted[notedBackwards]++
			e.End = e.Start
		}
		list = append(list, i)
	}
	slices.SortFunc(list, func(x, y uint32) int {
		return cmp.Or(cmp.Compare(at(x).Row, at(y).Row), cmp.Compare(at(x).Start, at(y).Start), cmp.Compare(at(y).End, at(x).End), cmp.Compare(x, y))
	})
	return list
}

// layRanges puts the ranges of one thread into lanes, of which the first is the
// thread's own row, where calls are, too. What began and ended on one thread
// nests there unless two ranges overlap in part, as those that are ended by
// number may; one that ended on another thread may end in the middle of a call.
// It returns the ranges of each lane, in order and without the instants.
func (b *Builder) layRanges(list []uint32) [][]uint32 {
	lanes := make([]lane, 1)
	ranges := make([][]uint32, 1)
	instant := b.t.Strings.ID(categoryInstant)
	for _, i := range list {
		e := b.t.Events.At(i)
		n := 0
		if e.Place == crossing {
			n = 1
		}
		e.Place = 0
		if e.Category == instant {
			continue
		}
		for n < len(lanes) && !lanes[n].takes(e) {
			n++
		}
		for n >= len(lanes) {
			lanes, ranges = append(lanes, lane{}), append(ranges, nil)
		}
		lanes[n].open = append(lanes[n].open, span{e.End, true})
		ranges[n] = append(ranges[n], i)
		e.Place = uint32(n)
	}
	return ranges
}

// rangeRow returns the row of a range or an instant, and clears its Place.
// Threads' ids are small, so that those of lanes are none's.
func (b *Builder) rangeRow(e *timeline.Event, threads []uint32) uint32 {
	row, n := threads[e.Row], e.Place
	e.Place = 0
	if n == 0 {
		return row
	}
	r := b.t.Rows[row]
	b.noted["events_moved_to_a_lane"]++
	return b.t.Row(timeline.Row{
		PID: r.PID, TID: r.TID + int64(n)*laneRow, Name: rangeRowName(r.TID, n), SortIndex: r.TID, HasSortIndex: true, Lane: uint16(n), Kind: timeline.RowOther,
	})
}

// launched is a piece of device work and the thread and time of its call.
type launched struct {
	thread uint32
	call   int64
	event  uint32
}

// launchedWork lists the device work whose call is there, by thread and time of
// the call.
func (b *Builder) launchedWork(calls *index[uint32]) []launched {
	at := b.t.Events.At
	var list []launched
	for i := b.first; i < uint32(b.t.Events.Len()); i++ {
		e := at(i)
		if !e.Kind.OnDevice() || e.Correlation == 0 || b.t.HostTimed(e) {
			continue
		}
		if call := calls.get(e.Correlation); call != 0 {
			c := at(call - 1)
			list = append(list, launched{c.Row, c.Start, i})
		}
	}
	slices.SortFunc(list, func(x, y launched) int {
		return cmp.Or(cmp.Compare(x.thread, y.thread), cmp.Compare(x.call, y.call), cmp.Compare(x.event, y.event))
	})
	return list
}

// deviceSpans returns the spans of one lane's ranges, which nest, on the streams.
func (b *Builder) deviceSpans(ranges []uint32, work []launched) []*timeline.Event {
	at := b.t.Events.At
	spans := make([][]*timeline.Event, len(ranges)) // by range, one a stream
	var open []int                                  // ranges around the call, outer first
	next := 0
	for _, w := range work {
		for ; next < len(ranges) && at(ranges[next]).Start <= w.call; next++ {
			for len(open) > 0 && at(ranges[open[len(open)-1]]).End <= at(ranges[next]).Start {
				open = open[:len(open)-1]
			}
			open = append(open, next)
		}
		for len(open) > 0 && at(ranges[open[len(open)-1]]).End < w.call {
			open = open[:len(open)-1]
		}
		e := at(w.event)
		for _, r := range open {
			spans[r] = b.extend(spans[r], at(ranges[r]), e)
		}
	}
	return slices.Concat(spans...)
}

// extend lets the span of a range on the stream of e reach over e.
func (b *Builder) extend(spans []*timeline.Event, of, e *timeline.Event) []*timeline.Event {
	for _, s := range spans {
		if s.Place == e.Place || b.streamOf(s) == b.streamOf(e) {
			s.Start, s.End = min(s.Start, e.Start), max(s.End, e.End)
			return spans
		}
	}
	return append(spans, &timeline.Event{
		Kind: timeline.DeviceAnnotation, Start: e.Start, End: e.End, Name: of.Name, Place: e.Place, Flags: of.Flags & timeline.Unfinished,
	})
}
