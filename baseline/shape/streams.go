package shape

import (
	"cmp"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/calltree"
	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// Of a stream with fewer pieces of work, or with a smaller share of them at once,
// nothing is said. A kernel may begin before the one ahead of it ends (programmatic
// dependent launch), and the branches of a graph run side by side; what begins while
// three others of the stream still run is neither.
const (
	enoughWork  = 8
	atOnceLimit = 20 // one in that many
	others      = 3
)

// streamKey is a stream of a device of a process.
type streamKey struct {
	place   uint32
	pid     int64
	pidText string
}

// streamWork is a piece of work of a stream.
type streamWork struct {
	start, end  int64
	correlation uint64
	event       uint32
	graph       bool
}

// streams checks that the work of a stream does not run all at once, as it does where
// lengths were taken in another unit than starts, or for ends of another clock.
func (s *scanner) streams() {
	t, tree := s.t, s.tree
	slack := int64(2)
	if !s.hasFractions() {
		slack = 1000
	}
	lists := map[streamKey]*[]streamWork{}
	var (
		keys   []streamKey
		last   streamKey
		list   *[]streamWork
		graphs = s.named("GraphLaunch")
	)
	for w := range tree.Works() {
		i := tree.WorkEvent(w)
		e := t.Events.At(i)
		const both = event.HasDevice | event.HasStream
		if t.Places[e.Place].Has&both != both || e.Flags&timeline.Instant != 0 {
			continue
		}
		r := &t.Rows[e.Row]
		if k := (streamKey{e.Place, r.PID, r.PIDText}); list == nil || k != last {
			if last, list = k, lists[k]; list == nil {
				list = new([]streamWork)
				lists[k] = list
				keys = append(keys, k)
			}
		}
		call := tree.Call(w)
		*list = append(*list, streamWork{e.Start, e.End, e.Correlation, i, graphs != nil && call != calltree.None && graphs[tree.At(call).Name]})
	}
	for _, k := range keys {
		s.inTurn(*lists[k], slack)
	}
}

// named says by string which hold a word, nil where none does.
func (s *scanner) named(word string) (is []bool) {
	for id := range uint32(s.t.Strings.Len()) {
		if strings.Contains(s.t.Strings.At(id), word) {
			if is == nil {
				is = make([]bool, s.t.Strings.Len())
			}
			is[id] = true
		}
	}
	return is
}

// inTurn checks one stream.
func (s *scanner) inTurn(list []streamWork, slack int64) {
	byStart := func(a, b streamWork) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end), cmp.Compare(a.correlation, b.correlation))
	}
	if !slices.IsSortedFunc(list, byStart) {
		slices.SortFunc(list, byStart)
	}
	s.workOnce(list)
	if len(list) < enoughWork {
		return
	}
	var (
		last           [others]int64 // the latest ends before, the earliest first
		units, at, sum int64
		bad            = -1
	)
	end := func(ns int64) {
		if ns > last[0] {
			last[0] = ns
			slices.Sort(last[:])
		}
	}
	for i := 0; i < len(list); {
		w := list[i]
		// The work of one launch of a graph counts as one piece.
		for i++; w.graph && i < len(list) && list[i].graph && list[i].correlation == w.correlation; i++ {
			w.end = max(w.end, list[i].end)
		}
		units++
		sum += w.end - w.start
		if last[0] > w.start+slack {
			if at++; bad < 0 {
				bad = int(w.event)
			}
		}
		end(w.end)
	}
	if units < enoughWork {
		return
	}
	m := s.measure(InTurn)
	m.Checked++
	if at*atOnceLimit > units {
		x := s.example(uint32(bad))
		x.NS = sum
		x.Want = "one after the other"
		x.Got = itoa(at) + " of " + itoa(units) + " begin while three others of their stream still run; their lengths come to " + micro(sum) + " within " + micro(last[others-1]-list[0].start)
		m.bad(x)
	}
}
