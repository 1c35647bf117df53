package chrome

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// edge is a begin or an end event. They are paired when all are known, for a
// document need not have them in the order of time.
type edge struct {
	ts     int64
	offset int64
	row    uint32
	event  uint32 // of a begin
	name   uint32
	args   uint32 // of an end
	begin  bool
}

func (b *builder) edge(k *block, it *item, offset int64, begin bool) edge {
	return edge{ts: it.ts, offset: offset, row: b.row(k, it, offset), name: b.text(it.name.in(k.text)), begin: begin}
}

// pair makes spans of begins and ends: on each row, in the order of time, an end
// closes the innermost open span of its name, or the innermost if it has none.
// What that leaves over is for leftOver.
func (b *builder) pair() {
	if len(b.ends) == 0 {
		return
	}
	t := b.t
	end := int64(math.MinInt64)
	for i := range uint32(t.Events.Len()) {
		end = max(end, t.Events.At(i).End)
	}
	for i := range b.ends {
		end = max(end, b.ends[i].ts)
	}
	slices.SortStableFunc(b.ends, func(x, y edge) int { return cmp.Or(cmp.Compare(x.row, y.row), cmp.Compare(x.ts, y.ts)) })
	var open, stray []int32 // in b.ends
	for i := range b.ends {
		e := &b.ends[i]
		if e.begin {
			open = append(open, int32(i))
		} else if at := b.namesake(open, e); at >= 0 {
			if at < len(open)-1 {
				b.find.add(RuleEndOrder, e.offset, int64(b.ends[open[at]].event), "an end"+b.quote(e.name)+" closes a begin that is not the innermost")
			}
			b.close(&b.ends[open[at]], e)
			open = slices.Delete(open, at, at+1)
		} else {
			stray = append(stray, int32(i))
		}
		if i+1 == len(b.ends) || b.ends[i+1].row != e.row {
			b.leftOver(open, stray, end)
			open, stray = open[:0], stray[:0]
		}
	}
	b.ends = nil
}

// maxLook bounds how far below the innermost span its namesake is looked for.
const maxLook = 1000

// namesake is the index of the innermost open span of an end's name, of the
// innermost if the end has no name; -1: there is none.
func (b *builder) namesake(open []int32, e *edge) int {
	for at := len(open) - 1; at >= 0 && at > len(open)-1-maxLook; at-- {
		if e.name == 0 || b.ends[open[at]].name == e.name {
			return at
		}
	}
	return -1
}

// leftOver pairs what names did not: an end closes the innermost begin before
// it. Begins that are left last until the trace ends.
func (b *builder) leftOver(open, stray []int32, end int64) {
	var pending []int32 // begins before the end at hand, not closed
	k := 0
	for i := range stray {
		e := &b.ends[stray[i]]
		for ; k < len(open) && b.ends[open[k]].ts <= e.ts; k++ {
			pending = append(pending, open[k])
		}
		if len(pending) == 0 {
			b.find.add(RuleNoBegin, e.offset, -1, "an end without begin was left out"+b.quote(e.name))
			continue
		}
		o := &b.ends[pending[len(pending)-1]]
		pending = pending[:len(pending)-1]
		b.find.add(RuleEndName, e.offset, int64(o.event), "an end"+b.quote(e.name)+" closes a begin of another name"+b.quote(o.name))
		b.close(o, e)
	}
	for ; k < len(open); k++ {
		pending = append(pending, open[k])
	}
	for _, p := range pending {
		o := &b.ends[p]
		ev := b.t.Events.At(o.event)
		ev.End = max(end, ev.Start)
		if ev.Flags&timeline.Unfinished == 0 {
			// As Kineto has it, so that it is known of the trace written anew.
			ev.Flags |= timeline.Unfinished
			if b.open == 0 {
				b.open = b.lateArgs.Add([]byte(`"finished": false`))
			}
			b.addArgs(o.event, b.open)
		}
		b.find.add(RuleNoEnd, o.offset, int64(o.event), "a begin without end; it is taken to last until the trace ends")
	}
}

// close ends a begin's span.
func (b *builder) close(begin, e *edge) {
	i := begin.event
	b.t.Events.At(i).End = e.ts
	if e.args != 0 {
		b.addArgs(i, e.args)
	}
}

// addArgs adds arguments to those of event i.
func (b *builder) addArgs(i, args uint32) {
	s := b.src.Events.Own(i)
	s.Args = b.joinArgs(s.Args, args)
	if k := b.t.Events.At(i).Kind; k == timeline.Host || k == timeline.Other {
		b.t.Events.At(i).Detail = s.Args
	}
}

// joinArgs adds the arguments of an end that its begin does not have.
func (b *builder) joinArgs(begin, end uint32) uint32 {
	if begin == 0 {
		return end
	}
	text := slices.Clone(b.lateArgs.At(begin))
	added := false
	for m := WalkMembers(b.lateArgs.At(end)); m.Next(); {
		if Lookup(b.lateArgs.At(begin), string(m.Key)) == nil {
			text = append(append(text, ", "...), b.lateArgs.At(end)[m.Start:m.End]...)
			added = true
		}
	}
	if !added {
		return begin
	}
	return b.lateArgs.Add(text)
}

// quote is a name to be shown in a finding, with a blank before it.
func (b *builder) quote(name uint32) string {
	s := b.t.Strings.At(name)
	if s == "" {
		return ""
	}
	if len(s) > 60 {
		s = s[:60]
	}
	return " " + strconv.QuoteToGraphic(s)
}
