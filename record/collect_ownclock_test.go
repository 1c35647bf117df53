package record

import (
	"math"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/spool"
	"github.com/flagos-ai/flagos-trace/timeline"
	"github.com/flagos-ai/flagos-trace/tracer"
)

// A library's own clock is mapped by its first and last reading, though it looks like
// CLOCK_REALTIME; what it was off by is told.
func TestOwnClock(t *testing.T) {
	const start, second = 1_700_000_000_000_000_000, 1_000_000_000
	sample := func(at int64, ppm float64) spool.Clock {
		return spool.Clock{Realtime: start + at, Monotonic: 5*second + at, Vendor: uint64(start + at + int64(math.Round(float64(at)*ppm/1e6)))}
	}
	for _, c := range []struct {
		name    string
		samples []spool.Clock
		source  string
		ppm     float64
		note    string
		at      uint64 // a time of the library's, 10 s in
		want    int64  // ns behind start; 0: it has no place
	}{
		{"exact", []spool.Clock{sample(0, 0), sample(20*second, 0)}, timeline.ClockTicks, 0, "", start + 10*second, 10 * second},
		{"fast", []spool.Clock{sample(0, 100), sample(second, 100), sample(20*second, 100)}, timeline.ClockTicks, 100, "100.0 parts in a million fast", start + 10*second + second/1000, 10 * second},
		{"slow", []spool.Clock{sample(0, -100), sample(20*second, -100)}, timeline.ClockTicks, -100, "100.0 parts in a million slow", start + 10*second - second/1000, 10 * second},
		{"no further than readings are", []spool.Clock{sample(0, 10), sample(2*second, 10)}, timeline.ClockTicks, 10, "", start + 10*second + second/10000, 10 * second},
		{"read once", []spool.Clock{sample(0, 0)}, timeline.ClockUnknown, 0, "read too seldom", start, 0},
		{"never read", []spool.Clock{{Realtime: start}}, timeline.ClockUnknown, 0, "read too seldom", start, 0},
	} {
		s := clockSamples{list: c.samples}
		clock, about, note := s.choose(&recordTimes{}, true)
		if about.Source != c.source || !strings.Contains(note, c.note) || c.note == "" && note != "" {
			t.Errorf("%s: %+v, %q", c.name, about, note)
		}
		if c.source == timeline.ClockTicks && (about.DriftPPM == nil || math.Abs(*about.DriftPPM-c.ppm) > 0.1) {
			t.Errorf("%s: drift %v", c.name, about.DriftPPM)
		}
		ns, ok := clock.Map(c.at)
		if ok != (c.want != 0) || ok && max(ns-start-c.want, start+c.want-ns) > 100 {
			t.Errorf("%s: %d %v", c.name, ns-start, ok)
		}
	}
}

// Of a vendor that has no tracer it is said why, and what works all the same.
func TestUntracedVendor(t *testing.T) {
	for _, name := range []string{"enflame", "Kunlunxin", "iluvatar", "tsingmicro", "mlu"} {
		_, _, err := vendorsFor(name, nil, func(string) bool { return false })
		if err == nil || !strings.Contains(err.Error(), tracer.Remains) || !strings.Contains(err.Error(), "public") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
