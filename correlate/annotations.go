package correlate

import (
	"cmp"
	"slices"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// spanKey is a stream, and an annotation among the host's events.
type spanKey struct {
	place timeline.Place
	host  uint32
}

// annotate adds, for each annotation and each stream, the span of the device
// work launched under it. It begins 1 ns before that work and ends 1 ns after,
// as Kineto's does, so that viewers nest the work inside. An annotation also covers
// what was launched under those inside it; Kineto knows of the innermost only.
func (b *Builder) annotate() {
	if b.annotations.empty() {
		return
	}
	spans := b.annotatedWork()
	if !b.o.KinetoRows {
		b.coverNested(spans)
	}
	list := make([]*timeline.Event, 0, len(spans))
	for _, s := range spans {
		list = append(list, s)
	}
	slices.SortFunc(list, func(x, y *timeline.Event) int {
		return cmp.Or(cmp.Compare(x.Start, y.Start), cmp.Compare(y.End, x.End), cmp.Compare(x.External, y.External), cmp.Compare(x.Place, y.Place))
	})
	if b.o.KinetoRows {
		pad(list, nil)
	} else {
		pad(list, func(e *timeline.Event) timeline.Place {
			p := b.t.Places[e.Place]
			p.Context = 0
			return p
		})
	}
	for _, s := range list {
		b.t.Events.Add(*s)
	}
}

// annotatedWork returns the spans of the innermost annotations.
func (b *Builder) annotatedWork() map[spanKey]*timeline.Event {
	spans := map[spanKey]*timeline.Event{}
	for i := b.first; i < uint32(b.t.Events.Len()); i++ {
		e := b.t.Events.At(i)
		if !e.Kind.OnDevice() || b.t.HostTimed(e) {
			continue
		}
		x := b.annotations.get(e.Correlation)
		if !x.has {
			continue
		}
		host, ok := b.named(b.hosts().annotations, x.id, e.Start)
		if !ok {
			b.noted["device_work_of_unnamed_annotation"]++
			continue
		}
		p := b.t.Places[e.Place]
		p.Context = 0 // a row is a device's stream, whatever the context
		b.cover(spans, spanKey{p, host}, e)
	}
	return spans
}

// cover widens the span of an annotation on a stream to an event there.
func (b *Builder) cover(spans map[spanKey]*timeline.Event, k spanKey, e *timeline.Event) {
	s := spans[k]
	if s == nil {
		host := b.t.Events.At(k.host)
		spans[k] = &timeline.Event{
			Start: e.Start, End: e.End, Kind: timeline.DeviceAnnotation, Name: host.Name,
			External: host.External, Flags: timeline.HasExternal, Place: e.Place,
		}
		return
	}
	s.Start, s.End = min(s.Start, e.Start), max(s.End, e.End)
}

// coverNested lets annotations cover what those inside them do. Those that begin
// last are taken first, so that each is whole before it is handed on.
func (b *Builder) coverNested(spans map[spanKey]*timeline.Event) {
	if len(b.parents) == 0 {
		return
	}
	places := map[uint32][]timeline.Place{} // of each annotation
	for k := range spans {
		places[k.host] = append(places[k.host], k.place)
	}
	inner := make([]uint32, 0, len(b.parents))
	for i := range b.parents {
		inner = append(inner, i)
	}
	slices.SortFunc(inner, func(x, y uint32) int {
		e, f := b.t.Events.At(x), b.t.Events.At(y)
		return cmp.Or(cmp.Compare(f.Start, e.Start), cmp.Compare(e.End, f.End), cmp.Compare(y, x))
	})
	for _, i := range inner {
		outer := b.parents[i]
		for _, p := range places[i] {
			k := spanKey{p, outer}
			if spans[k] == nil {
				places[outer] = append(places[outer], p)
			}
			b.cover(spans, k, spans[spanKey{p, i}])
		}
	}
}

// pad lets spans begin 1 ns before their work and end 1 ns after it. On a row
// where one ends less than that before the next begins, the gap stays theirs:
// otherwise they would overlap, and the later one would have to leave the row.
func pad(list []*timeline.Event, row func(*timeline.Event) timeline.Place) {
	last := map[timeline.Place]*timeline.Event{}
	for _, s := range list {
		start, end := s.Start, s.End
		s.Start, s.End = start-1, end+1
		if row == nil {
			continue
		}
		k := row(s)
		if p := last[k]; p != nil && p.End-1 <= start && p.End > s.Start {
			p.End, s.Start = start, start
		}
		last[k] = s
	}
}
