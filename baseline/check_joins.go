package baseline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/baseline/shape"
	"github.com/flagos-ai/flagos-trace/baseline/verdict"
)

func (d *differ) ids() {
	if d.some(shape.WorkOnce) != nil {
		d.measured(shape.WorkOnce, verdict.Error, verdict.Finding{What: "device work stands in the trace twice", Fix: "write each record once; sums of device time count it as often as it is there"})
	}
	if d.measured(shape.IDsUnique, verdict.Error, verdict.Finding{What: "API calls share a correlation id, so that device work cannot be told to one of them",
		Fix: "write the vendor's correlation id as correlation, and the framework's as External id; they are two"}) == worse {
		return // which call work belongs to follows from it
	}
	d.measured(shape.CallOfWork, verdict.Error, verdict.Finding{What: "device work has a correlation id that no API call has",
		Fix: "check that calls and device work carry the same id (not the External id), and that calls are recorded from before the first launch"})
}

// some returns a measure of the new side that looked at something, nil if there is none.
func (d *differ) some(id string) *shape.Measure {
	if d.now.Seen == nil || d.now.Seen.Measures[id] == nil || d.now.Seen.Measures[id].Checked == 0 {
		return nil
	}
	return d.now.Seen.Measures[id]
}

// seen reports whether the new side says something of a measure, and the base does,
// too: of measures that older baseline files do not have.
func (d *differ) seen(id string) bool {
	if d.some(id) == nil {
		return false
	}
	if d.base.Seen != nil {
		return d.base.Seen.Measures[id] != nil && d.base.Seen.Measures[id].Checked > 0
	}
	_, known := d.base.Shape.Holds[id]
	return known
}

// places is about what the arguments of work say of where it ran. A trace that does not
// say it, or describes no devices, is found elsewhere.
func (d *differ) places() {
	for _, x := range []struct{ measure, what, fix string }{
		{shape.RowOfPlace, "device work stands on the row of another device or stream than its arguments say", "write the device's ordinal as pid and device, and the stream's number as tid and stream"},
		{shape.DeviceDescribed, "device work is of a device that deviceProperties do not describe", "write the ordinal of the device as device, and an object with this id into deviceProperties"},
	} {
		if d.now.Seen == nil || d.now.Seen.Measures[x.measure] != nil && d.now.Seen.Measures[x.measure].Checked > 0 {
			d.measured(x.measure, verdict.Error, verdict.Finding{What: x.what, Fix: x.fix})
		}
	}
}

func (d *differ) afterLaunch() {
	d.measured(shape.AfterLaunch, verdict.Error, verdict.Finding{What: "device work starts before the call that launched it",
		Fix: "fit the device's clock to the host's at both ends of the recording"})
}

func (d *differ) window() {
	d.measured(shape.InWindow, verdict.Error, verdict.Finding{What: "events lie outside the recorded window",
		Fix: "keep what overlaps the window and drop the rest; if much is outside, a clock is wrong"})
}

func (d *differ) launches() {
	d.measured(shape.WorkOfLaunch, verdict.Error, verdict.Finding{What: "calls that launch have no device work",
		Fix: "look for dropped records; synchronize before recording stops"})
}

// operatorsLastNothing reports whether all operators begin and end at once, which they
// do not in the base. It is found among durations.
func (d *differ) operatorsLastNothing() bool {
	if d.now.Seen == nil {
		return false
	}
	c := d.now.Seen.Classes["cpu_op"]
	if c == nil || c.N < enoughEvents || !c.SameTime || c.NS != 0 {
		return false
	}
	b := d.base.Seen
	return b == nil || b.Classes["cpu_op"] == nil || b.Classes["cpu_op"].NS != 0
}

