package record

import (
	"fmt"
	"math"

	"github.com/flagos-ai/flagos-trace/correlate"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// A clock that counts nanoseconds is off by less than maxDrift, and worth a word from
// driftWord on, in parts of the time, if that is more than readings of a busy machine are
// off by, readingNoise ns.
const (
	maxDrift     = 1e-3
	driftWord    = 1e-6
	readingNoise = 1e5
)

// chooseOwn maps the clock of a library that has its own: over the whole time by its
// first and its last reading, and where the wall clock was set by those between. Even
// one that agrees with CLOCK_REALTIME at first drifts from it.
func (c *clockSamples) chooseOwn(about timeline.Clock) (correlate.Clock, timeline.Clock, string) {
	var run []reading
	for i := range c.list {
		if s := &c.list[i]; s.Vendor != 0 {
			run = append(run, reading{s.Vendor, s.Realtime, s.Monotonic})
		}
	}
	lines := fit(run)
	about.Source = timeline.ClockUnknown
	if len(lines) == 0 {
		return correlate.Either{}, about, fmt.Sprintf("the library's clock was read too seldom to be tied to the system's (%d times): nothing that it timed has a place in the trace", len(run))
	}
	about.Source, about.NSPerTick = timeline.ClockTicks, lines[0].slope
	note := ""
	length := between(run[0], run[len(run)-1])
	if drift := lines[0].slope - 1; math.Abs(drift) < maxDrift && length >= shortRun {
		ppm := -drift * 1e6
		about.DriftPPM = &ppm
		if math.Abs(drift) >= driftWord && math.Abs(drift)*length >= readingNoise {
			note = fmt.Sprintf("the library's clock ran %.1f parts in a million fast against the system's; that was taken out by readings at the beginning and the end", ppm)
			if ppm < 0 {
				note = fmt.Sprintf("the library's clock ran %.1f parts in a million slow against the system's; that was taken out by readings at the beginning and the end", -ppm)
			}
		}
	}
	return correlate.Either(lines[0].clocks), about, note
}
