package ranks

import (
	"cmp"
	"fmt"
	"slices"
)

// Match is one operation as the ranks of its group saw it.
type Match struct {
	// What is that of the first of Sides.
	What *What
	// Sides are in the order of ranks; a group of which not all ranks have a trace,
	// or not of that operation, has fewer than its size.
	Sides []Side
}

// Side is one rank's part in a Match.
type Side struct {
	Rank int // index into the ranks given to MatchAll
	Op   int // index into Rank.Ops
}

// signature is what the operations of all ranks have in common. Sizes of an
// all-to-all differ from rank to rank.
type signature struct {
	name, dtype string
	in, out     int64
}

// lane is the operations of one group, or of one pair of ranks, in one rank, in
// their order.
type lane struct {
	rank int
	ops  []int
	sigs []uint32 // signatures, by number
	seqs []uint64 // empty where not all have one
}

// MatchAll finds which operations of the ranks are one. Within a group operations
// run in the same order everywhere, so that they are matched by number: that which
// the trace says, or else their place in the order, shifted as kinds and sizes
// demand where ranks were not recorded over the same time.
//
// A second trace of one rank takes no part. Matches are in the order of their first side's start. A rank's operations that
// no other rank has are in none.
func MatchAll(ranks []*Rank) []Match {
	lanes := map[string][]*lane{}
	var keys []string
	sigs := map[signature]uint32{}
	for i, r := range ranks {
		if twin(ranks, i) >= 0 {
			continue
		}
		own := map[string]*lane{}
		names := make([]string, len(r.Whats))
		numbers := make([]uint32, len(r.Whats))
		for w := range r.Whats {
			names[w] = r.laneOf(&r.Whats[w])
			sig := r.Whats[w].signature()
			if _, ok := sigs[sig]; !ok {
				sigs[sig] = uint32(len(sigs))
			}
			numbers[w] = sigs[sig]
		}
		for k := range r.Ops {
			key := names[r.Ops[k].What]
			if key == "" {
				continue
			}
			l := own[key]
			if l == nil {
				l = &lane{rank: i}
				own[key] = l
				if lanes[key] == nil {
					keys = append(keys, key)
				}
				lanes[key] = append(lanes[key], l)
			}
			l.ops = append(l.ops, k)
			l.sigs = append(l.sigs, numbers[r.Ops[k].What])
			if r.Ops[k].HasSeq {
				l.seqs = append(l.seqs, r.Ops[k].Seq)
			}
		}
	}
	slices.Sort(keys)
	var out []Match
	for _, key := range keys {
		if len(lanes[key]) > 1 {
			out = append(out, matchLanes(ranks, lanes[key])...)
		}
	}
	slices.SortStableFunc(out, func(a, b Match) int { return cmp.Compare(a.start(ranks), b.start(ranks)) })
	return out
}

// twin is an earlier trace that says that it is of the same rank, -1 if there is none.
func twin(ranks []*Rank, i int) int {
	if ranks[i].Number < 0 {
		return -1
	}
	return slices.IndexFunc(ranks[:i], func(r *Rank) bool { return r.Number == ranks[i].Number })
}

func (m *Match) start(ranks []*Rank) int64 {
	s := m.Sides[0]
	return ranks[s.Rank].Ops[s.Op].Start
}

// laneOf names what an operation stands in one order with; "" for what cannot be
// matched.
func (r *Rank) laneOf(w *What) string {
	switch w.Kind {
	case Send, Recv:
		if r.Number < 0 || w.Peer < 0 {
			return ""
		}
		from, to := r.Number, w.Peer
		if w.Kind == Recv {
			from, to = to, from
		}
		return fmt.Sprintf("%s %d>%d", w.Group, from, to)
	case Other:
		return ""
	}
	if w.Size == 1 {
		return ""
	}
	return w.Group
}

func (w *What) signature() signature {
	s := signature{w.Name, w.Dtype, w.In, w.Out}
	switch w.Kind {
	case Send, Recv:
		s.name = "" // one side sends, the other receives
	case Rooted:
		s.in, s.out = -1, -1 // only the root has both
	}
	if kindPrefix(w.Name, "alltoall") {
		s.in, s.out = -1, -1
	}
	return s
}

