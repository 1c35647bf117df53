package correlate

import (
	"math"
	"testing"
)

func TestClocks(t *testing.T) {
	line := Linear{T0: 1000, NS0: 5000, Slope: 0.5}
	far := Linear{T0: 1 << 63, NS0: 0, Slope: 1}
	fast := Linear{T0: 0, NS0: 1_000_000_000_000_000_000, Slope: 1e9}
	middle := Within{From: 1000, To: 1999, Clock: line}
	for _, c := range []struct {
		name  string
		clock Clock
		t     uint64
		want  int64
		ok    bool
	}{
		{"realtime", Realtime{}, 1_795_955_228_625_788_118, 1_795_955_228_625_788_118, true},
		{"realtime, too late", Realtime{}, 1 << 63, math.MinInt64, false},
		{"line at its foot", line, 1000, 5000, true},
		{"line", line, 1101, 5051, true}, // rounded away from zero
		{"line, earlier", line, 0, 4500, true},
		{"line over the sign bit", far, 1<<63 + 7, 7, true},
		{"line before the sign bit", far, 1<<63 - 7, -7, true},
		{"line from end to end", far, math.MaxUint64, math.MaxInt64, false},
		{"line, a second a tick", fast, 1, 1_000_000_001_000_000_000, true},
		{"line beyond the end", fast, 9_000_000_000, math.MaxInt64, false},
		{"line far beyond", fast, math.MaxUint64, math.MaxInt64, false},
		{"line far before", Linear{T0: math.MaxUint64, Slope: 1e9}, 0, math.MinInt64, false},
		{"within", middle, 1999, 5500, true},
		{"behind", middle, 2000, 0, false},
		{"before", middle, 999, 0, false},
		{"either, first", Either{middle, Realtime{}}, 1000, 5000, true},
		{"either, second", Either{middle, Realtime{}}, 2000, 2000, true},
		{"either, none", Either{middle}, 2000, 0, false},
	} {
		got, ok := c.clock.Map(c.t)
		if got != c.want || ok != c.ok {
			t.Errorf("%s: %d is at %d, %v; want %d, %v", c.name, c.t, got, ok, c.want, c.ok)
		}
	}
}

// Differences stay exact however many ticks there have been.
func TestLinearKeepsDurations(t *testing.T) {
	for _, t0 := range []uint64{1, 1 << 53, 1_795_955_228_625_788_118, math.MaxUint64 - 1<<43} {
		l := Linear{T0: t0, NS0: 1_795_955_228_625_788_118, Slope: 1 / 2.1}
		for _, at := range []uint64{0, 1_000_003, 7_560_000_000_000} { // up to an hour
			start, ok1 := l.Map(t0 + at)
			end, ok2 := l.Map(t0 + at + 2100)
			if d := end - start; !ok1 || !ok2 || d < 999 || d > 1001 {
				t.Errorf("2100 ticks from %d + %d last %d ns", t0, at, d)
			}
		}
	}
}
