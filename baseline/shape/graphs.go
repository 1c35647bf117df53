package shape

import (
	"cmp"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/calltree"
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
