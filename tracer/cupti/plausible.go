package cupti

import "github.com/flagos-ai/flagos-trace/tracer"

// Counters of records that were dropped or mended, as an array so that counting
// costs nothing.
const (
	dropUntimed = iota
	dropNegative
	dropTooLong
	dropNoName
	dropLayout
	dropForeignExternal
	dropNoCallbackName
	dropFiltered
	repairClamped
	repairIncomplete
	numCounters
)

type drops [numCounters]uint64

var counterNames = [numCounters]string{
	tracer.DropUntimed, tracer.DropNegative, tracer.DropTooLong, tracer.DropNoName, tracer.DropLayout,
	tracer.DropForeignExternal, tracer.DropNoCallbackName, tracer.DropFiltered,
	tracer.RepairClamped, tracer.RepairIncomplete,
}

func (c *drops) split() (dropped, repaired map[string]uint64) {
	dropped, repaired = map[string]uint64{}, map[string]uint64{}
	for i, n := range c {
		switch {
		case n == 0:
		case i >= repairClamped:
			repaired[counterNames[i]] = n
		default:
			dropped[counterNames[i]] = n
		}
	}
	return dropped, repaired
}

// limits are the bounds of plausible durations, in the records' own units.
type limits struct{ clamp, hour uint64 }

func newLimits(nsPerTick float64) limits {
	return limits{clamp: uint64(1e6 / nsPerTick), hour: uint64(3600e9 / nsPerTick)}
}

// span takes a record's times into the event. It reports false, having counted
// why, if they cannot be true. CUPTI interpolates device times between
// synchronisation points, so a short kernel may end a little before it starts.
func (d *Decoder) span(start, end uint64) bool {
	switch {
	case start == 0:
		d.dropped[dropUntimed]++
		return false
	case end == 0 && d.forced:
		d.dropped[repairIncomplete]++
		d.ev.Incomplete = true
	case end == 0:
		d.dropped[dropUntimed]++
		return false
	case epochTime(start) != epochTime(end):
		// The clock was replaced in between, by another profiler of the program's:
		// whoever maps the times knows what each is.
	case end < start && start-end <= d.limits.clamp:
		d.dropped[repairClamped]++
		end = start
	case end < start:
		d.dropped[dropNegative]++
		return false
	case end-start > d.limits.hour:
		d.dropped[dropTooLong]++
		return false
	}
	d.ev.Start, d.ev.End = start, end
	return true
}

// epochTime reports whether a time can be nanoseconds since the epoch, from 2001 to
// 2100. Clocks that count from the machine's start do not get there.
func epochTime(t uint64) bool {
	const earliest, latest = 980_000_000_000_000_000, 4_100_000_000_000_000_000
	return t-earliest <= latest-earliest
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
