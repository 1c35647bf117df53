package report

import (
	"encoding/json"
	"strings"
	"sync"

	"github.com/flagos-ai/flagos-trace/compare"
	"github.com/flagos-ai/flagos-trace/summary"
)

// trace reduces a trace.
func (c *collector) trace(r *summary.Reading) *reduced {
	x := r.Tree
	t := x.Trace()
	out := &reduced{view: &TraceView{Name: strings.Clone(r.Name), start: t.Window.Start, WindowNS: t.Window.End - t.Window.Start, Devices: []DeviceView{}}}
	out.flames.names = &out.names
	v := &view{t: t, x: x, m: r.Run, kinds: kindsOf(x, c.o.Rules), names: &out.names, ids: make([]int32, t.Strings.Len())}
	w := out.view
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { w.Memory = memory(t) })
	w.Rows, w.ResolutionNS, w.HiddenThreads = v.rows(max(4000, maxPieces/max(1, c.traces)))
	b := newBins(t.Window.Start, t.Window.End, max(60, min(maxBins, maxAllBins/max(1, c.traces*len(v.m.Devices)))))
	figures := newOccupancies(v)
	for i := range v.m.Devices {
		works := v.m.Devices[i].Works
		w.Devices = append(w.Devices, DeviceView{BinNS: b.ns, Bins: b.n, Busy: v.busy(&b, works), Occupancy: figures.chart(v, &b, works)})
	}
	if t.Completeness != nil {
		// What cannot be written is a clock that is no number; the summary has the verdict.
		w.Completeness, _ = json.Marshal(t.Completeness)
	}
	out.flames.add(v)
	if len(c.o.Base) > 0 {
		out.input = compare.FromDocument(r.Document)
		out.input.Name, out.input.Trace = w.Name, t
	}
	return out
}

// join gives all traces one set of names and one flame graph, and makes the pieces of
// their rows few enough for a page.
func (r *Report) join(all [2][]*reduced) {
	var n names
	f := flames{names: &n}
	count := len(all[0]) + len(all[1])
	for side, list := range all {
		for _, v := range list {
			w := v.view
			w.ResolutionNS = fit(w.Rows, w.WindowNS, w.ResolutionNS, max(1000, maxPieces/count))
			to := make([]int32, len(v.names.list))
			for i := range to {
				to[i] = -1
			}
			id := func(i int32) int32 {
				if to[i] < 0 {
					to[i] = n.id(v.names.whole[i])
				}
				return to[i]
			}
			for i := range w.Rows {
				for k := range w.Rows[i].Pieces {
					p := &w.Rows[i].Pieces[k]
					p.name = uint32(id(int32(p.name)))
				}
				w.Rows[i].Pieces.from(w.start)
			}
			f.join(&v.flames, side, id)
		}
	}
	for _, s := range r.Sides {
		for _, v := range s.Traces {
			s.label(v)
		}
	}
	r.Flame = f.result()
	r.Names = append([]string{}, n.list...)
}
