package record

import (
	"math"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/spool"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// moment is a reading of all clocks so many ns after the start of the spool, on
// a machine that had been up for ten days, with a counter of 2.1 GHz.
func moment(after int64) spool.Clock {
	return spool.Clock{Realtime: spoolStart + after, Monotonic: tenDays + after, MonotonicRaw: tenDays + 3_000_000_000 + after, TSC: tsc(after)}
}

const tenDays = int64(864_000_000_000_000)

// tsc is the counter's value so many ns after the start.
func tsc(after int64) uint64 { return uint64(tenDays+after)/10*21 + uint64(tenDays+after)%10*21/10 }

// with is a moment in which the tracer's clock showed a value.
func with(after int64, vendor uint64) spool.Clock {
	c := moment(after)
	c.Vendor = vendor
	return c
}

func realtimeAt(after int64) spool.Clock { return with(after, uint64(spoolStart+after)) }
func ticksAt(after int64) spool.Clock    { return with(after, tsc(after)) }

// bare leaves in a sample only what is needed to tie the tracer's clock.
func bare(c spool.Clock) spool.Clock { return spool.Clock{Realtime: c.Realtime, Vendor: c.Vendor} }

const second = int64(1_000_000_000)

// TestClocks maps ten launches in CLOCK_REALTIME a second after the start, and
// ten in ticks two seconds after it, by all sorts of samples.
func TestClocks(t *testing.T) {
	inRealtime := launches(10, uint64(spoolStart+second), 1, 1)
	inTicks := launches(10, tsc(2*second), 2.1, 101)
	inOther := launches(10, 12345, 0.001, 201)
	set := func(c spool.Clock, by int64) spool.Clock { c.Realtime += by; return c }
	for _, c := range []struct {
		name     string
		samples  []spool.Clock
		buffers  [][]byte
		source   string
		tick     float64
		realtime uint64 // kernels placed where they belong
		ticks    uint64
		lost     uint64 // records
		verdict  timeline.Verdict
		says     string
	}{
		{"realtime", []spool.Clock{realtimeAt(0), realtimeAt(second)}, [][]byte{inRealtime},
			timeline.ClockRealtime, 0, 10, 0, 0, timeline.Complete, ""},
		{"ticks all along", []spool.Clock{ticksAt(0), ticksAt(second), ticksAt(3 * second)}, [][]byte{inTicks},
			timeline.ClockTicks, 1 / 2.1, 0, 10, 0, timeline.Complete, ""},
		{"ticks all along, no other clock read", []spool.Clock{bare(ticksAt(0)), bare(ticksAt(3 * second))}, [][]byte{inTicks},
			timeline.ClockTicks, 1 / 2.1, 0, 10, 0, timeline.Complete, ""},
		{"replaced", []spool.Clock{bare(realtimeAt(0)), bare(ticksAt(2 * second)), bare(ticksAt(3 * second))}, [][]byte{inRealtime, inTicks},
			timeline.ClockMixed, 1 / 2.1, 10, 10, 0, timeline.Complete, "replaced"},
		{"replaced, all in ticks", []spool.Clock{bare(realtimeAt(0)), bare(ticksAt(second)), bare(ticksAt(3 * second))}, [][]byte{inTicks},
			timeline.ClockMixed, 1 / 2.1, 0, 10, 0, timeline.Complete, "replaced"},
		{"replaced and put back", []spool.Clock{realtimeAt(0), ticksAt(second), ticksAt(2 * second), realtimeAt(4 * second)}, [][]byte{inRealtime, inTicks},
			timeline.ClockMixed, 1 / 2.1, 10, 10, 0, timeline.Complete, "replaced"},
		{"replaced between two samples", []spool.Clock{realtimeAt(0), realtimeAt(4 * second)}, [][]byte{inRealtime, inTicks},
			timeline.ClockMixed, 1 / 2.1, 10, 10, 0, timeline.Complete, "replaced"},
		{"replaced, sampled once", []spool.Clock{realtimeAt(0), ticksAt(2 * second), realtimeAt(4 * second)}, [][]byte{inRealtime, inTicks},
			timeline.ClockMixed, 1 / 2.1, 10, 10, 0, timeline.Complete, "replaced"},
		{"replaced, sampled once, no other clock read", []spool.Clock{bare(realtimeAt(0)), bare(ticksAt(2 * second))}, [][]byte{inRealtime, inTicks},
			timeline.ClockRealtime, 0, 10, 0, 20, timeline.Incomplete, "nothing ties"},
		{"ticks, sampled once, no other clock read", []spool.Clock{bare(ticksAt(2 * second))}, [][]byte{inTicks},
			timeline.ClockUnknown, 0, 0, 0, 20, timeline.Incomplete, "read too seldom"},
		{"never read", []spool.Clock{{Realtime: spoolStart}}, [][]byte{inRealtime, inTicks},
			timeline.ClockUnknown, 0, 10, 0, 20, timeline.Incomplete, "never read"},
		{"no samples", nil, [][]byte{inRealtime},
			timeline.ClockUnknown, 0, 10, 0, 0, timeline.Complete, "never read"},
		{"no samples and no records", nil, nil,
			timeline.ClockUnknown, 0, 0, 0, 0, timeline.Complete, ""},
		{"a clock of nobody", []spool.Clock{realtimeAt(0), realtimeAt(4 * second)}, [][]byte{inRealtime, inOther},
			timeline.ClockRealtime, 0, 10, 0, 20, timeline.Incomplete, "nothing ties"},
		{"monotonic, then ticks", []spool.Clock{with(0, uint64(tenDays)), with(second/2, uint64(tenDays+second/2)), ticksAt(second), ticksAt(3 * second)}, [][]byte{inTicks},
			timeline.ClockTicks, 0, 0, 10, 0, timeline.Complete, ""},
		{"wall clock set while in ticks", []spool.Clock{set(ticksAt(0), -7*second), set(ticksAt(second), -7*second), ticksAt(2 * second), ticksAt(3 * second)}, [][]byte{inTicks},
			timeline.ClockTicks, 1 / 2.1, 0, 10, 0, timeline.Complete, ""},
		{"counter runs backwards", []spool.Clock{bare(ticksAt(3 * second)), bare(with(4*second, 5)), bare(with(5*second, 3))}, [][]byte{inTicks},
			timeline.ClockUnknown, 0, 0, 0, 20, timeline.Incomplete, "read too seldom"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := collect(t, makeSpool(t, testHeader(), func(w *spool.Writer) {
				_ = w.Names([]spool.Name{{Ptr: 0x1000, Name: "k"}})
				for _, s := range c.samples {
					_ = w.Clock(s)
				}
				for i, b := range c.buffers {
					_ = w.Buffer(spool.Buffer{Sequence: uint64(i), Data: b})
				}
				_ = w.End(spool.End{Reason: "exit", NS: spoolStart + 10*second, Flushed: true})
			}), CollectOptions{})
			rec := got.Completeness
			if rec.Clock.Source != c.source || math.Abs(rec.Clock.NSPerTick-c.tick) > 1e-6 || rec.Verdict != c.verdict {
				t.Errorf("clock %+v, verdict %s, dropped %v, want %s, %v, %s", rec.Clock, rec.Verdict, rec.Dropped, c.source, c.tick, c.verdict)
			}
			if rec.Dropped[timeline.DropOtherClock] != c.lost || rec.Dropped[timeline.DropOutOfWindow] != 0 {
				t.Errorf("dropped %v, want %d for their clock", rec.Dropped, c.lost)
			}
			all := strings.Join(rec.Diagnoses, "\n")
			if !strings.Contains(all, c.says) || c.says == "" && all != "" {
				t.Errorf("diagnoses %q, want %q", all, c.says)
			}
			var realtime, ticks uint64
			for i := range uint32(got.Events.Len()) {
				e := got.Events.At(i)
				if e.Kind != timeline.Kernel {
					continue
				}
				n := int64(e.Correlation%100 - 1)
				want := spoolStart + second + n*10_000 + 2000
				if e.Correlation > 100 {
					want += second
				}
				if d := e.Start - want; d < -2 || d > 2 || e.Duration() < 4999 || e.Duration() > 5001 {
					t.Errorf("kernel %d starts %d ns late and lasts %d ns", e.Correlation, d, e.Duration())
				}
				if e.Correlation > 100 {
					ticks++
				} else {
					realtime++
				}
			}
			if realtime != c.realtime || ticks != c.ticks {
				t.Errorf("%d and %d kernels, want %d and %d", realtime, ticks, c.realtime, c.ticks)
			}
		})
	}
}

func TestWallClockSteps(t *testing.T) {
	var c clockSamples
	c.add(spool.Clock{Realtime: 100})
	c.add(moment(0))
	c.add(moment(second))
	if c.step() != nil {
		t.Errorf("a step of %d", *c.step())
	}
	s := moment(2 * second)
	s.Realtime -= 5 * second
	c.add(s)
	if got := c.step(); got == nil || *got != -5*second {
		t.Errorf("%v", got)
	}
}
