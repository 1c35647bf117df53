package correlate

import (
	"math"
	"slices"

	"github.com/flagos-ai/flagos-trace/timeline"
)

const (
	// minPairs is how many calls with a known operator a session needs for its clock
	// to be aligned.
	minPairs = 8
	// maxPairs bounds how many of a session's calls are looked at.
	maxPairs = 1 << 16
	// minCovered is the part of them that has to fit into their operators.
	minCovered = 0.5
)

// room is what a call leaves its operator: the host's times may be moved by lo to
// hi ns with the call still inside.
type room struct{ lo, hi int64 }

// alignHost moves the host side's times onto the clock of the device tracer. The
// framework reads the processor's counter and ties it to the wall clock by itself,
// for each session anew, so the two differ by a microsecond or so. API calls
// whose operator an external id names must lie inside it: the move is the one
// that brings most of them there, and none where they are there already.
func (b *Builder) alignHost() {
	if b.o.Fit != nil || b.operators.empty() || b.first == 0 {
		return // fitted to the host, or nothing to go by
	}
	rooms := b.rooms()
	type result struct {
		shift, slack int64
		pairs        int
		ok           bool
	}
	found := make([]result, len(b.sessions))
	best := -1
	for i, list := range rooms {
		if b.sessions[i].Events == 0 || len(list) < minPairs {
			continue
		}
		r, covered := bestShift(list)
		if float64(covered) < minCovered*float64(len(list)) {
			b.hostNoted[HostNotAligned]++
			continue
		}
		s := result{pairs: len(list), ok: true, slack: (r.hi - r.lo + 1) / 2}
		if r.lo > 0 || r.hi < 0 {
			s.shift = r.lo + (r.hi-r.lo)/2
		}
		found[i] = s
		if best < 0 || s.pairs > found[best].pairs {
			best = i
		}
	}
	if best < 0 {
		return
	}
	if c := b.t.Completeness; c != nil {
		c.Clock.HostOffsetNS, c.Clock.HostUncertaintyNS = &found[best].shift, &found[best].slack
	}
	// A session without enough calls has the offset of the one before it, or after.
	last := slices.IndexFunc(found, func(r result) bool { return r.ok })
	b.index = nil // they move
	event, flow := uint32(0), uint32(0)
	for i := range b.sessions {
		if found[i].ok {
			last = i
		}
		s, shift := &b.sessions[i], found[last].shift
		if shift != 0 {
			for k := event; k < min(event+s.Events, b.first); k++ {
				e := b.t.Events.At(k)
				e.Start, e.End = e.Start+shift, e.End+shift
			}
			for k := flow; k < min(flow+s.Flows, uint32(len(b.t.Flows))); k++ {
				b.t.Flows[k].TS += shift
			}
		}
		event, flow = event+s.Events, flow+s.Flows
	}
}

// HostNotAligned counts, in Operators.Noted, the sessions of which no offset brings most calls into
// their operators.
const HostNotAligned = "sessions_with_a_clock_of_their_own"

// rooms lists, for each session, what its operators' calls leave.
func (b *Builder) rooms() [][]room {
	ends := make([]uint32, len(b.sessions))
	n := uint32(0)
	for i, s := range b.sessions {
		n += s.Events
		ends[i] = n
	}
	calls := make([]int, len(b.sessions))
	each := func(fn func(session int, r room)) {
		for i := b.first; i < uint32(b.t.Events.Len()); i++ {
			e := b.t.Events.At(i)
			if !e.Kind.IsAPI() {
				continue
			}
			x := b.operators.get(e.Correlation)
			if !x.has {
				continue
			}
			at, ok := b.named(b.hosts().operators, x.id, e.Start)
			if !ok {
				continue
			}
			op := b.t.Events.At(at)
			r := room{lo: e.End - op.End, hi: e.Start - op.Start}
			if op.Flags&timeline.Unfinished != 0 {
				r.lo = math.MinInt64
			}
			if s, _ := slices.BinarySearch(ends, at+1); s < len(ends) && r.lo <= r.hi {
				fn(s, r)
			}
		}
	}
	each(func(s int, _ room) { calls[s]++ })
	list := make([][]room, len(b.sessions))
	seen := make([]int, len(b.sessions))
	each(func(s int, r room) {
		if seen[s]%(calls[s]/maxPairs+1) == 0 {
			list[s] = append(list[s], r)
		}
		seen[s]++
	})
	return list
}

// bestShift returns the shifts that suit the most rooms, and how many those are;
// where no shift at all does so as well, those around 0.
func bestShift(rooms []room) (best room, covered int) {
	los, his := make([]int64, len(rooms)), make([]int64, len(rooms))
	for i, r := range rooms {
		los[i], his[i] = r.lo, r.hi
	}
	slices.Sort(los)
	slices.Sort(his)
	left := 0
	for i, lo := range los {
		for left < len(his) && his[left] < lo {
			left++
		}
		if n := i + 1 - left; n > covered {
			best, covered = room{lo, his[left]}, n
		}
	}
	// Around 0.
	from, _ := slices.BinarySearch(los, 1) // the first beyond 0
	to, _ := slices.BinarySearch(his, 0)   // the first not below 0
	if from-to == covered && from > 0 {
		best = room{los[from-1], his[to]}
	}
	if best.lo == math.MinInt64 {
		best.lo = min(best.hi, 0)
	}
	return best, covered
}
