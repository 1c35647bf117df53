package kernels

import (
	"math"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// FromTimeline is Read of a trace that is in memory already. Of its kernels skip may
// leave out some; nil leaves out none. What the trace itself says of occupancy is not in
// a timeline, nor is local memory, so that nothing is Stated and no spills are known.
// Errors wrap ErrNoKernels.
func FromTimeline(t *timeline.Trace, skip func(event uint32) bool, o Options) (*Report, error) {
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
	groups := map[key]Count{}
	var order []key
	for i := range uint32(t.Events.Len()) {
		e := t.Events.At(i)
		if e.Kind != timeline.Kernel || e.Flags&timeline.Instant != 0 || skip != nil && skip(i) {
			continue
		}
		p := &t.Places[e.Place]
		k := key{name: e.Name, launch: t.Kernels.At(e.Detail).Launch, device: p.Device, hasDevice: p.Has&event.HasDevice != 0}
		n, ok := groups[k]
		if !ok {
			order = append(order, k)
		}
		n.add(e.Duration())
		groups[k] = n
		c.calls++
		c.time = saturate(c.time, e.Duration())
	}
	if c.calls == 0 {
		return nil, ErrNoKernels
	}
	for _, k := range order {
		l := launchOf(&t.Launches[k.launch])
		if k.hasDevice {
			l.device, l.known = int64(k.device), l.known|FactDevice
		}
		n := groups[k]
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
