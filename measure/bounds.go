package measure

import (
	"errors"
	"fmt"
	"time"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// maxDelay bounds a launch delay. Work that begins later than this after its call is
// timed by another clock: a zone of time apart, or counted from the start of a machine.
const maxDelay = int64(time.Hour)

// Apart reports whether a call and the work that it started began at times, ns, that can
// only be of clocks that are apart: the work before its call, or more than an hour later.
func Apart(call, work int64) bool { return work < call || work-call > maxDelay }

// MaxBytes bounds the size of a copy or of a collective: nothing has memory for more.
const MaxBytes = 1 << 44

// Bytes returns the size of a copy or a fill; ok is false where the trace does not say
// it, or something that cannot be.
func Bytes(t *timeline.Trace, e *timeline.Event) (n int64, ok bool) {
	d := t.Copies.At(e.Detail)
	if t.Source != nil && d.Has&event.HasBytes == 0 || d.Bytes > MaxBytes {
		return 0, false
	}
	return int64(d.Bytes), true
}

// ErrBounds: times of traces are so far apart, or spans so long, that their sums are
// not sure to fit into 64 bits of nanoseconds.
var ErrBounds = errors.New("times are too far apart to be added up")

// maxSum is what all times together may be, ns: 146 years. Half of what an integer
// holds, so that a sum of two of them still fits.
const maxSum = 1 << 62

// Bounds says whether times of some traces may be added up. Its zero value is ready; it
// is for one goroutine.
type Bounds struct {
	any        bool
	start, end int64
	sum        float64
}

// Add takes the times of another trace in. The error wraps ErrBounds.
func (b *Bounds) Add(t *timeline.Trace) error {
	see := func(start, end int64) {
		if !b.any {
			b.any, b.start, b.end = true, start, end
		}
		b.start, b.end = min(b.start, start), max(b.end, end)
	}
	if w := t.Window; w != (timeline.Window{}) {
		see(w.Start, w.End)
	}
	onDevice := make([]bool, len(t.Rows))
	for i := range t.Events.Len() {
		e := t.Events.At(uint32(i))
		see(e.Start, e.End)
		b.sum += float64(e.End) - float64(e.Start)
		if e.Kind.OnDevice() {
			onDevice[e.Row] = true
		}
	}
	span := float64(b.end) - float64(b.start)
	devices := map[deviceKey]bool{}
	for i, on := range onDevice {
		if r := &t.Rows[i]; on {
			devices[deviceKey{pid: r.PID, text: r.PIDText}] = true
		}
	}
	b.sum += span * float64(len(devices)) // busy and idle time of each
	if span < maxSum && b.sum < maxSum {
		return nil
	}
	const year = 365.25 * 24 * float64(time.Hour)
	return fmt.Errorf("%w: the first and the last are %.1f years apart, and all spans together %.1f years long; flagos-trace validate names events with times that cannot be", ErrBounds, span/year, b.sum/year)
}
