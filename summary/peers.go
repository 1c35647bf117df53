package summary

import (
	"cmp"
	"errors"
	"slices"

	"github.com/flagos-ai/flagos-trace/ranks"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// compareRanks says what the ranks of a job waited for.
func (s *Summary) compareRanks(parts []*part, t *tables) {
	if len(parts) < 2 {
		return
	}
	all := make([]*ranks.Rank, len(parts))
	for i, p := range parts {
		all[i] = p.rank
	}
	if !ranks.Distributed(all) {
		return
	}
	matches := ranks.MatchAll(all)
	var clocks []timeline.Alignment
	if len(matches) > 0 {
		res, err := ranks.Align(all, matches, ranks.AlignOptions{OneHost: true})
		if err != nil {
			s.RanksUnaligned = err.Error()
			if !errors.Is(err, ranks.ErrUnaligned) || res == nil {
				return
			}
			// What does not need a common clock can be said all the same.
			s.Ranks = ranks.Analyze(all, nil, nil)
			s.Ranks.Operations = []ranks.OperationReport{}
			return
		}
		clocks = res.Clocks
		for i, r := range all {
			r.Apply(&clocks[i])
			for k := range parts[i].exposed {
				e := &parts[i].exposed[k]
				e.start, e.end = clocks[i].Map(e.start), clocks[i].Map(e.end)
			}
		}
	}
	s.Ranks = ranks.Analyze(all, matches, clocks)
	// There may be very many: flagos-trace ranks has them.
	s.Ranks.Operations = []ranks.OperationReport{}
	waits(parts, all, matches, t)
}

// waits tells what time of communication passed before the last rank had begun.
func waits(parts []*part, all []*ranks.Rank, matches []ranks.Match, t *tables) {
	when := make([][]interval, len(parts)) // each rank waited
	seen := make([]bool, len(parts))
	waited, matched := map[collectiveKind]int64{}, map[collectiveKind]int64{}
	for i := range matches {
		m := &matches[i]
		var begun int64
		for k, side := range m.Sides {
			if start := all[side.Rank].Ops[side.Op].Start; k == 0 || start > begun {
				begun = start
			}
		}
		for k := range m.Sides {
			side := &m.Sides[k]
			op := &all[side.Rank].Ops[side.Op]
			wait, _ := side.Split(all, begun)
			key := kindOf(&all[side.Rank].Whats[op.What])
			waited[key] += wait
			matched[key]++
			seen[side.Rank] = true
			if wait > 0 {
				when[side.Rank] = append(when[side.Rank], interval{op.Start, op.Start + wait})
			}
		}
	}
	for k, r := range t.collectives {
		// Of those that no other rank has nothing is known.
		if n := matched[k]; n > 0 && n == r.Count {
			wait := waited[k]
			r.WaitNS = &wait
		}
	}
	for i, p := range parts {
		if len(p.trace.Devices) == 1 && seen[i] {
			ns := int64(0)
			for _, w := range union(when[i]) {
				ns += within(p.exposed, w.start, w.end)
			}
			ns = min(ns, p.trace.Devices[0].Busy.CommunicationNS) // a clock's drift may round
			p.trace.Devices[0].Busy.PeerNS = &ns
		}
		p.exposed = nil
	}
}

// union puts intervals in order and joins those that touch.
func union(list []interval) []interval {
	slices.SortFunc(list, func(a, b interval) int { return cmp.Compare(a.start, b.start) })
	out := list[:0]
	for _, x := range list {
		if n := len(out); n > 0 && x.start <= out[n-1].end {
			out[n-1].end = max(out[n-1].end, x.end)
			continue
		}
		out = append(out, x)
	}
	return out
}
