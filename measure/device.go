package measure

import (
	"cmp"
	"slices"

	"github.com/flagos-ai/flagos-trace/calltree"
)

// Ending is the end of device work.
type Ending struct {
	At   int64
	Work calltree.Work
}

func (e Ending) compare(f Ending) int {
	if e.At != f.At {
		return cmp.Compare(e.At, f.At)
	}
	return cmp.Compare(e.Work, f.Work)
}

// device measures idle time and overlap of the work of one device, and puts its lists
// in order.
func (m *Run) device(x *calltree.Tree, d *Device) {
	list := d.Works
	byStart := func(a, b calltree.Work) int { return cmp.Compare(x.WorkAt(a).Start, x.WorkAt(b).Start) }
	if !slices.IsSortedFunc(list, byStart) {
		slices.SortStableFunc(list, byStart)
	}
	ends := make([]Ending, len(list))
	for i, w := range list {
		ends[i] = Ending{x.WorkAt(w).End, w}
	}
	sortEndings(ends)
	d.Ends = ends

	first := x.WorkAt(list[0]).Start
	m.Whole.SpanNS += ends[len(ends)-1].At - first
	// alone is for how long, up to last, exactly one span was running. Work overlaps
	// with other for the rest of its time.
	running, alone, last := 0, int64(0), first
	step := func(now int64, change int) {
		switch {
		case running == 1:
			alone += now - last
			m.Whole.BusyNS += now - last
		case running > 1:
			m.Whole.BusyNS += now - last
		}
		running += change
		last = now
	}
	s, until := 0, first
	for _, e := range ends {
		for ; s < len(list); s++ {
			v := x.WorkAt(list[s])
			if v.Start > e.At {
				break
			}
			step(v.Start, 1)
			w := &m.Works[list[s]]
			w.IdleNS = max(0, v.Start-until)
			w.OverlapNS = v.Duration() + alone
			until = max(until, v.End)
		}
		step(e.At, -1)
		m.Works[e.Work].OverlapNS -= alone
	}
}

// sortEndings sorts ends, which are nearly in order: that of the starts.
func sortEndings(ends []Ending) {
	left := 8 * len(ends) // moves that are worth it
	for i := 1; i < len(ends); i++ {
		e, k := ends[i], i
		for ; k > 0 && e.compare(ends[k-1]) < 0; k-- {
			ends[k] = ends[k-1]
		}
		ends[k] = e
		if left -= i - k; left < 0 {
			slices.SortFunc(ends, Ending.compare)
			return
		}
	}
}
