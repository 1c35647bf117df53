package calltree

import "slices"

// joinStrayPython moves the Python functions that torch put on a row of their own,
// pid 0 and tid 0, to the thread that called them: that of the most operators, if
// nearly all it did lies inside of Python functions. Functions of several threads
// cannot be told apart there, and are left. It reports whether it moved any.
func (x *Tree) joinStrayPython(lists [][]uint32, class []Class) bool {
	stray := -1
	for row, list := range lists {
		r := &x.t.Rows[row]
		if r.PID == 0 && r.TID == 0 && r.PIDText == "" && r.TIDText == "" && !r.EmptyPID && !r.EmptyTID && len(list) > 0 &&
			!slices.ContainsFunc(list, func(i uint32) bool { return class[i] != Python && class[i] != Module }) {
			stray = row
			break
		}
	}
	if stray < 0 {
		return false
	}
	best, most := -1, 0
	for row, list := range lists {
		ops := 0
		for _, i := range list {
			switch class[i] {
			case Operator:
				ops++
			case Python, Module:
				ops = -len(list) // it has Python functions of its own
			}
		}
		if row != stray && ops > most {
			best, most = row, ops
		}
	}
	if best < 0 || !x.nestsIn(lists[best], lists[stray], class) {
		return false
	}
	lists[best] = append(slices.Clone(lists[best]), lists[stray]...)
	lists[stray] = nil
	return true
}

// nestsIn reports whether spans lie inside Python functions, which nest among
// themselves: all but a fiftieth of them.
func (x *Tree) nestsIn(spans, python []uint32, class []Class) bool {
	at := x.t.Events.At
	x.sortSpans(python, class)
	torn := 0
	var ends []int64
	from, to := at(python[0]).Start, at(python[0]).End
	for _, i := range python {
		e := at(i)
		for len(ends) > 0 && ends[len(ends)-1] <= e.Start {
			ends = ends[:len(ends)-1]
		}
		if len(ends) > 0 && ends[len(ends)-1] < e.End {
			torn++
		}
		ends = append(ends, e.End)
		to = max(to, e.End)
	}
	outside := 0
	for _, i := range spans {
		if e := at(i); e.Start < from || e.End > to {
			outside++
		}
	}
	return torn <= len(python)/50 && outside <= len(spans)/50
}
