package report

import (
	"math"

	"github.com/flagos-ai/flagos-trace/calltree"
	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/occupancy/kernels"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// configuration tells launches apart whose occupancy can be calculated: those of which
// everything is known.
type configuration struct {
	name                 string
	grid, block, cluster [3]int32
	registers, shared    int32
	device               int64
}

// occupancies finds the figures of a kernel.
type occupancies struct {
	t       *timeline.Trace
	figures map[configuration]*kernels.Figures
	known   map[[3]uint32]*kernels.Figures // by name, launch and device
}

// newOccupancies is nil where there is nothing to find.
func newOccupancies(v *view) *occupancies {
	t := v.t
	r, err := kernels.FromEvents(t, func(yield func(uint32) bool) {
		for w := range v.x.Works() {
			if v.kinds[w] == compute && !yield(v.x.WorkEvent(w)) {
				return
			}
		}
	}, kernels.Options{})
	if err != nil {
		return nil // there are no kernels
	}
	o := &occupancies{t: t, figures: map[configuration]*kernels.Figures{}, known: map[[3]uint32]*kernels.Figures{}}
	for i := range r.Configurations {
		if c := &r.Configurations[i]; c.Figures != nil {
			o.figures[configuration{c.Name, c.Grid, c.Block, c.Cluster, c.Registers, c.SharedMem, c.Device}] = c.Figures
		}
	}
	if len(o.figures) == 0 {
		return nil
	}
	return o
}

// of returns the figures of a kernel, nil where there are none.
func (o *occupancies) of(e *timeline.Event) *kernels.Figures {
	launch := o.t.Kernels.At(e.Detail).Launch
	place := &o.t.Places[e.Place]
	k := [3]uint32{e.Name, launch, place.Device}
	f, ok := o.known[k]
	if !ok {
		l := &o.t.Launches[launch]
		c := configuration{name: o.t.Strings.At(e.Name), grid: l.Grid, block: l.Block, shared: l.Static}
		if l.Registers <= math.MaxInt32 {
			c.registers = int32(l.Registers)
		}
		if l.Has&event.HasCluster != 0 && l.Cluster[0] > 0 && l.Cluster[1] > 0 && l.Cluster[2] > 0 {
			c.cluster = l.Cluster
		}
		if place.Has&event.HasDevice != 0 {
			c.device = int64(place.Device)
		}
		f = o.figures[c]
		o.known[k] = f
	}
	return f
}

// chart is the occupancy of a device's kernels in each bin. Those that communicate take
// few SMs by design and are left out, as in a summary.
func (o *occupancies) chart(v *view, b *bins, works []calltree.Work) *OccupancyChart {
	if o == nil || b.n == 0 {
		return nil
	}
	theoretical, resident, ns := make([]float64, b.n), make([]float64, b.n), make([]float64, b.n)
	c := &OccupancyChart{}
	for _, w := range works {
		e := v.x.WorkAt(w)
		if v.kinds[w] != compute {
			continue
		}
		c.NS += e.Duration()
		f := o.of(e)
		if f == nil {
			continue
		}
		c.KnownNS += e.Duration()
		t := f.Theoretical()
		b.spread(e.Start, e.End, func(bin int, in int64) {
			theoretical[bin] += t * float64(in)
			resident[bin] += f.Resident * float64(in)
			ns[bin] += float64(in)
		})
	}
	if c.KnownNS == 0 {
		return nil
	}
	c.Theoretical, c.Resident = means(theoretical, ns), means(resident, ns)
	return c
}

// means divides; nil stands where there is nothing to divide by. Four digits are more
// than the model is good for.
func means(sums, by []float64) []*float64 {
	out := make([]*float64, len(sums))
	for i := range sums {
		if by[i] > 0 {
			v := math.Round(sums[i]/by[i]*1e4) / 1e4
			out[i] = &v
		}
	}
	return out
}
