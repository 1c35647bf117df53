package summary

import (
	"slices"

	"github.com/flagos-ai/flagos-trace/calltree"
)

// hostSpan is a span of a row that has begun.
type hostSpan struct {
	behind calltree.Node // the first node behind it
	end    int64
	name   uint32 // what its time is called: the operator's around it, or else its own
	inOp   bool
}

// hostWalk goes over the spans of a row and puts the time of each that is on the path
// under its name.
type hostWalk struct {
	*walker
	list []interval // what of the row is on the path, in order
	next int        // in list, the first that may still come
	now  int64
}

// to goes on to a moment, up to which the span on top of all had the time for itself.
func (h *hostWalk) to(t int64, name uint32) {
	if t > h.now {
		h.spend(h.now, t, name)
		h.now = t
	}
}

// spend puts what of a time is on the path under a name.
func (h *hostWalk) spend(from, to int64, name uint32) {
	i := h.next
	for i < len(h.list) && h.list[i].end <= from {
		i++
	}
	h.next = i
	for ; i < len(h.list) && h.list[i].start < to; i++ {
		if ns := min(h.list[i].end, to) - max(h.list[i].start, from); ns > 0 {
			h.addHost(name, ns)
		}
	}
}

// hostEntries tells what the rows did in the time that is on the path.
func (v *walker) hostEntries() {
	x := v.x
	for r, nodes := range x.Threads() {
		list := v.host[r]
		if len(list) == 0 {
			continue
		}
		slices.Reverse(list)
		h := hostWalk{walker: v, list: list, now: list[0].start}
		end := list[len(list)-1].end
		// The lowest is what is between spans. Fields are written where they stand: a
		// processor waits for what is stored in parts and copied as a whole.
		stack, depth := make([]hostSpan, 64), 0
		stack[0].behind = nodes[1]
		for at := nodes[0]; at < nodes[1]; at++ {
			e := x.At(at)
			top := &stack[depth]
			for top.behind <= at {
				h.to(min(top.end, max(h.now, e.Start)), top.name)
				depth--
				top = &stack[depth]
			}
			h.to(e.Start, top.name)
			name, inOp := e.Name, x.Class(at) == calltree.Operator
			if !inOp && top.inOp {
				name, inOp = top.name, true
			}
			if depth++; depth == len(stack) {
				stack = append(stack, stack...)
			}
			top = &stack[depth]
			top.behind, top.end, top.name, top.inOp = x.End(at), e.End, name, inOp
		}
		for ; depth > 0; depth-- {
			h.to(stack[depth].end, stack[depth].name)
		}
		h.to(end, 0)
	}
}
