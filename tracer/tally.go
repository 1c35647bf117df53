package tracer

// Counter numbers the reasons for which records are dropped or mended, so that
// counting costs nothing.
type Counter int

// Counters. Those from CountClamped on are of records that were mended.
const (
	CountUntimed Counter = iota
	CountNegative
	CountTooLong
	CountNoName
	CountLayout
	CountForeignExternal
	CountNoCallbackName
	CountFiltered
	CountClamped
	CountIncomplete
	CountInherited
	CountUnnamed
	NumCounters
)

var counterNames = [NumCounters]string{
	DropUntimed, DropNegative, DropTooLong, DropNoName, DropLayout, DropForeignExternal, DropNoCallbackName, DropFiltered,
	RepairClamped, RepairIncomplete, RepairInherited, RepairUnnamed,
}

// Tally counts, in records, what a decoder dropped and mended.
type Tally [NumCounters]uint64

// Split returns the counts that are not 0 by reason, as a Report has them.
func (c *Tally) Split() (dropped, repaired map[string]uint64) {
	dropped, repaired = map[string]uint64{}, map[string]uint64{}
	for i, n := range c {
		switch {
		case n == 0:
		case Counter(i) >= CountClamped:
			repaired[counterNames[i]] = n
		default:
			dropped[counterNames[i]] = n
		}
	}
	return dropped, repaired
}

// Limits are the bounds of plausible durations, in the records' own units.
type Limits struct{ Clamp, Longest uint64 }

// NewLimits returns the bounds, 1 ms backwards and an hour, for records whose unit
// has the given length in ns.
func NewLimits(nsPerTick float64) Limits {
	return Limits{Clamp: uint64(1e6 / nsPerTick), Longest: uint64(3600e9 / nsPerTick)}
}

// Span judges a record's times. ok is false, and the reason is counted, if they
// cannot be true; else they are returned, mended where need be. Libraries
// interpolate device times between synchronisation points, so a short kernel may
// end a little before it starts. forced says that the buffer came out of a forced
// flush, where work that still ran has no end.
func (l Limits) Span(start, end uint64, forced bool, t *Tally) (from, to uint64, incomplete, ok bool) {
	switch {
	case start == 0:
		t[CountUntimed]++
		return 0, 0, false, false
	case end == 0 && forced:
		t[CountIncomplete]++
		incomplete = true
	case end == 0:
		t[CountUntimed]++
		return 0, 0, false, false
	case EpochTime(start) != EpochTime(end):
		// The clock was replaced in between, by another profiler of the program's:
		// whoever maps the times knows what each is.
	case end < start && start-end <= l.Clamp:
		t[CountClamped]++
		end = start
	case end < start:
		t[CountNegative]++
		return 0, 0, false, false
	case end-start > l.Longest:
		t[CountTooLong]++
		return 0, 0, false, false
	}
	return start, end, incomplete, true
}

// EpochTime reports whether a time can be nanoseconds since the epoch, from 2001 to
// 2100. Clocks that count from the machine's start do not get there.
func EpochTime(t uint64) bool {
	const earliest, latest = 980_000_000_000_000_000, 4_100_000_000_000_000_000
	return t-earliest <= latest-earliest
}
