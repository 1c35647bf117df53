package record

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/correlate"
	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/host"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// cutHost cuts a host side as sessions that follow each other would have seen it:
// what is open at a border ends there, unfinished, and is not in the next slice;
// arrows over a border are nowhere; ids of arrows begin anew.
func cutHost(h *host.Host, borders []int64) []hostSlice {
	borders = slices.Concat([]int64{h.Window.Start}, borders, []int64{h.Window.End})
	var list []hostSlice
	for i := range len(borders) - 1 {
		from, to := borders[i], borders[i+1]
		if i == len(borders)-2 {
			to++
		}
		in := func(t int64) bool { return t >= from && t < to }
		s := &host.Host{Process: h.Process, Devices: h.Devices, Metadata: h.Metadata, HasBase: true, HasWindow: true, Window: timeline.Window{Start: from, End: borders[i+1]}}
		s.Strings.ID(fmt.Sprint("slice ", i)) // so that strings have other ids
		for _, th := range h.Threads {
			s.Threads = append(s.Threads, host.Thread{PID: th.PID, TID: th.TID, Name: th.Name})
		}
		for _, op := range h.Ops {
			if !in(op.Start) {
				continue
			}
			if op.End > borders[i+1] {
				op.End, op.Unfinished = borders[i+1], true
			}
			op.Name, op.Category = s.Strings.ID(h.Strings.At(op.Name)), s.Strings.ID(h.Strings.At(op.Category))
			s.Ops = append(s.Ops, op)
		}
		ends := map[uint64]int{}
		for _, f := range h.Flows {
			if in(f.TS) {
				ends[f.ID]++
			}
		}
		ids := map[uint64]uint64{}
		for _, f := range h.Flows {
			if ends[f.ID] < 2 || !in(f.TS) {
				continue
			}
			if ids[f.ID] == 0 {
				ids[f.ID] = uint64(len(ids) + 1)
			}
			f.ID, f.Name = ids[f.ID], s.Strings.ID(h.Strings.At(f.Name))
			s.Flows = append(s.Flows, f)
		}
		list = append(list, hostSlice{host: s, window: s.Window})
	}
	return list
}

// quiet finds up to n moments, spread over the window, at which no operator is
// open and no arrow is under way.
func quiet(h *host.Host, n int) (borders []int64) {
	type edge struct {
		at int64
		by int
	}
	var edges []edge
	for _, op := range h.Ops {
		edges = append(edges, edge{op.Start, 1}, edge{op.End + 1, -1})
	}
	first, last := map[uint64]int64{}, map[uint64]int64{}
	for _, f := range h.Flows {
		if first[f.ID] == 0 || f.TS < first[f.ID] {
			first[f.ID] = f.TS
		}
		last[f.ID] = max(last[f.ID], f.TS)
	}
	for id, at := range first {
		edges = append(edges, edge{at, 1}, edge{last[id] + 1, -1})
	}
	slices.SortFunc(edges, func(a, b edge) int { return int(min(max(a.at-b.at, -1), 1)) })
	open := 0
	var all []int64
	for i, e := range edges {
		open += e.by
		if open == 0 && i+1 < len(edges) && edges[i+1].at > e.at {
			all = append(all, e.at)
		}
	}
	for i := range min(n, len(all)) {
		borders = append(borders, all[(i+1)*len(all)/(n+1)])
	}
	slices.Sort(borders)
	return slices.Compact(borders)
}

// describe lists what is in a trace, in an order of its own, with the arrows by
// their ends.
func describe(tr *timeline.Trace) (list []string) {
	row := func(id uint32) string {
		r := tr.Rows[id]
		return fmt.Sprint(r.PID, "/", r.TID, " ", r.Name)
	}
	for i := range uint32(tr.Events.Len()) {
		e := tr.Events.At(i)
		text := fmt.Sprint(e.Kind, " ", tr.Strings.At(e.Category), " ", tr.Strings.At(e.Name), " ", row(e.Row), " ", e.Start, "-", e.End, " ", e.External, " ", e.Flags, " ", e.Correlation)
		if e.Kind == timeline.Host {
			text += " " + string(tr.Args.At(e.Detail))
		}
		list = append(list, text)
	}
	arrows := map[string][]string{}
	for _, f := range tr.Flows {
		id := fmt.Sprint(tr.Strings.At(f.Name), f.ID)
		arrows[id] = append(arrows[id], fmt.Sprint(f.Start, " ", f.TS, " ", row(f.Row)))
	}
	for _, ends := range arrows {
		slices.Sort(ends)
		list = append(list, "arrow "+strings.Join(ends, ", "))
	}
	slices.Sort(list)
	return list
}