func (d *differ) attribution() {
	if !d.hasOperators() {
		return
	}
	now := d.now.Seen
	if d.operatorsLastNothing() {
		d.absent = "operators last no time, so that no API call is inside them"
		return
	}
	if now == nil {
		d.measured(shape.Attributed, verdict.Error, verdict.Finding{What: "device time belongs to other operators than those that started the work"})
		return
	}
	m := now.Measures[shape.Attributed]
	if m == nil || m.Checked == 0 {
		if b := d.base.Seen; b != nil && len(b.AttributedTo) == 0 || d.base.Seen == nil && !d.base.Shape.Partial() && d.base.Shape.Holds[shape.Attributed] == "" {
			return // nor in the base
		}
		d.absent = "no device work could be followed to an operator by its API call"
		return
	}
	d.checked, d.broken, d.judged = m.Checked, m.Broken, true
	if d.base.Seen == nil {
		if level, ok := d.base.Shape.Holds[shape.Attributed]; ok {
			if l, _ := m.Level(); m.Broken > 0 && l.Rank() <= level.Rank() {
				d.same = true
				return
			}
		}
	}
	alike := map[string]bool{}
	if b := d.base.Seen; b != nil {
		for _, a := range b.Attribution {
			alike[a.Operator] = true
		}
	}
	for _, a := range now.Attribution {
		if alike[a.Operator] {
			d.same = true
			continue
		}
		d.find(verdict.Finding{Subject: "operator:" + a.Operator, Severity: verdict.Error, DeviceNS: max(a.ByID-a.ByCall, a.ByCall-a.ByID),
			What:  fmt.Sprintf("%s has another device time by External id than by the API calls inside it", a.Operator),
			Where: verdict.Place{Operator: a.Operator, Event: a.Example.Event, Offset: a.Example.Offset}, Expected: a.Example.Want, Got: a.Example.Got,
			Fix: "push the operator's id while it runs, and write it on the calls and the work that it starts"})
	}
}

func (d *differ) linked() {
	if !d.hasOperators() {
		return
	}
	d.measured(shape.Linked, verdict.Error, verdict.Finding{What: "device work has no External id of an operator: it is missing in sums by operator",
		Fix: "write the External id of the operator that started it"})
	if d.seen(shape.CallNested) {
		d.measured(shape.CallNested, verdict.Error, verdict.Finding{What: "API calls have the External id of another operator than that around them",
			Fix: "write the External id of the innermost operator that runs on the call's thread"})
	}
}

func (d *differ) kernelsDominate() {
	d.measured(shape.KernelsDominate, verdict.Warning, verdict.Finding{What: "kernels hold a small part of the device time",
		Fix: "check that the length of copies is that on the device, not of the call, and that no kernels are missing"})
}

// joinNothing tells of arrows to device work that are there and stand on no event, and
// reports whether there are such.
func (d *differ) joinNothing(base *shape.Flow) bool {
	s := d.now.Seen
	if s == nil || s.Measures[shape.ArrowAttached] == nil || s.Measures[shape.ArrowAttached].Broken == 0 {
		return false
	}
	m := s.Measures[shape.ArrowAttached]
	f := verdict.Finding{Subject: "flow:" + shape.DeviceFlow, Severity: verdict.Error, Count: m.Broken, Of: m.Checked,
		Where:    verdict.Place{Name: m.Examples[0].Name, Event: -1, Offset: m.Examples[0].Offset},
		What:     fmt.Sprintf("arrows of kind %s are there, and join nothing (%s ends)", shape.DeviceFlow, broken(m)),
		Expected: "arrows from " + strings.Join(base.From, ", ") + " to " + strings.Join(base.To, ", "), Got: m.Examples[0].Got,
		Fix: "write the call's correlation id as their id, and their ends at the ts, pid and tid of their events"}
	if s.TextIDs > 0 {
		f.What = fmt.Sprintf("arrows of kind %s join nothing: the ids of %d ends are text", shape.DeviceFlow, s.TextIDs)
		f.Fix = "write ids as numbers, without quotes"
	}
	d.find(f)
	return true
}

