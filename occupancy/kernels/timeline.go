package kernels

import (
	"iter"
	"math"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// FromEvents is Read of a trace that is in memory already, of the kernels among some
// events of it. What the trace itself says of occupancy is not in a timeline, nor is
// local memory, so that nothing is Stated and no spills are known. Errors wrap
// ErrNoKernels.
func FromEvents(t *timeline.Trace, events iter.Seq[uint32], o Options) (*Report, error) {
	c := collector{names: map[string]uint32{}, index: map[launch]uint32{}}
	for _, m := range t.Metadata {
		if m.Key == "deviceProperties" {
			c.devices.read(m.Raw)
		}
	}
	if t.Completeness != nil {
		c.verdict = string(t.Completeness.Verdict)
	}
	type key struct {
		name, launch, device uint32
		hasDevice            bool
	}
	type launched struct {
		key
		Count
	}
	var order []launched
	index := map[key]int{}                    // in order
	recent := make([]uint32, len(t.Launches)) // by launch, 1 + where it was last: most are of one kernel
	for i := range events {
		e := t.Events.At(i)
		if e.Kind != timeline.Kernel || e.Flags&timeline.Instant != 0 {
			continue
		}
		p := &t.Places[e.Place]
		k := key{name: e.Name, launch: t.Kernels.At(e.Detail).Launch, device: p.Device, hasDevice: p.Has&event.HasDevice != 0}
		at := int(recent[k.launch]) - 1
		if at < 0 || order[at].key != k {
			var ok bool
			if at, ok = index[k]; !ok {
				at = len(order)
				index[k] = at
				order = append(order, launched{key: k})
			}
			recent[k.launch] = uint32(at) + 1
		}
		order[at].add(e.Duration())
		c.calls++
		c.time = saturate(c.time, e.Duration())
	}
	if c.calls == 0 {
		return nil, ErrNoKernels
	}
	for i := range order {
		k, n := &order[i].key, &order[i].Count
		l := launchOf(&t.Launches[k.launch])
		if k.hasDevice {
			l.device, l.known = int64(k.device), l.known|FactDevice
		}
		g := c.group(&l, []byte(t.Strings.At(k.name)))
		if g == nil {
			c.beyond.Calls += n.Calls
			c.beyond.Time = saturate(c.beyond.Time, n.Time)
			continue
		}
		g.Calls += n.Calls
		g.Time = saturate(g.Time, n.Time)
	}
	return c.report(o), nil
}

// launchOf are the facts of a launch. A trace does not keep apart no registers and none
// known: there is no kernel without any.
func launchOf(from *event.Launch) (l launch) {
	dims := func(d *[3]int32, v [3]int32, fact Facts) {
		ok := v[0] > 0 && v[1] > 0 && v[2] > 0
		if ok {
			*d = v
		}
		l.note(fact, ok)
	}
	if from.Has&event.NoLaunch != 0 {
		return l
	}
	if from.Has&event.HasDims != 0 {
		dims(&l.grid, from.Grid, FactGrid)
		dims(&l.block, from.Block, FactBlock)
	}
	if from.Has&event.HasCluster != 0 {
		dims(&l.cluster, from.Cluster, FactCluster)
	}
	if from.Has&event.NoRegisters == 0 && from.Registers > 0 && from.Registers <= math.MaxUint16 {
		l.registers, l.known = int32(from.Registers), l.known|FactRegisters
	}
	if from.Has&event.HasSharedTotal != 0 && from.Static >= 0 {
		l.sharedMem, l.known = from.Static, l.known|FactSharedMem
	}
	return l
}
