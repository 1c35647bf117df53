package cut

import (
	"fmt"
	"math"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// Trace returns the part of t that o asks for. Errors wrap ErrNothing or ErrUnknown.
func Trace(t *timeline.Trace, o Options) (*timeline.Trace, *Result, error) {
	c := &cutter{t: t, o: &o}
	c.result.Of = t.Events.Len()
	if err := c.processes(); err != nil {
		return nil, nil, err
	}
	if err := c.categories(); err != nil {
		return nil, nil, err
	}
	if err := c.places(); err != nil {
		return nil, nil, err
	}
	if err := c.windows(); err != nil {
		return nil, nil, err
	}
	c.choose()
	if c.kept == 0 {
		return nil, nil, fmt.Errorf("%w: no event of the trace is in %s", ErrNothing, c.o)
	}
	c.arrows()
	c.narrow()
	return c.build(), &c.result, nil
}

type cutter struct {
	t *timeline.Trace
	o *Options

	ofRank     map[pid]bool    // by process: of a wanted rank; nil: all
	rowIn      []bool          // by row: of a wanted process
	rankIn     []bool          // by row: of a wanted rank
	categoryIn map[uint32]bool // by id of the category; nil: all
	kindIn     [timeline.NumKinds]bool
	placeIn    []bool   // by place; nil: all
	rowPlace   []uint32 // by row: a place of its device work, plus 1

	window   timeline.Window         // of everything that is wanted
	byPID    map[pid]timeline.Window // steps are those of a process
	apart    bool                    // event's windows are those of byPID
	launched map[uint64]bool         // by correlation: whether the call is in time
	marked   map[annotation]bool     // whether the annotation is in time
	keep     bits                    // by event
	special  bits                    // events that say what was recorded
	kept     int                     // events other than those
	lost     bits                    // events that lose FlowOut; FlowIn is in lostIn
	lostIn   bits
	flows    []bool          // by index in t.Flows
	around   timeline.Window // the window, where it reaches beyond that of the trace
	result   Result
	selected []int64 // ranks that were told by labels
}

// pid is what a row or a process is known by.
type pid struct {
	n     int64
	text  string
	empty bool // the text is the empty one
}

func pidOf(r *timeline.Row) pid { return pid{r.PID, r.PIDText, r.EmptyPID} }

func pidOfGroup(g *timeline.Group) pid { return pid{g.PID, g.PIDText, false} }

type annotation struct {
	external int64
	name     uint32
}

// bits is a set of small numbers.
type bits []uint64

func newBits(n int) bits         { return make(bits, (n+63)/64) }
func (b bits) set(i uint32)      { b[i/64] |= 1 << (i % 64) }
func (b bits) has(i uint32) bool { return b[i/64]&(1<<(i%64)) != 0 }
func (c *cutter) windowOf(row uint32) timeline.Window {
	if c.apart {
		r := &c.t.Rows[row]
		if w, ok := c.byPID[pidOf(r)]; ok {
			return w
		}
	}
	return c.window
}

// inTime says whether a span of a row is in the window that is wanted.
func (c *cutter) inTime(e *timeline.Event) bool {
	if !c.o.timed() {
		return true
	}
	w := c.windowOf(e.Row)
	if e.End <= e.Start {
		return e.Start >= w.Start && e.Start < w.End
	}
	if e.Start >= w.End || e.End <= w.Start {
		return false
	}
	return c.o.Straddling != Left || e.Start >= w.Start && e.End <= w.End
}

// wanted says whether an event is wanted whatever its time.
func (c *cutter) wanted(e *timeline.Event) bool {
	if !c.rowIn[e.Row] || c.categoryIn != nil && !c.categoryIn[e.Category] && !c.kindIn[e.Kind] {
		return false
	}
	return c.placeIn == nil || c.inPlace(e)
}

// choose decides on all events.
func (c *cutter) choose() {
	t := c.t
	n := uint32(t.Events.Len())
	var async []uint32
	c.keep, c.special = newBits(int(n)), newBits(int(n))
	if c.o.timed() && c.o.Launched {
		c.calls()
	}
	for i := range n {
		e := t.Events.At(i)
		phase := byte(0)
		if t.Source != nil {
			phase = t.Source.Events.At(i).Phase
		}
		switch {
		case c.saysWindow(e, phase) && c.rankIn[e.Row]:
			c.keep.set(i)
			c.special.set(i)
			continue
		case phase == 'M':
			if c.rowIn[e.Row] {
				c.keep.set(i)
				c.special.set(i)
			}
			continue
		case !c.wanted(e):
			continue
		case c.o.timed() && asyncPhase(phase):
			async = append(async, i)
			continue
		}
		if c.timely(e) {
			c.keep.set(i)
			c.kept++
		}
	}
	c.asyncEvents(async)
}

const (
	categoryWindow  = "Trace"             // of the span that says what was recorded
	nameWindowEnd   = "Record Window End" // of the instant that says when that ended
	categoryPython  = "python_function"
	stepAnnotations = "ProfilerStep#"
)

// saysWindow says whether an event stands for what was recorded.
func (c *cutter) saysWindow(e *timeline.Event, phase byte) bool {
	if e.Kind != timeline.Other || phase != 0 {
		return false
	}
	return e.Category != 0 && c.t.Strings.At(e.Category) == categoryWindow ||
		e.Flags&timeline.Instant != 0 && c.t.Strings.At(e.Name) == nameWindowEnd
}

// timely says whether an event belongs to the time that is wanted.
func (c *cutter) timely(e *timeline.Event) bool {
	if c.launched == nil {
		return c.inTime(e)
	}
	switch {
	case e.Kind.OnDevice() || e.Kind == timeline.Sync:
		if in, ok := c.launched[e.Correlation]; ok && e.Correlation != 0 {
			return in
		}
	case e.Kind == timeline.DeviceAnnotation && e.Flags&timeline.HasExternal != 0:
		if in, ok := c.marked[annotation{e.External, e.Name}]; ok {
			return in
		}
	}
	return c.inTime(e)
}

// calls notes which API calls, and which annotations that are drawn on a device, are
// in time.
func (c *cutter) calls() {
	t := c.t
	c.launched, c.marked = map[uint64]bool{}, map[annotation]bool{}
	drawn := map[annotation]bool{}
	n := uint32(t.Events.Len())
	for i := range n {
		if e := t.Events.At(i); e.Kind == timeline.DeviceAnnotation && e.Flags&timeline.HasExternal != 0 {
			drawn[annotation{e.External, e.Name}] = true
		}
	}
	for i := range n {
		e := t.Events.At(i)
		switch {
		case e.Kind.IsAPI() && e.Correlation != 0:
			c.launched[e.Correlation] = c.launched[e.Correlation] || c.inTime(e)
		case e.Kind == timeline.Host && e.Flags&timeline.HasExternal != 0:
			if a := (annotation{e.External, e.Name}); drawn[a] {
				c.marked[a] = c.marked[a] || c.inTime(e)
			}
		}
	}
}

// narrow finds the window of what was kept.
func (c *cutter) narrow() {
	t := c.t
	c.result.Window = t.Window
	c.result.Events = 0
	w := c.window
	for i := range uint32(t.Events.Len()) {
		if !c.keep.has(i) {
			continue
		}
		c.result.Events++
		if !c.o.timed() || c.special.has(i) {
			continue
		}
		e := t.Events.At(i)
		own := c.windowOf(e.Row)
		if e.Start < own.Start || e.End > own.End {
			c.result.Straddling++
			if e.Kind.OnDevice() && c.o.Launched && e.End > own.End {
				c.result.LaunchedLate++
			}
			if c.clips(e) || e.Category != 0 && t.Strings.At(e.Category) == categoryPython {
				continue
			}
			w.Start, w.End = min(w.Start, e.Start), max(w.End, e.End)
		}
	}
	if !c.o.timed() {
		return
	}
	c.around = w
	if t.Window != (timeline.Window{}) {
		w.Start, w.End = max(w.Start, t.Window.Start), min(w.End, t.Window.End)
	}
	c.result.Window = timeline.Window{Start: w.Start, End: max(w.End, w.Start)}
}

// clips says whether an event that is kept is cut off at the window.
func (c *cutter) clips(e *timeline.Event) bool {
	if c.o.Straddling != Clipped || !c.o.timed() || e.Flags&timeline.Instant != 0 {
		return false
	}
	if c.launched != nil && (e.Kind.OnDevice() || e.Kind == timeline.Sync || e.Kind == timeline.DeviceAnnotation) {
		return false
	}
	w := c.windowOf(e.Row)
	return e.Start < w.End && e.End > w.Start
}

func clamp(n int64, w timeline.Window) int64 { return min(max(n, w.Start), w.End) }

// everything is a window without ends.
var everything = timeline.Window{Start: math.MinInt64, End: math.MaxInt64}
