package chrome

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// plan is everything about a trace that its events share in a document. Once
// made it is only read, by all renderers.
type plan struct {
	t         *timeline.Trace
	compat    bool
	dialect   *dialect
	traceName string
	base      int64 // baseTimeNanoseconds
	// start and end are the window, widened where an event lies outside it.
	start, end int64

	names    []string // by id in Strings, escaped
	kernelID uint32   // id of the name "kernel", 0 if there is none
	heads    [timeline.NumKinds]string
	catHeads map[uint32]categoryHead
	rows     []rowText
	usedRows []uint32 // in the order of their metadata events
	places   []placeText
	devices  []uint32 // ordinals that have a row or properties, ascending
	launches launchTexts

	segments []segment
	source   *timeline.Source // of a trace that was read; see sourcePlan
	whole    bool             // times are whole microseconds; see sourcePlan
	invalid  uint64           // names with bytes that are not UTF-8
}

// categoryHead begins an event with a category of its own.
type categoryHead struct {
	text    string
	instant bool
}

type rowText struct {
	used bool
	ids  string // `"pid": 0, "tid": 7`
}

// placeText is the part of device work's arguments that its place decides.
type placeText struct {
	all    string // `"device": 0, "context": 1, "stream": 7, `
	owner  string // the first two
	stream string // the last
	device uint32
	index  int // of device in launches
}

// segment is a run of events, or of flow points, rendered together.
type segment struct {
	what   segmentKind
	lo, hi uint32
	last   bool // no event follows
}

type segmentKind uint8

const (
	headSegment segmentKind = iota
	eventSegment
	flowSegment
	tailSegment
)

const (
	// segmentBytes is the text that a segment aims at: enough to compress well,
	// little enough for several to be held.
	segmentBytes = 1 << 20
	// eventBytes is what an event takes beside its name and raw arguments, with
	// its arrow; kernelBytes what a kernel takes beyond that.
	eventBytes  = 300
	kernelBytes = 550
	flowPoints  = 8192 // points a segment holds
)

func newPlan(t *timeline.Trace, o Options) *plan {
	p := &plan{t: t, compat: o.Compat == CompatKineto, dialect: dialectOf(t)}
	for k, cat := range p.dialect.categories {
		p.heads[k] = eventHead(cat)
	}
	if o.RuntimeCategory != "" {
		p.heads[timeline.Runtime] = eventHead(o.RuntimeCategory)
	}
	p.escapeNames()
	p.rows = make([]rowText, len(t.Rows))
	if t.Source != nil {
		p.sourcePlan()
		return p
	}
	p.placeTexts()
	p.launches.init(t, p.places, p.compat)
	p.scan()
	p.rowTexts()
	p.base = BaseTime(p.start)
	return p
}

func eventHead(category string) string {
	if category == "" {
		return `{"ph": "X", "name": "`
	}
	text, _ := escaped(category)
	if category == catInstant {
		return `{"ph": "i", "cat": "` + text + `", "s": "t", "name": "`
	}
	return `{"ph": "X", "cat": "` + text + `", "name": "`
}

func (p *plan) escapeNames() {
	p.names = make([]string, p.t.Strings.Len())
	for id := range p.names {
		s := p.t.Strings.At(uint32(id))
		text, ok := escaped(s)
		if !ok {
			p.invalid++
		}
		if s == "kernel" {
			p.kernelID = uint32(id)
		}
		p.names[id] = text
	}
}

// scan is the one pass over the events before they are rendered.
func (p *plan) scan() {
	t := p.t
	start, end := int64(math.MaxInt64), int64(math.MinInt64)
	if t.Window != (timeline.Window{}) {
		start, end = t.Window.Start, t.Window.End
	}
	p.catHeads = map[uint32]categoryHead{}
	p.segments = append(p.segments, segment{what: headSegment})
	lastHost := -1
	var lo, bytes uint32
	n := uint32(t.Events.Len())
	var cuts []segment
	for i := range n {
		e := t.Events.At(i)
		start, end = min(start, e.Start), max(end, e.End, e.Start)
		p.rows[e.Row].used = true
		bytes += eventBytes + uint32(len(p.names[e.Name]))
		switch e.Kind {
		case timeline.Kernel:
			bytes += kernelBytes
			d := t.Kernels.At(e.Detail)
			p.launches.see(p.places[e.Place].index, d.Launch)
			if d.Collective != 0 {
				bytes += uint32(len(t.Args.At(d.Collective)))
			}
		case timeline.Host, timeline.Other:
			bytes += uint32(len(t.Args.At(e.Detail)))
			lastHost = int(i)
		}
		if e.Category != 0 {
			if _, ok := p.catHeads[e.Category]; !ok {
				cat := t.Strings.At(e.Category)
				p.catHeads[e.Category] = categoryHead{eventHead(cat), cat == catInstant}
			}
		}
		if bytes >= segmentBytes {
			cuts = append(cuts, segment{what: eventSegment, lo: lo, hi: i + 1})
			lo, bytes = i+1, 0
		}
	}
	if lo < n {
		cuts = append(cuts, segment{what: eventSegment, lo: lo, hi: n})
	}
	for i := range t.Flows {
		f := &t.Flows[i]
		start, end = min(start, f.TS), max(end, f.TS)
		p.rows[f.Row].used = true
	}
	if start > end { // nothing happened and no window is known
		start, end = 0, 0
	}
	p.start, p.end = start, end
	p.arrange(cuts, uint32(lastHost+1))
	p.segments = append(p.segments, segment{what: tailSegment})
}

