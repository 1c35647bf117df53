package correlate

import (
	"errors"
	"math"
	"testing"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// A clock of 0.476 ns a tick is found again from calls that lie a little inside
// their operators.
func TestFit(t *testing.T) {
	const slope, n = 0.476190476, 400
	t0, ns0 := uint64(9_500_000_000_000_000), int64(1_795_000_000_000_000_000)
	tick := func(ns int64) uint64 { return t0 + uint64(math.Round(float64(ns)/slope)) }
	for _, given := range []float64{0, slope} {
		w := newWorld(func(w *world) {
			for i := range int64(n) {
				w.host("cpu_op", "op", 5, ns0+i*100_000, ns0+i*100_000+20_000, i)
			}
		})
		for i := range int64(n) {
			at := i*100_000 + 1_000 + (i*7919)%300 // between 1 and 1.3 us into the operator
			w.external(event.ExternalOperator, uint64(i+1), uint64(i))
			w.call(event.Runtime, "launch", 0xF0000001, uint64(i+1), tick(at), tick(i*100_000+19_000-(i*31)%300))
			w.kernel("k", 7, uint64(i+1), tick(at+5_000), tick(at+9_000))
		}
		w.finish(t, Options{Fit: &Fit{NSPerTick: given}})
		c := w.t.Completeness.Clock
		if c.Source != "fit" || math.Abs(c.NSPerTick/slope-1) > 5e-5 || c.UncertaintyNS == nil || *c.UncertaintyNS > 2_000 {
			t.Errorf("given %v: clock %+v", given, c)
		}
		i := 0
		for j := range uint32(w.t.Events.Len()) {
			e := w.t.Events.At(j)
			if e.Kind != timeline.Kernel {
				continue
			}
			want := ns0 + int64(i)*100_000 + 1_000 + (int64(i)*7919)%300 + 5_000
			if d := e.Start - want; d < -1_100 || d > 1_100 {
				t.Fatalf("given %v: kernel %d is %d ns off", given, i, d)
			}
			i++
		}
	}
}

func TestFitWithoutTies(t *testing.T) {
	w := newWorld(nil)
	w.call(event.Runtime, "launch", 1, 1, 10, 20)
	if err := w.b.Finish(Options{Fit: new(Fit)}); !errors.Is(err, ErrNoFit) {
		t.Errorf("error %v, want ErrNoFit", err)
	}
	w = newWorld(func(w *world) { w.host("cpu_op", "op", 5, 0, 100, 3) })
	w.external(event.ExternalOperator, 1, 3)
	w.call(event.Runtime, "launch", 1, 1, 10, 20)
	if err := w.b.Finish(Options{Fit: new(Fit)}); !errors.Is(err, ErrNoFit) {
		t.Errorf("one call: error %v, want ErrNoFit", err)
	}
}

func TestLinearKeepsNanosecondsOfLargeTicks(t *testing.T) {
	l := Linear{T0: 1 << 62, NS0: 1_795_000_000_000_000_000, Slope: 0.5}
	for _, d := range []int64{0, 2, 2_000_002, -4} {
		if got, ok := l.Map(uint64(int64(l.T0) + d)); !ok || got != l.NS0+d/2 {
			t.Errorf("tick %+d is at %+d ns", d, got-l.NS0)
		}
	}
}
