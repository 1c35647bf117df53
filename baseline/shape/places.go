package shape

import (
	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// places holds the device and the stream of work against the row that it stands on,
// and against the devices that the document describes.
type places struct {
	s       *scanner
	row     *Measure
	device  *Measure // nil: the document describes none
	known   map[uint32]bool
	was     map[int64]int64 // pids of a merged trace
	checked map[[2]uint32]placed
	last    [2]uint32 // row and place that were looked at last
	lastIs  placed
}

// placed is what is wrong with work of a place on a row.
type placed struct {
	key       string // "" where nothing is
	want, got int64
}

func (s *scanner) newPlaces() *places {
	p := &places{s: s, row: s.measure(RowOfPlace), known: map[uint32]bool{}, checked: map[[2]uint32]placed{}}
	for i := range s.t.Devices {
		p.known[s.t.Devices[i].ID] = true
	}
	if len(p.known) > 0 {
		p.device = s.measure(DeviceDescribed)
	}
	for i := range s.t.Metadata {
		if m := &s.t.Metadata[i]; m.Key == chrome.KeyMerge {
			p.was = chrome.MergedPIDs(chrome.Value(m.Raw))
		}
	}
	return p
}

// see looks at a piece of work.
func (p *places) see(i uint32, e *timeline.Event) {
	place := &p.s.t.Places[e.Place]
	if place.Has&(event.HasDevice|event.HasStream) != 0 {
		if k := [2]uint32{e.Row, e.Place}; p.row.Checked == 0 || k != p.last {
			x, ok := p.checked[k]
			if !ok {
				x = p.differs(&p.s.t.Rows[e.Row], place)
				p.checked[k] = x
			}
			p.last, p.lastIs = k, x
		}
		p.row.Checked++
		if x := &p.lastIs; x.key != "" {
			b := p.s.example(i)
			b.Key, b.Want, b.Got = x.key, itoa(x.want)+", as its row has", itoa(x.got)
			p.row.bad(b)
		}
	}
	if p.device != nil && place.Has&event.HasDevice != 0 {
		p.device.Checked++
		if !p.known[place.Device] {
			b := p.s.example(i)
			b.Key, b.Want, b.Got = "device", "one of deviceProperties", itoa(int64(place.Device))
			p.device.bad(b)
		}
	}
}

// differs says where a row is another device's or stream's. What a row is called in
// words is not judged.
func (p *places) differs(r *timeline.Row, place *timeline.Place) placed {
	if place.Has&event.HasDevice != 0 && r.PIDText == "" && !r.EmptyPID {
		pid := r.PID
		if was, ok := p.was[pid]; ok {
			pid = was
		}
		if pid != int64(place.Device) {
			return placed{"device", pid, int64(place.Device)}
		}
	}
	if place.Has&event.HasStream != 0 && r.TIDText == "" && !r.EmptyTID && !timeline.OfStream(r.TID, int64(place.Stream)) {
		return placed{"stream", r.TID, int64(place.Stream)}
	}
	return placed{}
}