// TestSlicesOfPairs: a host side that came in slices gives the same trace as one
// that came whole, but for what was open at a border.
func TestSlicesOfPairs(t *testing.T) {
	for _, name := range []string{"basic", "train", "streams", "ddp.rank0"} {
		t.Run(name, func(t *testing.T) {
			clock := referenceClock(t, name, parseTrace(t, readGzip(t, pairFile(name, ".kineto.json.gz"))))
			tids := pairThreads(t, name, clock)
			h, err := host.ReadKinetoFile(pairFile(name, ".kineto.json.gz"))
			if err != nil {
				t.Fatal(err)
			}
			join := func(borders []int64, byTime bool) *timeline.Trace {
				return joinPair(t, name, cutHost(h, borders), correlate.Options{Clock: clock, ThreadIDs: true}, func(e *event.Event) bool {
					if tid, ok := tids[e.Correlation]; ok && e.Kind.IsAPI() {
						e.TID = tid
					}
					return !byTime || e.Kind != event.ExternalCorrelation
				})
			}
			whole := join(nil, false)
			borders := quiet(h, 5)
			if len(borders) < 2 {
				t.Fatalf("%d quiet moments", len(borders))
			}
			want, got := describe(whole), describe(join(borders, false))
			if !slices.Equal(want, got) {
				t.Errorf("cut at %d quiet moments: %d items, want %d", len(borders), len(got), len(want))
				for _, x := range got {
					if !slices.Contains(want, x) {
						t.Log(x)
						break
					}
				}
			}
			calls, work, spans := links(whole)
			for _, k := range []int64{2, 7, 40} {
				borders = nil
				for i := int64(1); i < k; i++ {
					borders = append(borders, h.Window.Start+(h.Window.End-h.Window.Start)*i/k)
				}
				// By ids, all is as before but the ends of what was open at a border.
				tr := join(borders, false)
				calls2, work2, spans2 := links(tr)
				o := tr.Completeness.Operators
				if !maps.Equal(calls, calls2) || !maps.Equal(work, work2) || o.Seen != whole.Completeness.Operators.Seen || o.Disagreed != 0 {
					t.Errorf("%d slices: %+v", k, o)
				}
				// An outer annotation that a border cut is not around the inner ones behind it.
				if len(spans2) > len(spans) || name != "ddp.rank0" && !maps.Equal(spans, spans2) {
					t.Errorf("%d slices: %d spans of annotations, want %d", k, len(spans2), len(spans))
				}
				// By time, the calls behind a border in an operator that it cut have the
				// operator around it, if that is in the slice, or none.
				tr = join(borders, true)
				calls3, _, _ := links(tr)
				for key, id := range calls3 {
					if calls[key] != id {
						t.Errorf("%d slices: by time the call %s has %d, want %d", k, key, id, calls[key])
					}
				}
				lost := len(calls) - len(calls3)
				if o = tr.Completeness.Operators; lost > 0 && o.Noted[correlate.HostUnfinished] == 0 || lost > len(calls)/3 || total(o.CallsUnlinked) < uint64(lost) {
					t.Errorf("%d slices: %d calls of %d have no operator: %+v", k, lost, len(calls), o)
				}
			}
		})
	}
}

// Ids that each session counts anew are unique in the trace, and what two slices
// both hold is there once.
func TestSliceIDs(t *testing.T) {
	part := func(at int64, args ...string) *host.Host {
		h := &host.Host{Window: timeline.Window{Start: at, End: at + 1000}, HasWindow: true}
		call := h.Strings.ID(categoryPython)
		for i, a := range args {
			h.Ops = append(h.Ops, host.Op{Name: h.Strings.ID("f"), Category: call, PID: 1, TID: 1, Start: at + int64(i), End: at + 500, Args: []byte(a)})
		}
		arrows := h.Strings.ID("fwdbwd")
		h.Flows = []host.Flow{{ID: 1, TS: at, Name: arrows, Start: true}, {ID: 1, TS: at + 1, Name: arrows}, {ID: 3, TS: at, Name: arrows, Start: true}, {ID: 3, TS: at + 1, Name: arrows}}
		return h
	}
	first := `"Python id": 0, "Python parent id": null, "Ev Idx": 1`
	second := `"Python id": 7,"Python parent id": 0, "Python module id": 2`
	c := newCollector("test")
	for _, h := range []*host.Host{part(1000, first, second), part(5000, first, second), part(5000, first, second), part(9000, second)} {
		c.addSlice(&hostSlice{host: h, window: h.Window})
	}
	var got []string
	for i := range uint32(c.trace.Events.Len()) {
		got = append(got, string(c.trace.Args.At(c.trace.Events.At(i).Detail)))
	}
	want := []string{first, second,
		`"Python id": 8, "Python parent id": null, "Ev Idx": 1`, `"Python id": 15,"Python parent id": 8, "Python module id": 2`,
		`"Python id": 23,"Python parent id": 16, "Python module id": 2`}
	if !slices.Equal(got, want) || c.side.noted[notedDoubled] != 2 {
		t.Errorf("%q, want %q; noted %v", got, want, c.side.noted)
	}
	ids := map[uint64]int{}
	for _, f := range c.trace.Flows {
		ids[f.ID]++
	}
	if len(ids) != 6 { // of three slices, one of which came twice
		t.Errorf("%d arrows", len(ids))
	}
	for id, n := range ids {
		if n != 2 {
			t.Errorf("arrow %d has %d ends", id, n)
		}
	}
}
