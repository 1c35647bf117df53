package cut

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// categories finds what is wanted by category.
func (c *cutter) categories() error {
	if len(c.o.Categories) == 0 {
		return nil
	}
	t := c.t
	c.categoryIn = map[uint32]bool{}
	var kindSeen [timeline.NumKinds]bool
	seen := map[uint32]bool{}
	last := ^uint32(0)
	for i := range uint32(t.Events.Len()) {
		e := t.Events.At(i)
		kindSeen[e.Kind] = true
		if e.Category != last {
			last = e.Category
			seen[last] = true
		}
	}
	there := map[string]bool{}
	for id := range seen {
		if id != 0 {
			there[t.Strings.At(id)] = true
		}
	}
	for _, want := range c.o.Categories {
		found := false
		for id := range seen {
			if id != 0 && strings.EqualFold(t.Strings.At(id), want) {
				c.categoryIn[id], found = true, true
			}
		}
		for k := range timeline.NumKinds {
			if kindSeen[k] && k != timeline.Other && k.String() == strings.ToLower(want) {
				c.kindIn[k], found = true, true
			}
		}
		if !found {
			for k := range timeline.NumKinds {
				if kindSeen[k] && k != timeline.Other {
					there[k.String()] = true
				}
			}
			return fmt.Errorf("%w: category %q; there are %s", ErrUnknown, want, listed(there))
		}
	}
	if c.kindIn[timeline.Memcpy] {
		c.kindIn[timeline.MemcpyPeer] = true
	}
	return nil
}

// places finds the wanted devices and streams.
func (c *cutter) places() error {
	if len(c.o.Devices)+len(c.o.Streams) == 0 {
		return nil
	}
	t := c.t
	c.placeIn = make([]bool, len(t.Places))
	devices, streams := map[string]bool{}, map[string]bool{}
	for i, p := range t.Places {
		in := true
		if len(c.o.Devices) > 0 {
			in = p.Has&event.HasDevice != 0 && slices.Contains(c.o.Devices, p.Device)
		}
		if len(c.o.Streams) > 0 {
			in = in && p.Has&event.HasStream != 0 && slices.Contains(c.o.Streams, p.Stream)
		}
		c.placeIn[i] = in
		if p.Has&event.HasDevice != 0 {
			devices[fmt.Sprint(p.Device)] = true
		}
		if p.Has&event.HasStream != 0 {
			streams[fmt.Sprint(p.Stream)] = true
		}
	}
	for _, d := range c.o.Devices {
		if !devices[fmt.Sprint(d)] {
			return fmt.Errorf("%w: device %d; there are %s", ErrUnknown, d, listed(devices))
		}
	}
	for _, s := range c.o.Streams {
		if !streams[fmt.Sprint(s)] {
			return fmt.Errorf("%w: stream %d; there are %s", ErrUnknown, s, listed(streams))
		}
	}
	// What is drawn on a device's row without being its work goes with the row.
	c.rowPlace = make([]uint32, len(t.Rows))
	for i := range uint32(t.Events.Len()) {
		if e := t.Events.At(i); e.Kind.OnDevice() {
			c.rowPlace[e.Row] = e.Place + 1
		}
	}
	return nil
}

// inPlace says whether an event is on a wanted device and stream, or on none.
func (c *cutter) inPlace(e *timeline.Event) bool {
	switch {
	case e.Kind.OnDevice():
		return c.placeIn[e.Place]
	case e.Kind == timeline.Sync || e.Kind == timeline.DeviceAnnotation:
		if p := c.rowPlace[e.Row]; p != 0 {
			return c.placeIn[p-1]
		}
		return e.Kind != timeline.Sync || c.placeIn[e.Place]
	}
	return true
}