// matchLanes matches the lanes of one group against the longest of them.
func matchLanes(ranks []*Rank, lanes []*lane) []Match {
	hub := lanes[0]
	for _, l := range lanes {
		if len(l.ops) > len(hub.ops) {
			hub = l
		}
	}
	sides := make([][]Side, len(hub.ops))
	for _, l := range lanes {
		if l == hub {
			for i, op := range l.ops {
				sides[i] = append(sides[i], Side{l.rank, op})
			}
			continue
		}
		if len(l.seqs) == len(l.ops) && len(hub.seqs) == len(hub.ops) {
			at := map[uint64]int{}
			for i, s := range hub.seqs {
				at[s] = i
			}
			for i, s := range l.seqs {
				if k, ok := at[s]; ok && hub.sigs[k] == l.sigs[i] {
					sides[k] = append(sides[k], Side{l.rank, l.ops[i]})
				}
			}
			continue
		}
		shift, ok := bestShift(ranks, hub, l)
		if !ok {
			continue
		}
		for i, op := range l.ops {
			if k := i + shift; k >= 0 && k < len(hub.ops) {
				sides[k] = append(sides[k], Side{l.rank, op})
			}
		}
	}
	var out []Match
	for _, s := range sides {
		if len(s) < 2 {
			continue
		}
		slices.SortFunc(s, func(a, b Side) int { return cmp.Compare(a.Rank, b.Rank) })
		first := ranks[s[0].Rank]
		out = append(out, Match{What: &first.Whats[first.Ops[s[0].Op].What], Sides: s})
	}
	return out
}

// maxShift bounds how far apart the beginnings of two ranks' records are looked for,
// in operations, beyond the difference of their numbers.
const maxShift = 256

const (
	// fewShared is how many operations it takes to tell one place from another by
	// how their ends lie.
	fewShared = 3
	// farBetter is by how much closer together ends must lie at another place, and
	// manyShared over how many operations, for records of the same number of
	// operations of the same kinds not to begin with the same one.
	farBetter  = 20
	manyShared = 6
)

// bestShift finds the place in the hub's order where a lane's begins: one where all
// operations that both have are of the same kind and size. Where several would do,
// as steps repeat, that one counts at which the ends lie closest together, since
// clocks differ by the same everywhere and steps do not last the same. ok is false
// where nothing fits, or nothing tells.
func bestShift(ranks []*Rank, hub, l *lane) (shift int, ok bool) {
	n, m := len(hub.ops), len(l.ops)
	same := n == m && slices.Equal(hub.sigs, l.sigs)
	best := int64(-1)
	least := fewShared
	if same {
		best, ok = endSpread(ranks, hub, l, 0, 0, n)/farBetter, true
		if least = manyShared; best == 0 || !ranks[l.rank].joint(l) {
			return 0, true
		}
	}
	most, fits := 0, 0
	for s := max(-maxShift, 1-m); s <= min(n-m+maxShift, n-1); s++ {
		lo, hi := max(0, s), min(n, s+m)
		shared := hi - lo
		// What one side lacks it lacks at its ends, and most of it is there.
		if shared < (min(n, m)+1)/2 || same && s == 0 || !slices.Equal(hub.sigs[lo:hi], l.sigs[lo-s:hi-s]) {
			continue
		}
		if min(n, m) < fewShared && !same {
			fits++
			shift, ok = s, fits == 1
			continue
		}
		if shared < least {
			continue
		}
		spread := endSpread(ranks, hub, l, s, lo, hi)
		if best < 0 || spread < best || spread == best && shared > most {
			shift, ok, best, most = s, true, spread, shared
		}
	}
	return shift, ok
}

// joint reports whether a lane has only operations whose ends are common.
func (r *Rank) joint(l *lane) bool {
	return !slices.ContainsFunc(l.ops, func(k int) bool { return r.Whats[r.Ops[k].What].Kind != Joint })
}

// endSpread is how far the differences of ends are from their median, in the median,
// ns; over at most some dozens of operations.
func endSpread(ranks []*Rank, hub, l *lane, shift, lo, hi int) int64 {
	const some = 64
	step := max(1, (hi-lo)/some)
	var d []int64
	for k := lo; k < hi; k += step {
		d = append(d, ranks[hub.rank].Ops[hub.ops[k]].End-ranks[l.rank].Ops[l.ops[k-shift]].End)
	}
	mid := median(d)
	for i := range d {
		d[i] = abs(d[i] - mid)
	}
	return median(d)
}

func abs(x int64) int64 {
	if x < 0 {
		return -x
	}
	return x
}

// median sorts d and returns its middle, 0 if there is none.
func median(d []int64) int64 {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	n := len(d)
	if n%2 == 1 {
		return d[n/2]
	}
	return d[n/2-1] + (d[n/2]-d[n/2-1])/2
}

// quantile returns the value of sorted d below which a share q of them lies, the
// largest where there are few.
func quantile(d []int64, q float64) int64 {
	if len(d) == 0 {
		return 0
	}
	k := int(q * float64(len(d)))
	return d[min(k, len(d)-1)]
}
