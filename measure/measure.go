package measure

import (
	"cmp"
	"slices"

	"github.com/flagos-ai/flagos-trace/calltree"
	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/internal/hugepage"
)

// Measures are what is measured of device work; times are ns.
type Measures struct {
	Works    int64 `json:"count"`
	DeviceNS int64 `json:"device_ns"`
	// IdleNS is how long the device had nothing to do before the work began.
	IdleNS int64 `json:"idle_ns"`
	// OverlapNS is how much of DeviceNS other work of the same device ran as well.
	OverlapNS int64 `json:"overlap_ns"`
	// DelayNS is the time from the beginning of a call to that of the first work it
	// started, Launches the number of calls for which that is known: it is not where
	// the two are on clocks that are apart.
	DelayNS  int64 `json:"launch_delay_ns"`
	Launches int64 `json:"launches"`
}

// Add adds the measures of other work.
func (m *Measures) Add(o *Measures) {
	m.Works += o.Works
	m.DeviceNS += o.DeviceNS
	m.IdleNS += o.IdleNS
	m.OverlapNS += o.OverlapNS
	m.DelayNS += o.DelayNS
	m.Launches += o.Launches
}

// Whole is what is measured of a whole run; times are ns.
type Whole struct {
	Measures
	// BusyNS is how long any work ran, by device, SpanNS the time from the first work
	// of a device to the end of its last; each added up over devices.
	BusyNS int64 `json:"busy_ns"`
	SpanNS int64 `json:"span_ns"`
	// Steps counts the marked steps, and StepsNS is how long they took together.
	Steps   int64 `json:"steps"`
	StepsNS int64 `json:"steps_ns"`
}

// Run has the measures of each span of device work of a trace.
type Run struct {
	Works []Measures // by work
	Whole Whole
	// Steps are numbered in the order of time, from 1 on.
	Steps map[calltree.Node]int
	// Devices are in the order of their first work in the trace.
	Devices []Device
}

// Device is one device of a trace: PID or PIDText is what its rows stand under.
type Device struct {
	PID        int64
	PIDText    string
	Ordinal    uint32
	HasOrdinal bool
	// Works are the device's, in the order of their starts.
	Works []calltree.Work
	// Ends are their ends, in the order of times.
	Ends []Ending
}

// deviceKey tells devices apart: of merged traces the ordinal is not enough.
type deviceKey struct {
	pid    int64
	text   string
	device uint32
}

// Of measures the work of a tree.
func Of(x *calltree.Tree) *Run {
	m := &Run{Works: hugepage.Make[Measures](x.NumWorks()), Steps: map[calltree.Node]int{}}
	t := x.Trace()
	devices := map[deviceKey]int{}
	known := make([]struct{ place, device int }, len(t.Rows)) // by row, the last ones, each + 1
	first := hugepage.Make[calltree.Work](x.Len())            // by call, 1 + the work that began first
	for w := range x.Works() {
		e := x.WorkAt(w)
		m.Works[w].Works, m.Works[w].DeviceNS = 1, e.Duration()
		on := &known[e.Row]
		if on.place != int(e.Place)+1 {
			r := &t.Rows[e.Row]
			k := deviceKey{pid: r.PID, text: r.PIDText}
			p := t.Places[e.Place]
			has := p.Has&event.HasDevice != 0
			if has {
				k.device = p.Device
			}
			at, ok := devices[k]
			if !ok {
				m.Devices = append(m.Devices, Device{PID: k.pid, PIDText: k.text, Ordinal: k.device, HasOrdinal: has})
				at = len(m.Devices)
				devices[k] = at
			}
			on.place, on.device = int(e.Place)+1, at
		}
		d := &m.Devices[on.device-1]
		d.Works = append(d.Works, w)
		if c := x.Call(w); c != calltree.None {
			if f := first[c]; f == 0 || e.Start < x.WorkAt(f-1).Start {
				first[c] = w + 1
			}
		}
	}
	for i := range m.Devices {
		m.device(x, &m.Devices[i])
	}
	for w := range x.Works() {
		if c := x.Call(w); c != calltree.None && first[c] == w+1 {
			call, work := x.At(c).Start, x.WorkAt(w).Start
			if !Apart(call, work) {
				m.Works[w].DelayNS, m.Works[w].Launches = work-call, 1
			}
		}
		m.Whole.Add(&m.Works[w])
	}
	m.numberSteps(x)
	return m
}

// numberSteps puts the steps in the order of time.
func (m *Run) numberSteps(x *calltree.Tree) {
	if x.Count(calltree.Step) == 0 {
		return
	}
	var steps []calltree.Node
	for n := range x.Nodes() {
		if x.Class(n) == calltree.Step {
			steps = append(steps, n)
			m.Whole.Steps++
			m.Whole.StepsNS += x.At(n).Duration()
		}
	}
	slices.SortStableFunc(steps, func(a, b calltree.Node) int { return cmp.Compare(x.At(a).Start, x.At(b).Start) })
	for i, n := range steps {
		m.Steps[n] = i + 1
	}
}
