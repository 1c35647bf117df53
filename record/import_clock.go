package record

import (
	"fmt"
	"math"
	"math/big"

	"github.com/flagos-ai/flagos-trace/correlate"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// check finds options that contradict each other.
func (o *ImportOptions) check() error {
	switch o.Clock {
	case "", "realtime":
	case "fit":
		if o.Host == "" {
			return fmt.Errorf("%w: a clock can only be fitted to a host trace", ErrOptions)
		}
	case "ticks":
		if !(o.NSPerTick > 0) || math.IsInf(o.NSPerTick, 1) {
			return fmt.Errorf("%w: a tick of %v ns", ErrOptions, o.NSPerTick)
		}
	default:
		return fmt.Errorf("%w: clock %q: use realtime, fit or ticks", ErrOptions, o.Clock)
	}
	return nil
}

// clocks turns the clock's options into correlate's, knowing the times that the
// dump holds. Where they are of two clocks, because another profiler replaced
// the library's, each record is mapped by its own: those that can be nanoseconds
// since the epoch by CLOCK_REALTIME, the rest by what the options say.
func (o *ImportOptions) clocks(c *collector, j *correlate.Options) error {
	t := &c.times
	if o.clock != nil {
		j.Clock = o.clock
		return nil
	}
	if t.mixed() {
		c.diagnose(fmt.Sprintf("the library's clock was replaced while it recorded: %d records are nanoseconds since the epoch, such as %d, and %d are not, such as %d",
			t.epoch, t.firstEpoch, t.other, t.firstOther))
	}
	switch {
	case o.Clock == "fit" || o.Clock == "ticks" && o.Host != "":
		j.Fit = &correlate.Fit{NSPerTick: o.NSPerTick}
		if o.Clock == "fit" {
			j.Fit.NSPerTick = 0
		}
		if t.mixed() {
			j.Fit.Known = epochTimes
		}
	case o.Clock == "ticks":
		ticks, err := o.ticks(t)
		if err != nil {
			return err
		}
		c.rec.Clock = timeline.Clock{Source: timeline.ClockTicks, NSPerTick: o.NSPerTick}
		j.Clock = ticks
		if t.mixed() { // nothing ties the ticks to the epoch: only one of the two can be shown
			j.Clock = correlate.Either{
				correlate.Within{From: 0, To: earliest - 1, Clock: ticks},
				correlate.Within{From: latest + 1, To: math.MaxUint64, Clock: ticks},
			}
		}
	case t.other*10 >= (t.epoch+t.other)*9 && t.other > 0:
		return fmt.Errorf("%s: %w: its times, such as %d, are not nanoseconds since the Unix epoch; fit them to a host trace, or give the length of a tick",
			o.Buffers, ErrClock, t.firstOther)
	default:
		c.rec.Clock.Source = timeline.ClockRealtime
		j.Clock = correlate.Realtime{}
		if t.mixed() {
			j.Clock = epochTimes
		}
	}
	return nil
}

// ticks returns the clock of ticks that nothing ties to the epoch: tick 0 is put
// at its beginning. The first time is converted exactly, so that the others are
// small differences, whose product with the length of a tick a float64 holds.
func (o *ImportOptions) ticks(t *recordTimes) (correlate.Linear, error) {
	first := t.firstOther
	if t.other == 0 {
		first = t.firstEpoch
	}
	product := new(big.Float).SetPrec(128).SetUint64(first)
	product.Mul(product, big.NewFloat(o.NSPerTick))
	ns, _ := product.Add(product, big.NewFloat(0.5)).Int(nil)
	if !ns.IsInt64() {
		return correlate.Linear{}, fmt.Errorf("%s: %w: with ticks of %v ns the first time, %d, is beyond what nanoseconds can count", o.Buffers, ErrClock, o.NSPerTick, first)
	}
	return correlate.Linear{T0: first, NS0: ns.Int64(), Slope: o.NSPerTick}, nil
}