func (d *differ) flows() {
	for _, kind := range sorted(d.base.Shape.Flows) {
		base := d.base.Shape.Flows[kind]
		if d.o.Scope == Device && kind != shape.DeviceFlow {
			continue
		}
		now := d.now.Shape.Flows[kind]
		if now == nil {
			if base.Presence != shape.Always || kind != shape.DeviceFlow && d.hostNotAsked() != "" {
				continue
			}
			d.judged = true
			severity := verdict.Warning
			if kind == shape.DeviceFlow {
				severity = verdict.Error
			}
			if kind == shape.DeviceFlow && d.joinNothing(base) {
				continue
			}
			d.find(verdict.Finding{Subject: "flow:" + kind, Severity: severity, Where: verdict.Nowhere, What: "there are no arrows of kind " + kind,
				Expected: "arrows of kind " + kind, Got: "none", Fix: "write a start on the call and an end, with \"bp\": \"e\", on the work, of one id"})
			continue
		}
		d.judged = true
		if kind == shape.DeviceFlow {
			for _, category := range base.To {
				if base.Presence == shape.Always && d.base.Seen != nil && !slices.Contains(now.To, category) && d.category(category) != nil {
					d.find(verdict.Finding{Subject: "flow:" + kind + "/to:" + category, Severity: verdict.Error, Where: d.first(category, ""),
						What: fmt.Sprintf("no arrow ends on an event of category %s", category), Expected: "arrows to " + strings.Join(base.To, ", "),
						Got: "arrows to " + strings.Join(now.To, ", "), Fix: "draw an arrow to each piece of device work"})
				}
			}
		}
	}
	fix := "write a start (s) on the call and an end (f) on the work with the call's correlation id, each at its event's ts, pid and tid"
	if d.measured(shape.ArrowAttached, verdict.Error, verdict.Finding{What: "ends of arrows do not stand on the event whose correlation id they have", Fix: fix}) != worse {
		d.measured(shape.ArrowOfWork, verdict.Error, verdict.Finding{What: "device work has no whole arrow from its call", Fix: fix})
	}
	if d.now.Seen == nil {
		return
	}
	if m := d.now.Seen.Measures[shape.ArrowSequence]; m != nil && m.Checked > 0 && d.o.Scope != Device {
		d.measured(shape.ArrowSequence, verdict.Error, verdict.Finding{What: "arrows from forward to backward operators join operators that do not belong together",
			Fix: "begin an arrow at the forward operator whose Sequence number, and thread, the backward operator has"})
	}
	if d.o.Scope != Device && d.seen(shape.BackwardThread) {
		d.measured(shape.BackwardThread, verdict.Error, verdict.Finding{What: "backward operators do not name the thread of their forward operators",
			Fix: "write the forward thread's number as Fwd thread id; of forward operators it is 0"})
	}
	for _, kind := range sorted(d.now.Seen.Arrows) {
		if d.o.Scope == Device {
			break
		}
		m := d.now.Seen.Arrows[kind]
		var base *shape.Measure
		level, known := d.base.Shape.Holds[shape.ArrowPaired]
		if d.base.Seen != nil {
			base = d.base.Seen.Arrows[kind]
		}
		d.checked, d.broken = d.checked+m.Checked, d.broken+m.Broken
		switch d.weigh(m, base, level, known) {
		case alike:
			d.same = true
		case better:
			d.r.Better = append(d.r.Better, fmt.Sprintf("flows: %s arrows of kind %s without their other end in the base, none in the new trace", broken(base), kind))
		case worse:
			x := &m.Examples[0]
			d.find(verdict.Finding{Subject: "flow:" + kind + "/paired", Severity: verdict.Warning, Count: m.Broken, Of: m.Checked,
				What:  fmt.Sprintf("arrows of kind %s lack one end (%s)", kind, broken(m)),
				Where: verdict.Place{Name: x.Name, Event: -1, Offset: x.Offset}, Expected: "a start and an end of each id", Got: x.Got, Fix: "write both ends, or none"})
		}
	}
}
