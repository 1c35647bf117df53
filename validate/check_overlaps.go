package validate

// overlapping are two spans of a device's row of which the second begins before the
// first ends.
type overlapping struct {
	a, b uint32 // records
	over int64  // ns
}

// programmatic is the compute capability from which on kernels may be launched to
// begin before the one ahead of them on their stream ends. Source: NVIDIA's CUDA
// programming guide, programmatic dependent launch.
const programmatic = 9

// checkOverlaps tells kernels that may run at once from work that cannot.
func checkOverlaps(t *trace, c *collector) {
	for _, o := range t.overlaps {
		rule := rOverlapDevice
		if t.atOnce(t.table.at(o.a), t.table.at(o.b)) {
			rule = rOverlapConcurrent
		}
		t.overlapFound(c, rule, o.a, o.b, o.over)
	}
}

// atOnce says whether two kernels of a stream may have run at once: both are of one
// launch of a graph, or the second was launched with attributes, or by a call that the
// document does not hold, on a device that knows programmatic dependent launch.
func (t *trace) atOnce(a, b *record) bool {
	if a.kind != kKernel || b.kind != kKernel {
		return false
	}
	var launch nameFlag
	found := false
	if b.flags&hasID != 0 && b.id != 0 {
		t.joins.of(b.id, func(call uint32) {
			found = true
			launch |= t.flags[t.table.at(t.joins.calls[call]).name]
		})
	}
	if launch&nGraphLaunch != 0 && a.flags&hasID != 0 && a.id == b.id {
		return true
	}
	if found && launch&(nLaunchEx|nGraphLaunch) == 0 || b.side == 0 {
		return false
	}
	d := t.devices.at(b.side - 1)
	if d.mask&^d.bad&bit(aDevice) == 0 {
		return false
	}
	g := t.gpus[d.device]
	return g != nil && g.dev.ComputeMajor >= programmatic
}
