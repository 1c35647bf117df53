package repair

import "github.com/flagos-ai/flagos-trace/timeline"

// ends of an arrow that were seen.
type flowEnds uint8

const (
	flowStarts flowEnds = 1 << iota
	flowStops
	flowSteps
	flowReused // it begins twice
)

func (f flowEnds) whole() bool  { return f&flowStarts != 0 && f&flowStops != 0 }
func (f flowEnds) orphan() bool { return !f.whole() && f&flowSteps == 0 }

func (f *flowEnds) start() {
	if *f&flowStarts != 0 {
		*f |= flowReused
	}
	*f |= flowStarts
}

// flows gives arrows with one end the other, or removes them.
func (r *repairer) flows() {
	if r.t.Source.FlowName != 0 {
		r.deviceFlows()
	}
	r.otherFlows()
}

// flowKey tells arrows apart: viewers join ends of one category and id.
type flowKey struct {
	category uint32
	id       uint64
}

// otherFlows mends the arrows between other events, of which an id alone says
// nothing about where the other end is: they get the name of their other end
// where only the spelling differs, or go.
func (r *repairer) otherFlows() {
	t := r.t
	ends := map[flowKey]flowEnds{}
	keyOf := func(i int) flowKey {
		p := &t.Flows[i]
		k := flowKey{p.Category, p.ID}
		if k.category == 0 {
			k.category = p.Name
		}
		return k
	}
	for i := range t.Flows {
		if r.isDeviceFlow(i) {
			continue
		}
		k := keyOf(i)
		f := ends[k]
		switch p := &t.Flows[i]; {
		case p.Start:
			f.start()
		case p.Step:
			f |= flowSteps
		default:
			f |= flowStops
		}
		ends[k] = f
	}
	reused := 0
	for _, f := range ends {
		if f&flowReused != 0 {
			reused++
		}
	}
	r.remains(RemainingFlows, reused)
	paired := r.sameFlow(ends, keyOf)
	gone := map[int]bool{}
	for i := range t.Flows {
		if !r.isDeviceFlow(i) && ends[keyOf(i)].orphan() {
			gone[i] = true
		}
	}
	r.repaired("flows_paired", paired)
	r.repaired("flows_removed", len(gone))
	r.dropFlows(gone)
}

// sameFlow joins arrows of one id and one meaning that are called differently at
// their two ends.
func (r *repairer) sameFlow(ends map[flowKey]flowEnds, keyOf func(int) flowKey) (paired int) {
	t := r.t
	starts := map[uint64]int{} // by id: the start that lacks an end; -1: several
	meaning := func(i int) int {
		for _, id := range []uint32{t.Flows[i].Name, keyOf(i).category} {
			if id == timeline.NoCategory {
				continue
			}
			switch s := t.Strings.At(id); {
			case r.rules.IsAutogradFlow(s):
				return 1
			case r.rules.IsDeviceFlow(s):
				return 2
			}
		}
		return 0
	}
	for i := range t.Flows {
		if p := &t.Flows[i]; p.Start && !r.isDeviceFlow(i) && ends[keyOf(i)].orphan() && meaning(i) > 0 {
			if _, ok := starts[p.ID]; ok {
				starts[p.ID] = -1
			} else {
				starts[p.ID] = i
			}
		}
	}
	for i := range t.Flows {
		p := &t.Flows[i]
		s, ok := starts[p.ID]
		if !ok || s < 0 || p.Start || p.Step || r.isDeviceFlow(i) || meaning(i) != meaning(s) {
			continue
		}
		if from := keyOf(i); ends[from].orphan() {
			to := keyOf(s)
			p.Name, p.Category = t.Flows[s].Name, t.Flows[s].Category
			ends[to] |= flowStops
			paired++
		}
	}
	return paired
}

// dropFlows takes arrows' ends out of the trace.
func (r *repairer) dropFlows(gone map[int]bool) {
	if len(gone) == 0 {
		return
	}
	t := r.t
	var flows []timeline.FlowPoint
	var sources timeline.Blocks[timeline.SourceFlow]
	for i := range t.Flows {
		if !gone[i] {
			flows = append(flows, t.Flows[i])
			sources.Add(*t.Source.Flows.At(uint32(i)))
		}
	}
	t.Flows, t.Source.Flows = flows, sources
}
