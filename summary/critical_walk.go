package summary

import (
	"sort"

	"github.com/flagos-ai/flagos-trace/calltree"
	"github.com/flagos-ai/flagos-trace/measure"
)

// track is nodes of a row in order, and how far the way has gone back on them.
type track struct {
	nodes []calltree.Node
	asked bool
	now   int64 // the last moment that was asked for
	next  int   // behind the last node that begins before it
}

// before returns the last node that begins before a moment, None where none does. It is
// quick where moments are asked for from the last to the first.
func (k *track) before(x *calltree.Tree, now int64) calltree.Node {
	if !k.asked || now > k.now {
		k.next = len(k.nodes)
	}
	k.asked, k.now = true, now
	for k.next > 0 && x.At(k.nodes[k.next-1]).Start >= now {
		k.next--
	}
	if k.next == 0 {
		return calltree.None
	}
	return k.nodes[k.next-1]
}

// leave goes from the beginning of work to what it waited for.
func (v *walker) leave(w calltree.Work, now int64) (calltree.Work, uint32, int64) {
	x := v.x
	none := int64(-1 << 63)
	stream, call, other := none, none, none
	b := v.before[w]
	if b != calltree.NoWork {
		stream = min(x.WorkAt(b).End, now)
	}
	c := x.Call(w)
	if c != calltree.None && measure.Apart(x.At(c).Start, x.WorkAt(w).Start) {
		c = calltree.None
	}
	if c != calltree.None && x.At(c).Start <= now {
		call = x.At(c).Start
	}
	ends := v.devices[v.device[w]]
	i := sort.Search(len(ends), func(i int) bool { return ends[i].At > now })
	o := calltree.NoWork
	for i--; i >= 0 && ends[i].At > max(stream, call); i-- {
		if ends[i].Work != w && x.WorkAt(ends[i].Work).Start < now {
			o, other = ends[i].Work, ends[i].At
			break
		}
	}
	switch {
	case other > max(stream, call):
		v.gap(PathStream, x.WorkAt(w).Name, now-other)
		return o, noRow, other
	case stream >= call && stream > v.from:
		kind := PathQueue
		if c == calltree.None {
			kind = PathNone // who knows when it was launched
		}
		v.gap(kind, 0, now-stream)
		return b, noRow, stream
	case call > v.from:
		v.gap(PathLaunch, x.At(c).Name, now-call)
		return calltree.NoWork, x.At(c).Row, call
	}
	return calltree.NoWork, noRow, now
}

func (v *walker) gap(kind string, name uint32, ns int64) {
	if ns > 0 {
		v.add(kind, name, ns)
	}
}

// back goes back on a host row to the last wait for the device, or to where nothing is
// recorded, and from there to another row.
func (v *walker) back(on uint32, now int64) (calltree.Work, uint32, int64) {
	x := v.x
	top := v.tops[on].before(x, now)
	if top == calltree.None || x.At(top).End < now {
		r, to := v.elsewhere(on, now)
		if r != noRow && to < now {
			to = max(to, v.from)
			v.take(on, to, now)
		}
		return calltree.NoWork, r, to
	}
	start := max(x.At(top).Start, v.from)
	wait := v.waits[on].before(x, now)
	if wait == calltree.None || x.At(wait).End <= start && x.At(wait).Start < start {
		v.take(on, start, now)
		return calltree.NoWork, on, start
	}
	e := x.At(wait)
	if e.End < now {
		v.take(on, e.End, now)
		return calltree.NoWork, on, max(e.End, v.from)
	}
	// In the wait, or at its end: for the work that ended last in it.
	best, at := calltree.NoWork, int64(0)
	for _, ends := range v.devices {
		j := sort.Search(len(ends), func(i int) bool { return ends[i].At > now }) - 1
		if j >= 0 && ends[j].At > e.Start && (best == calltree.NoWork || ends[j].At > at) {
			best, at = ends[j].Work, ends[j].At
		}
	}
	if best == calltree.NoWork || at <= v.from {
		v.take(on, e.Start, now)
		return calltree.NoWork, on, max(e.Start, v.from)
	}
	v.gap(PathSync, e.Name, now-at)
	return best, noRow, at
}

// elsewhere is the row on which something was running just before, and up to when: one
// of the same process, or where none of its did anything before, of another; noRow where
// nothing was.
func (v *walker) elsewhere(on uint32, now int64) (uint32, int64) {
	pid := v.t.Rows[on].PID
	row, reach := v.latest(now, func(r int) bool { return v.t.Rows[r].PID == pid })
	if row == noRow {
		row, reach = v.latest(now, func(int) bool { return true })
	}
	return row, reach
}

// latest is the row, of some, on which something was running last before a moment.
func (v *walker) latest(now int64, of func(row int) bool) (uint32, int64) {
	x := v.x
	best, reach, start := noRow, now, int64(0)
	for r := range v.tops {
		if len(v.tops[r].nodes) == 0 || !of(r) {
			continue
		}
		top := v.tops[r].before(x, now)
		if top == calltree.None {
			continue
		}
		e := x.At(top)
		if to := min(e.End, now); best == noRow || to > reach || to == reach && e.Start > start {
			best, reach, start = uint32(r), to, e.Start
		}
	}
	return best, reach
}
