package cut

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// windows finds the times that are wanted.
func (c *cutter) windows() error {
	c.window = everything
	if c.o.Window != nil {
		c.window = *c.o.Window
	}
	if c.o.Steps == nil {
		return nil
	}
	t, s := c.t, c.o.Steps
	c.byPID = map[pid]timeline.Window{}
	there := map[string]bool{}
	all := timeline.Window{Start: math.MaxInt64, End: math.MinInt64}
	for i := range uint32(t.Events.Len()) {
		e := t.Events.At(i)
		if e.Kind != timeline.Host || !c.rowIn[e.Row] {
			continue
		}
		rest, ok := strings.CutPrefix(t.Strings.At(e.Name), stepAnnotations)
		n, err := strconv.ParseInt(rest, 10, 64)
		if !ok || err != nil {
			continue
		}
		there[rest] = true
		if n < s.First || n > s.Last {
			continue
		}
		k := pidOf(&t.Rows[e.Row])
		w, known := c.byPID[k]
		if !known {
			w = timeline.Window{Start: math.MaxInt64, End: math.MinInt64}
		}
		c.byPID[k] = union(w, e)
		all = union(all, e)
	}
	if len(c.byPID) == 0 {
		return fmt.Errorf("%w: steps %s; there are %s (annotations %sN, which a profiler with a schedule makes)", ErrUnknown, s, listed(there), stepAnnotations)
	}
	for k, w := range c.byPID {
		c.byPID[k] = intersect(w, c.window)
	}
	c.apart = true
	c.window = intersect(all, c.window)
	return nil
}

func union(w timeline.Window, e *timeline.Event) timeline.Window {
	return timeline.Window{Start: min(w.Start, e.Start), End: max(w.End, e.End)}
}

func intersect(a, b timeline.Window) timeline.Window {
	w := timeline.Window{Start: max(a.Start, b.Start), End: min(a.End, b.End)}
	w.End = max(w.End, w.Start)
	return w
}
