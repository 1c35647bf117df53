package validate

// checkIDs holds External ids against the operators.
func checkIDs(t *trace, c *collector) {
	known := newIDSet()
	own := map[uint32]*idSet{} // by process
	var backward map[backwardKey]uint32
	t.each(func(i uint32, r *record) {
		if r.ph != 'X' && r.ph != 'i' {
			return
		}
		f := t.flags[r.name]
		switch r.kind {
		case kOperator, kAnnotation:
			if r.flags&hasExt != 0 {
				known.add(r.ext)
				pid := t.rowPID[r.row]
				if own[pid] == nil {
					own[pid] = newIDSet()
				}
				if own[pid].add(r.ext) && r.ext != 0 {
					c.event(rExternalReused, i, "%s has External id %d, as an operator before it has", t.name(r), r.ext)
				}
			}
			if f&nComms != 0 && r.flags&hasComms == 0 {
				c.event(rCollectiveOp, i, "it lacks some of Collective name, dtype, In msg nelems, Out msg nelems, Group size")
			}
			if f&nBackward != 0 && r.flags&hasSeq != 0 && r.id > 0 {
				if backward == nil {
					backward = map[backwardKey]uint32{}
				}
				key := backwardKey{t.rowPID[r.row], r.id}
				if first, ok := backward[key]; !ok {
					backward[key] = i
				} else if other := t.table.at(first); other.name != r.name {
					c.event(rBackwardName, i, "%s has sequence number %d, as %s (event %d) has", t.name(r), r.id, t.name(other), other.index)
				}
			}
		case kPython:
			if r.flags&hasExt != 0 {
				known.add(r.ext)
			}
		}
		if r.kind == kKernel && f&nMangled != 0 {
			c.event(rMangled, i, "%s", t.name(r))
		}
		if f&nPlaceholder != 0 && (r.kind.onDevice() || r.kind.isAPI()) {
			c.event(rPlaceholder, i, "%s is no name", t.name(r))
		}
	})
	t.each(func(i uint32, r *record) {
		if r.ph == 'X' && r.flags&hasExt != 0 && r.ext != 0 && (r.kind.onDevice() || r.kind.isAPI()) && !known.has(r.ext) {
			if r.flags&hasID != 0 && r.id == r.ext {
				c.event(rExternalOwn, i, "%s has External id %d, which is its correlation id and no operator's", t.name(r), r.ext)
				return
			}
			c.event(rExternalUnknown, i, "%s has External id %d, which no operator has", t.name(r), r.ext)
		}
	})
	if t.textTimes > 0 {
		c.at(rTextTime, 0, "%d times are written as strings", t.textTimes)
	}
}

type backwardKey struct {
	pid uint32
	seq int64
}
