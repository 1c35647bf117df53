package correlate

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// mark adds a marker: phase, id, thread, time, name.
func (w *world) mark(phase event.MarkerPhase, id, tid uint32, at uint64, name, domain string) {
	w.b.Add(&event.Event{Kind: event.Marker, Phase: phase, MarkerID: id, PID: 1, TID: tid, Start: at, End: at,
		Name: w.t.Strings.ID(name), Domain: w.t.Strings.ID(domain), Has: event.HasThread})
}

func (w *world) span(id, tid uint32, name string, start, end uint64) {
	w.mark(event.MarkerEnd, id, tid, end, "", "") // ends may come first
	w.mark(event.MarkerBegin, id, tid, start, name, "")
}

// launch adds a call and the kernel it starts.
func (w *world) launch(tid, stream uint32, correlation, call, start, end uint64) {
	w.call(event.Runtime, "cudaLaunchKernel", tid, correlation, call, call+1)
	w.kernel(fmt.Sprint("k", correlation), stream, correlation, start, end)
}

// drawn describes what the markers became, in order.
func (w *world) drawn() []string {
	var out []string
	for i := range uint32(w.t.Events.Len()) {
		e := w.t.Events.At(i)
		cat := w.t.Strings.At(e.Category)
		if e.Kind == timeline.DeviceAnnotation {
			cat = "gpu"
		} else if e.Kind != timeline.Host {
			continue
		}
		r := w.t.Rows[e.Row]
		text := fmt.Sprintf("%s %s %d:%d [%d %d]", cat, w.t.Strings.At(e.Name), r.PID, r.TID, e.Start, e.End)
		if e.Flags&timeline.Unfinished != 0 {
			text += " unfinished"
		}
		if e.Flags&timeline.HasExternal != 0 {
			text += " external"
		}
		if args := string(w.t.Args.At(e.Detail)); e.Kind == timeline.Host && args != `"source": "NVTX"` {
			text += " " + args
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return out
}

func TestMarkers(t *testing.T) {
	end := func(e int64) *timeline.Window { return &timeline.Window{Start: 0, End: e} }
	for _, c := range []struct {
		name   string
		build  func(*world)
		o      Options
		want   []string
		noted  map[string]uint64
		outOf  uint64
		events uint64 // received
	}{
		{name: "none", build: func(w *world) { w.launch(5, 7, 1, 10, 20, 30) }},
		{name: "nested, on two streams", build: func(w *world) {
			w.span(1, 5, "outer", 5, 100)
			w.span(2, 5, "inner", 12, 50)
			w.launch(5, 7, 1, 8, 20, 30)
			w.launch(5, 7, 2, 14, 31, 40)
			w.launch(5, 9, 3, 16, 33, 45)
			w.launch(5, 7, 4, 101, 110, 120) // behind both
			w.launch(6, 7, 5, 15, 121, 130)  // of another thread
		}, want: []string{
			"gpu inner 0:7 [30 41]", "gpu inner 0:9 [32 46]", "gpu outer 0:7 [19 41]", "gpu outer 0:9 [32 46]",
			"user_annotation inner 1:5 [12 50]", "user_annotation outer 1:5 [5 100]",
		}, events: 4},
		{name: "same name on two threads", build: func(w *world) {
			w.span(1, 5, "step", 5, 20)
			w.span(2, 6, "step", 6, 21)
			w.launch(5, 7, 1, 8, 40, 50)
			w.launch(6, 8, 2, 8, 42, 52)
		}, want: []string{"gpu step 0:7 [39 51]", "gpu step 0:8 [41 53]", "user_annotation step 1:5 [5 20]", "user_annotation step 1:6 [6 21]"}, events: 4},
		{name: "overlapping in part", build: func(w *world) {
			w.span(1, 5, "a", 5, 20)
			w.span(2, 5, "b", 10, 30)
			w.span(3, 5, "c", 12, 18)
			w.span(4, 5, "d", 13, 40)
			w.launch(5, 7, 1, 15, 50, 60)
		}, want: []string{
			"gpu a 0:7 [49 61]", "gpu b 0:7 [49 61]", "gpu c 0:7 [49 61]", "gpu d 0:7 [49 61]",
			"user_annotation a 1:5 [5 20]", "user_annotation b 1:10000005 [10 30]", "user_annotation c 1:5 [12 18]", "user_annotation d 1:20000005 [13 40]",
		}, noted: map[string]uint64{"events_moved_to_a_lane": 2}, events: 8},
		{name: "across threads", build: func(w *world) {
			w.mark(event.MarkerBegin, 1, 5, 5, "async", "net")
			w.mark(event.MarkerEnd, 1, 6, 25, "", "")
			w.launch(6, 8, 1, 10, 40, 50) // that it ended on
			w.launch(5, 7, 2, 11, 41, 51)
		}, want: []string{
			"gpu async 0:7 [40 52]", `user_annotation async 1:10000005 [5 25] "source": "NVTX", "domain": "net", "ended on thread": 6`,
		}, noted: map[string]uint64{"events_moved_to_a_lane": 1}, events: 2},
		{name: "instants and names", build: func(w *world) {
			w.mark(event.MarkerInstant, 1, 5, 5, "here", "d\"1")
			w.mark(event.MarkerInstant, 2, 5, 6, "", "")
			w.span(3, 5, "", 7, 8)
		}, want: []string{
			`cpu_instant_event (no name) 1:5 [6 6]`, `cpu_instant_event here 1:5 [5 5] "source": "NVTX", "domain": "d\"1"`, "user_annotation (no name) 1:5 [7 8]",
		}, noted: map[string]uint64{notedUnnamed: 2}, events: 4},
		{name: "one end only", build: func(w *world) {
			w.mark(event.MarkerEnd, 0, 5, 5, "", "") // of what began before
			w.mark(event.MarkerBegin, 1, 5, 10, "open", "")
			w.span(2, 5, "whole", 12, 14)
			w.mark(event.MarkerEnd, 2, 5, 15, "", "")
			w.span(3, 5, "ends first", 25, 24)
			w.launch(5, 7, 1, 30, 40, 50)
		}, o: Options{Window: end(60)}, want: []string{
			"gpu open 0:7 [39 51] unfinished",
			"user_annotation ends first 1:5 [25 25]", "user_annotation open 1:5 [10 60] unfinished", "user_annotation whole 1:5 [12 14]",
		}, noted: map[string]uint64{NotedEndsAlone: 2, NotedOpenRanges: 1, notedBackwards: 1}, events: 7},
		{name: "open window", build: func(w *world) {
			w.mark(event.MarkerBegin, 1, 5, 10, "open", "")
			w.launch(5, 7, 1, 30, 40, 50)
		}, o: Options{Window: end(math.MaxInt64)}, want: []string{"gpu open 0:7 [39 51] unfinished", "user_annotation open 1:5 [10 50] unfinished"},
			noted: map[string]uint64{NotedOpenRanges: 1}, events: 1},
		{name: "window cuts", build: func(w *world) {
			w.span(1, 5, "whole", 12, 14)
			w.span(2, 5, "longer", 13, 70)
			w.mark(event.MarkerInstant, 3, 5, 61, "late", "")
		}, o: Options{Window: end(60)}, want: []string{"user_annotation whole 1:5 [12 14]"}, outOf: 2, events: 5},
		{name: "clock", build: func(w *world) {
			w.span(1, 5, "r", 12, 14)
		}, o: Options{Clock: Linear{T0: 0, NS0: 100, Slope: 2}}, want: []string{"user_annotation r 1:5 [124 128]"}, events: 2},
		{name: "longer than an hour, in two clocks", build: func(w *world) {
			w.span(1, 5, "r", 2e18, 100)
			w.span(2, 5, "s", 101, 50)
		}, o: Options{Clock: Either{Within{1e18, 3e18, Realtime{}}, Linear{T0: 0, NS0: 2e18 + 4e12, Slope: 1}}},
			want:  []string{"user_annotation r 1:5 [2000000000000000000 2000004000000000100]", "user_annotation s 1:5 [2000004000000000101 2000004000000000101]"},
			noted: map[string]uint64{}, events: 4},
		{name: "no thread", build: func(w *world) {
			w.b.Add(&event.Event{Kind: event.Marker, Start: 5, End: 5})
		}, noted: map[string]uint64{notedNoThread: 1}, events: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(nil)
			c.build(w)
			c.o.ThreadIDs = true
			w.finish(t, c.o)
			if got := w.drawn(); !slices.Equal(got, c.want) {
				t.Errorf("drawn:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
			rec := w.t.Completeness
			for _, key := range []string{NotedEndsAlone, NotedOpenRanges, notedBackwards, notedNoThread, notedUnnamed, notedBeginTwice, "events_moved_to_a_lane"} {
				if rec.Noted[key] != c.noted[key] {
					t.Errorf("%s: %d, want %d", key, rec.Noted[key], c.noted[key])
				}
			}
			if rec.Dropped[timeline.DropOutOfWindow] != c.outOf || rec.Received["marker"] != c.events {
				t.Errorf("dropped %v, received %v", rec.Dropped, rec.Received)
			}
		})
	}
}