// arrange puts the flow points after the event before hostEnd, the last of the
// host, and keeps the events' order.
func (p *plan) arrange(cuts []segment, hostEnd uint32) {
	flows := func() {
		n := uint32(len(p.t.Flows))
		for lo := uint32(0); lo < n; lo += flowPoints {
			p.segments = append(p.segments, segment{what: flowSegment, lo: lo, hi: min(lo+flowPoints, n)})
		}
	}
	placed := false
	for _, c := range cuts {
		if !placed && hostEnd <= c.hi {
			placed = true
			if c.lo < hostEnd {
				p.segments = append(p.segments, segment{what: eventSegment, lo: c.lo, hi: hostEnd})
				c.lo = hostEnd
			}
			flows()
		}
		if c.lo < c.hi {
			p.segments = append(p.segments, c)
		}
	}
	if !placed {
		flows()
	}
}

// placeTexts renders what places contribute to arguments, and gives each device
// a small index.
func (p *plan) placeTexts() {
	seen := map[uint32]int{}
	p.places = make([]placeText, len(p.t.Places))
	for i, pl := range p.t.Places {
		device, context, stream := "", `"context": `+utoa(pl.Context)+", ", ""
		if pl.Has&event.NoContext != 0 {
			context = ""
		}
		if p.compat || pl.Has&event.HasDevice != 0 {
			device = `"device": ` + utoa(pl.Device) + ", "
		}
		if pl.Has&event.HasStream != 0 {
			stream = `"stream": ` + utoa(pl.Stream) + ", "
		} else if p.compat {
			// As the record has it, in the 32-bit integer that Kineto prints.
			stream = `"stream": ` + strconv.Itoa(int(int32(pl.Stream))) + ", "
		}
		index, ok := seen[pl.Device]
		if !ok {
			index = len(seen)
			seen[pl.Device] = index
		}
		p.places[i] = placeText{
			all:    device + context + stream,
			stream: stream,
			owner:  device + context,
			device: pl.Device,
			index:  index,
		}
	}
}

func (p *plan) rowTexts() {
	for i := range p.t.Rows {
		r := &p.t.Rows[i]
		p.rows[i].ids = `"pid": ` + rowID(r.PID, r.PIDText) + `, "tid": ` + rowID(r.TID, r.TIDText)
		if p.rows[i].used {
			p.usedRows = append(p.usedRows, uint32(i))
		}
	}
	rank := func(r *timeline.Row) int {
		if r.Kind == timeline.RowStream || r.Kind == timeline.RowSync || r.Kind == timeline.RowContextSync {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(p.usedRows, func(a, b uint32) int {
		x, y := &p.t.Rows[a], &p.t.Rows[b]
		return cmp.Or(cmp.Compare(rank(x), rank(y)), cmp.Compare(x.PID, y.PID), cmp.Compare(x.TID, y.TID),
			cmp.Compare(x.PIDText, y.PIDText), cmp.Compare(x.TIDText, y.TIDText))
	})
	// A device is shown if something stands on its rows or it has properties; a
	// place alone (of a wait drawn elsewhere) does not make one.
	for _, id := range p.usedRows {
		if r := &p.t.Rows[id]; rank(r) == 0 && r.PIDText == "" && r.PID >= 0 && r.PID <= math.MaxUint32 {
			p.devices = append(p.devices, uint32(r.PID))
		}
	}
	for i := range p.t.Devices {
		p.devices = append(p.devices, p.t.Devices[i].ID)
	}
	slices.Sort(p.devices)
	p.devices = slices.Compact(p.devices)
}

func rowID(n int64, text string) string {
	if text == "" {
		return strconv.FormatInt(n, 10)
	}
	esc, _ := escaped(text)
	return `"` + esc + `"`
}

func utoa(n uint32) string { return strconv.FormatUint(uint64(n), 10) }
