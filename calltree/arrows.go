package calltree

import (
	"cmp"
	"slices"
	"sort"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// isAutograd reports whether arrows of a name lead from forward to backward operators.
func isAutograd(name string) bool { return chrome.DefaultRules().IsAutogradFlow(name) }

// place is a moment on a row.
type place struct {
	row uint32
	ts  int64
}

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.row, q.row), cmp.Compare(p.ts, q.ts))
}

// arrows lead from device work straight to the operator, in traces (Ascend's) where
// the call is on a thread of its own.
type arrows struct {
	ends   []arrowEnd          // in the order of their places
	starts map[arrowName]place // the last of each
}

type arrowName struct {
	name uint32
	id   uint64
}

type arrowEnd struct {
	place
	arrow arrowName
}

// newArrows collects the arrows that end on rows with device work and begin on
// those with nodes.
func (x *Tree) newArrows() (a arrows) {
	if len(x.t.Flows) == 0 || len(x.event) == 0 {
		return a
	}
	device := make([]bool, len(x.t.Rows))
	for w := range x.Works() {
		device[x.WorkAt(w).Row] = true
	}
	for i := range x.t.Flows {
		if f := &x.t.Flows[i]; !f.Start && !f.Step && device[f.Row] && !isAutograd(x.t.Strings.At(f.Name)) {
			a.ends = append(a.ends, arrowEnd{place{f.Row, f.TS}, arrowName{f.Name, f.ID}})
		}
	}
	if len(a.ends) == 0 {
		return a
	}
	slices.SortFunc(a.ends, func(p, q arrowEnd) int { return p.compare(q.place) })
	a.starts = map[arrowName]place{}
	for i := range x.t.Flows {
		if f := &x.t.Flows[i]; f.Start {
			a.starts[arrowName{f.Name, f.ID}] = place{f.Row, f.TS}
		}
	}
	return a
}

// from returns the operator that an arrow to work comes from.
func (a *arrows) from(x *Tree, work *timeline.Event) Node {
	to := place{work.Row, work.Start}
	i := sort.Search(len(a.ends), func(i int) bool { return a.ends[i].compare(to) >= 0 })
	for look := 0; i < len(a.ends) && a.ends[i].place == to && look < maxLook; i, look = i+1, look+1 {
		if from, ok := a.starts[a.ends[i].arrow]; ok {
			if n := x.Enclosing(x.Around(from.row, from.ts), Operator); n != None {
				return n
			}
		}
	}
	return None
}

// Around returns the innermost node of a row at a moment, ns, None where nothing is
// running. A span's end is not part of it, but for one that has no length.
func (x *Tree) Around(row uint32, t int64) Node {
	f := finder{x: x}
	return f.around(row, t)
}

// finder finds what is around moments. It is quick where moments of a row follow each
// other.
type finder struct {
	x    *Tree
	last []Node // by entry of Tree.rows: where it was last; nil: nowhere yet
}

func (f *finder) around(row uint32, t int64) Node {
	x := f.x
	i, ok := slices.BinarySearch(x.rows, row)
	if !ok {
		return None
	}
	lo, hi := x.first[i], x.first[i+1]
	guess := (lo + hi) / 2
	if f.last != nil {
		guess = f.last[i]
	}
	behind := lo + Node(searchNear(int(hi-lo), int(guess-lo), func(k int) bool { return x.At(lo+Node(k)).Start > t }))
	if f.last != nil {
		f.last[i] = behind
	}
	if behind == lo {
		return None
	}
	for n := behind - 1; n != None; n = x.parent[n] {
		if e := x.At(n); t < e.End || t == e.Start {
			return n
		}
	}
	return None
}

// searchNear is sort.Search, quick where the answer is near a guess.
func searchNear(n, guess int, is func(int) bool) int {
	lo, hi := 0, n
	if guess >= n || is(guess) {
		hi = min(guess, n)
		for step := 1; hi-step >= 0; step *= 2 {
			if !is(hi - step) {
				lo = hi - step + 1
				break
			}
			hi -= step
		}
	} else {
		lo = guess + 1
		for step := 0; lo+step < n; step = 2*step + 1 {
			if is(lo + step) {
				hi = lo + step
				break
			}
			lo += step + 1
		}
	}
	return lo + sort.Search(hi-lo, func(i int) bool { return is(lo + i) })
}
