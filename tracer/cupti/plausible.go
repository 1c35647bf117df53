package cupti

// span takes a record's times into the event. It reports false, having counted
// why, if they cannot be true.
func (d *Decoder) span(start, end uint64) bool {
	from, to, incomplete, ok := d.limits.Span(start, end, d.forced, &d.dropped)
	if !ok {
		return false
	}
	d.ev.Start, d.ev.End, d.ev.Incomplete = from, to, incomplete
	return true
}

// epoch extends 32-bit correlation ids, which wrap, to 64 bits: an id is taken
// to be the nearest one to the latest seen. Only records that were found
// plausible move it: garbage must not.
type epoch struct {
	last uint64
	any  bool
}

// extend returns the 64-bit id; 0, "none", stays 0.
func (e *epoch) extend(id uint32) uint64 {
	if id == 0 || !e.any {
		return uint64(id)
	}
	full := e.last + uint64(int64(int32(id-uint32(e.last))))
	if int64(full) < 0 { // before the first epoch: there is none
		full = uint64(id)
	}
	return full
}

// commit takes note of the id of a record that was used.
func (e *epoch) commit(full uint64) {
	if full != 0 && (!e.any || full > e.last) {
		e.any, e.last = true, full
	}
}
