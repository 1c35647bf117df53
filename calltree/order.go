package calltree

import (
	"cmp"
	"slices"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// sortSpans puts the spans of a row in order: one that is outside of another before
// it.
func (x *Tree) sortSpans(list []uint32, class []Class) {
	s := sorter{x: x, class: class}
	s.sort(list)
}

// sorter sorts the spans of a row. A document has them in a few pieces that are in
// order (operators, then calls, ...): what is left is to merge those.
type sorter struct {
	x       *Tree
	class   []Class
	scratch []uint32
}

// compare tells which of two spans is the outer one, or begins before the other: of
// one beginning the longer, of one length too that of the outer class. Operators get
// their External ids when they begin. What even that leaves open is told by the order
// of the document, which mostly has callers first.
func (s *sorter) compare(a, b uint32) int {
	e, f := s.x.t.Events.At(a), s.x.t.Events.At(b)
	if e.Start != f.Start {
		return cmp.Compare(e.Start, f.Start)
	}
	if c := cmp.Or(cmp.Compare(f.End, e.End), cmp.Compare(s.class[a], s.class[b])); c != 0 {
		return c
	}
	if c := cmp.Compare(e.Flags&timeline.HasExternal, f.Flags&timeline.HasExternal); c != 0 {
		return c
	}
	if e.Flags&timeline.HasExternal != 0 && s.class[a] != Call && e.External != f.External {
		return cmp.Compare(e.External, f.External)
	}
	return cmp.Or(cmp.Compare(e.Kind, f.Kind), cmp.Compare(a, b))
}

// run is where a piece of a list begins and ends.
type run struct{ from, to int }

// minRun is the length from which on pieces are worth being merged.
const minRun = 24

// sort sorts by merging the pieces that are in order already, short ones with short
// ones.
func (s *sorter) sort(list []uint32) {
	var runs []run
	for at := 0; at < len(list); {
		end, last := at+1, s.start(list[at])
		for end < len(list) {
			start := s.start(list[end])
			if start < last || start == last && s.compare(list[end-1], list[end]) >= 0 {
				break
			}
			end, last = end+1, start
		}
		if end-at < minRun && end < len(list) {
			end = min(len(list), at+minRun)
			slices.SortFunc(list[at:end], s.compare)
		}
		runs = append(runs, run{at, end})
		at = end
		for n := len(runs); n > 1 && (runs[n-2].length() <= 2*runs[n-1].length() || at == len(list)); n = len(runs) {
			// The middle one of three goes to the shorter of its neighbours.
			if n > 2 && runs[n-3].length() < runs[n-1].length() {
				s.merge(list, runs[n-3], runs[n-2])
				runs[n-3].to = runs[n-2].to
				runs[n-2] = runs[n-1]
			} else {
				s.merge(list, runs[n-2], runs[n-1])
				runs[n-2].to = runs[n-1].to
			}
			runs = runs[:n-1]
		}
	}
}

func (r run) length() int { return r.to - r.from }

// merge merges two pieces, one behind the other.
func (s *sorter) merge(list []uint32, a, b run) {
	// What stands right already is not touched.
	from, _ := slices.BinarySearchFunc(list[a.from:a.to], list[b.from], s.compare)
	left := list[a.from+from : a.to]
	if len(left) == 0 {
		return
	}
	to, _ := slices.BinarySearchFunc(list[b.from:b.to], left[len(left)-1], s.compare)
	right := list[b.from : b.from+to]
	s.scratch = append(s.scratch[:0], left...)
	left, out := s.scratch, list[a.from+from:b.from+to]
	k, l, r := 0, s.start(left[0]), s.start(right[0])
	for {
		if r < l || r == l && s.compare(right[0], left[0]) < 0 {
			out[k], right = right[0], right[1:]
			k++
			if len(right) == 0 {
				break
			}
			r = s.start(right[0])
			continue
		}
		out[k], left = left[0], left[1:]
		k++
		if len(left) == 0 {
			break
		}
		l = s.start(left[0])
	}
	copy(out[k:], left)
}

func (s *sorter) start(i uint32) int64 { return s.x.t.Events.At(i).Start }
