package correlate

import (
	"cmp"
	"slices"

	"github.com/flagos-ai/flagos-trace/timeline"
)

const (
	categoryOperator   = "cpu_op"
	categoryAnnotation = "user_annotation"
)

// hostByExternal maps external ids to the host events of a category.
func (b *Builder) hostByExternal(category string) map[int64]uint32 {
	want := b.t.Strings.ID(category)
	m := map[int64]uint32{}
	for i := range b.first {
		e := b.t.Events.At(i)
		if e.Kind == timeline.Host && e.Category == want && e.Flags&timeline.HasExternal != 0 {
			m[e.External] = i
		}
	}
	return m
}

// annotate adds, for each annotation and each stream, the span of the device
// work launched under it. It begins 1 ns before that work and ends 1 ns after,
// as Kineto's does, so that viewers nest the work inside.
func (b *Builder) annotate() {
	if b.annotations.empty() {
		return
	}
	named := b.hostByExternal(categoryAnnotation)
	type key struct {
		place timeline.Place
		id    int64
	}
	spans := map[key]*timeline.Event{}
	n := uint32(b.t.Events.Len())
	for i := b.first; i < n; i++ {
		e := b.t.Events.At(i)
		if !e.Kind.OnDevice() {
			continue
		}
		x := b.annotations.get(e.Correlation)
		if !x.has {
			continue
		}
		host, ok := named[x.id]
		if !ok {
			b.noted["device_work_of_unnamed_annotation"]++
			continue
		}
		p := b.t.Places[e.Place]
		p.Context = 0 // a row is a device's stream, whatever the context
		k := key{p, x.id}
		s := spans[k]
		if s == nil {
			spans[k] = &timeline.Event{
				Start: e.Start, End: e.End, Kind: timeline.DeviceAnnotation, Name: b.t.Events.At(host).Name,
				External: x.id, Flags: timeline.HasExternal, Place: e.Place,
			}
			continue
		}
		s.Start, s.End = min(s.Start, e.Start), max(s.End, e.End)
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
