package shape

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/calltree"
	"github.com/flagos-ai/flagos-trace/event"
)

// captures are the moments, by row, at which a capture of a stream into a graph begins
// (1) or ends (-1).
type captures map[uint32][]captureEdge

type captureEdge struct {
	ts   int64
	open int // captures that are open from here on
}

// captures finds them by the vendors' names: cudaStreamBeginCapture,
// hipStreamEndCapture, ... A capture belongs to the thread that began it.
func (s *scanner) captures() captures {
	t := s.t
	edges := make([]int, t.Strings.Len()) // by name
	any := false
	for id := range uint32(t.Strings.Len()) {
		switch name := t.Strings.At(id); {
		case strings.Contains(name, "StreamBeginCapture"):
			edges[id], any = 1, true
		case strings.Contains(name, "StreamEndCapture"):
			edges[id], any = -1, true
		}
	}
	if !any {
		return nil
	}
	c := captures{}
	for i := range uint32(t.Events.Len()) {
		if e := t.Events.At(i); e.Kind.IsAPI() && edges[e.Name] != 0 {
			c[e.Row] = append(c[e.Row], captureEdge{e.Start, edges[e.Name]})
		}
	}
	for _, list := range c {
		slices.SortStableFunc(list, func(a, b captureEdge) int { return cmp.Compare(a.ts, b.ts) })
		open := 0
		for i := range list {
			// An end whose begin was not recorded ends nothing.
			open = max(0, open+list[i].open)
			list[i].open = open
		}
	}
	return c
}

// at reports whether a capture is open on a row.
func (c captures) at(row uint32, ts int64) bool {
	list := c[row]
	i, _ := slices.BinarySearchFunc(list, ts, func(e captureEdge, ts int64) int { return cmp.Compare(e.ts, ts) })
	return i > 0 && list[i-1].open > 0
}

// loneGraph reports whether a call launches a graph outside of all operators.
func (s *scanner) loneGraph(call calltree.Node) bool {
	return call != calltree.None && s.tree.Enclosing(call, calltree.Operator) == calltree.None && strings.Contains(s.tree.Name(call), "GraphLaunch")
}

// capture is the time in which a thread captured a stream, and the calls in it that
// start work.
type capture struct {
	row      uint32
	from, to int64
	latest   int64 // end of those that begin before it, and its own
	own      int64
	others   []uint32 // of other threads of the process, and without work
}

// elsewhere finds the calls without work that other threads made into a captured
// stream. No call says its stream, but the graph tells how many there were: its
// launches bring the work of the thread that captured and of those together. Where no
// launch of a graph has as much work, the calls are not known to be captured.
func (s *scanner) elsewhere(open captures, ids *idTable) map[uint32]bool {
	t := s.t
	var list []*capture
	for row, edges := range open {
		for i, e := range edges {
			if e.open == 1 && (i == 0 || edges[i-1].open == 0) {
				c := &capture{row: row, from: e.ts, to: math.MaxInt64}
				for _, f := range edges[i+1:] {
					if f.open == 0 {
						c.to = f.ts
						break
					}
				}
				if c.to != math.MaxInt64 {
					list = append(list, c)
				}
			}
		}
	}
	slices.SortFunc(list, func(a, b *capture) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.row, b.row))
	})
	latest := int64(math.MinInt64)
	for _, c := range list {
		latest = max(latest, c.to)
		c.latest = latest
	}
	others := false
	for i := range uint32(t.Events.Len()) {
		e := t.Events.At(i)
		if !e.Kind.IsAPI() || e.Correlation == 0 {
			continue
		}
		starts := t.Calls.At(e.Detail).Has&event.StartsWork != 0
		k, _ := slices.BinarySearchFunc(list, e.Start, func(c *capture, ts int64) int { return cmp.Compare(c.from, ts) })
		for k--; k >= 0 && list[k].latest > e.Start; k-- {
			c := list[k]
			if e.Start >= c.to || ids.get(e.Correlation)&idHasWork != 0 {
				continue
			}
			switch {
			case e.Row == c.row && (starts || startsNode(t.Strings.At(e.Name))):
				c.own++
			case e.Row != c.row && starts && !open.at(e.Row, e.Start) && t.Rows[e.Row].PID == t.Rows[c.row].PID && t.Rows[e.Row].PIDText == t.Rows[c.row].PIDText:
				c.others = append(c.others, i)
				others = true
			}
		}
	}
	if !others {
		return nil
	}
	// The work of launches of graphs, by process.
	type launch struct {
		pid     int64
		pidText string
	}
	nodes := map[launch]map[int64]bool{}
	counts := map[calltree.Node]int64{}
	for w := range s.tree.Works() {
		if call := s.tree.Call(w); call != calltree.None && strings.Contains(s.tree.Name(call), "GraphLaunch") {
			counts[call]++
		}
	}
	for call, n := range counts {
		r := &t.Rows[s.tree.At(call).Row]
		k := launch{r.PID, r.PIDText}
		if nodes[k] == nil {
			nodes[k] = map[int64]bool{}
		}
		nodes[k][n] = true
	}
	found := map[uint32]bool{}
	for _, c := range list {
		r := &t.Rows[c.row]
		if len(c.others) > 0 && nodes[launch{r.PID, r.PIDText}][c.own+int64(len(c.others))] {
			for _, i := range c.others {
				found[i] = true
			}
		}
	}
	return found
}

// startsNode reports whether a call that launches no kernel becomes a node of a graph.
func startsNode(name string) bool {
	return strings.Contains(name, "MemcpyAsync") || strings.Contains(name, "MemsetAsync") || strings.Contains(name, "Memcpy2DAsync") || strings.Contains(name, "Memcpy3DAsync")
}
