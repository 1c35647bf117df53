package export

import (
	"strconv"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// kernel fills in how a kernel was launched.
func (b *Table) kernel(k *timeline.KernelDetail, r *Row) {
	l := &b.t.Launches[k.Launch]
	read := b.t.Source != nil
	if l.Has&event.NoLaunch == 0 && (!read || k.Has&event.HasDims != 0) {
		for i := range 3 {
			r.int(colGridX+i, int64(l.Grid[i]))
			r.int(colBlockX+i, int64(l.Block[i]))
		}
	}
	if !read && l.Has&(event.NoLaunch|event.NoRegisters) == 0 {
		r.int(colRegisters, int64(l.Registers))
	}
	if !read && l.Has&(event.NoLaunch|event.NoShared) == 0 {
		r.int(colShared, int64(l.Static)+int64(l.Dynamic))
	}
	b.graph(k.Has, k.GraphID, k.GraphNodeID, r)
	if k.Collective != 0 && !read {
		fromArguments(b.t.Args.At(k.Collective), r)
	}
}

// copy fills in what a copy or a fill moved.
func (b *Table) copy(c *timeline.CopyDetail, r *Row) {
	if b.t.Source == nil || c.Has&event.HasBytes != 0 {
		r.int(colBytes, int64(c.Bytes))
	}
	b.graph(c.Has, c.GraphID, c.GraphNodeID, r)
}

func (b *Table) graph(has event.Fields, id uint32, node uint64, r *Row) {
	if has&event.HasGraph != 0 && id != 0 {
		r.int(colGraph, int64(id))
		r.int(colGraphNode, int64(node))
	}
}

// arguments fills in what only the arguments of an event tell.
func (b *Table) arguments(i uint32, r *Row) {
	args := b.raw(i)
	if len(args) == 0 {
		return
	}
	fromArguments(args, r)
	if b.args {
		r.text(colArgs, "{"+string(args)+"}")
	}
}

func fromArguments(args []byte, r *Row) {
	for m := chrome.WalkMembers(args); m.Next(); {
		switch string(m.Key) {
		case "registers per thread":
			number(r, colRegisters, m.Value)
		case "shared memory":
			number(r, colShared, m.Value)
		case "est. achieved occupancy %":
			if f, err := strconv.ParseFloat(string(m.Value.Text(nil)), 64); err == nil && f >= 0 {
				r[colOccupancy] = Value{Set: true, Float: f}
			}
		case "Sequence number":
			number(r, colSequence, m.Value)
		case "Input Dims":
			r.text(colShapes, string(m.Value))
		case "Input type":
			r.text(colTypes, string(m.Value))
		case "Collective name":
			r.some(colCollective, string(m.Value.Text(nil)))
		case "dtype":
			r.some(colDtype, string(m.Value.Text(nil)))
		case "In msg nelems":
			number(r, colElementsIn, m.Value)
		case "Out msg nelems":
			number(r, colElementsOut, m.Value)
		case "Process Group Name":
			r.some(colGroup, string(m.Value.Text(nil)))
		case "Group size":
			number(r, colGroupSize, m.Value)
		}
	}
}

// number sets a whole number.
func number(r *Row, col int, v chrome.Value) {
	if n, ok := v.Int(); ok {
		r.int(col, n)
	}
}
