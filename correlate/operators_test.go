package correlate

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/timeline"
)

func TestBestShift(t *testing.T) {
	for _, c := range []struct {
		name    string
		rooms   []room
		want    room
		covered int
	}{
		{"0 does", []room{{-10, 5}, {-3, 9}}, room{-3, 5}, 2},
		{"0 does not", []room{{3, 9}, {-2, 5}, {4, 20}}, room{4, 5}, 3},
		{"one is of another operator", []room{{3, 9}, {4, 8}, {5, 7}, {-900, -800}}, room{5, 7}, 3},
		{"as many elsewhere as around 0", []room{{-5, 5}, {-4, 4}, {100, 110}, {101, 120}}, room{-4, 4}, 2},
		{"a point", []room{{7, 7}}, room{7, 7}, 1},
		{"never ended", []room{{math.MinInt64, 5}}, room{0, 5}, 1},
		{"never ended, and later", []room{{math.MinInt64, -5}}, room{-5, -5}, 1},
	} {
		got, covered := bestShift(c.rooms)
		if got != c.want || covered != c.covered {
			t.Errorf("%s: %v for %d, want %v for %d", c.name, got, covered, c.want, c.covered)
		}
	}
}

// Of several events with one id the one around a time is meant, or the nearest.
func TestNamed(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, longest := range []int64{10, 1000} {
		w := newWorld(func(w *world) {
			for range 200 {
				start := random.Int64N(5000)
				w.host("cpu_op", "op", 5, start, start+random.Int64N(longest), 7)
			}
			w.host("cpu_op", "another", 5, 0, 9999, 8)
		})
		x := w.b.hosts().operators
		away := func(i uint32, t int64) int64 {
			e := w.t.Events.At(i)
			return max(e.Start-t, t-e.End, 0)
		}
		for range 1000 {
			at := random.Int64N(7000) - 1000
			got, ok := w.b.named(x, 7, at)
			best := int64(math.MaxInt64)
			for i := range w.b.first {
				if w.t.Events.At(i).External == 7 {
					best = min(best, away(i, at))
				}
			}
			if !ok || w.t.Events.At(got).External != 7 || away(got, at) != best {
				t.Fatalf("at %d: event %d (%v), %d away, the nearest is %d", at, got, ok, away(got, at), best)
			}
		}
		if _, ok := w.b.named(x, 9, 0); ok {
			t.Error("9 is nobody's")
		}
	}
}

// The innermost operator of the thread is that of a call, however it overlaps with
// others; an id that was pushed wins.
func TestBridgeByTime(t *testing.T) {
	w := newWorld(func(w *world) {
		w.host("cpu_op", "outer", 5, 0, 1000, 1)
		w.host("cpu_op", "inner", 5, 100, 200, 2)
		w.host("cpu_op", "same start", 5, 100, 150, 3)
		w.host("cpu_op", "other thread", 6, 0, 2000, 4)
		w.host("python_function", "python", 5, 300, 400, 0)
		w.t.Events.Add(timeline.Event{Kind: timeline.Host, Category: w.t.Strings.ID("cpu_op"), Name: w.t.Strings.ID("no id"), Start: 3000, End: 4000,
			Row: w.t.Row(timeline.Row{PID: 1, TID: 5})})
	})
	want := map[string]string{}
	n := uint64(0)
	call := func(name string, tid uint32, start, end uint64, to string) {
		n++
		w.call(event.Runtime, name, tid, n, start, end)
		want[name] = to
	}
	call("in the innermost", 5, 110, 120, "3")
	call("behind it", 5, 160, 170, "2")
	call("ends behind it", 5, 180, 210, "2")
	call("between", 5, 210, 220, "1")
	call("in Python only", 5, 350, 360, "1")
	call("behind all", 5, 1001, 1002, "no_operator")
	call("of the other thread", 6, 1500, 1600, "4")
	call("of a third thread", 7, 110, 120, "thread_not_seen")
	call("without an id", 5, 3100, 3200, "operator_has_no_id")
	call("pushed, the same", 5, 190, 195, "2")
	w.external(event.ExternalOperator, n, 2)
	call("pushed, another", 5, 196, 199, "1")
	w.external(event.ExternalOperator, n, 1)
	call("pushed, of no operator here", 5, 900, 910, "77")
	w.external(event.ExternalOperator, n, 77)
	w.kernel("kernel", 7, 1, 5000, 5001)
	w.kernel("kernel of nobody", 7, 99, 5002, 5003)
	w.finish(t, Options{ThreadIDs: true})
	for name, to := range want {
		e := w.find(t, name)
		got := w.b.whyUnlinked(&timeline.Event{Correlation: e.Correlation, Start: e.Start, End: e.End, Row: w.b.threads[thread{1, uint32(w.t.Rows[e.Row].TID)}]})
		if e.Flags&timeline.HasExternal != 0 {
			got = fmt.Sprint(e.External)
		}
		if got != to {
			t.Errorf("%s: %s, want %s", name, got, to)
		}
	}
	o := w.t.Completeness.Operators
	if o.Seen != 5 || o.LinkedByID != 3 || o.LinkedByTime != 6 || o.Agreed != 1 || o.Disagreed != 2 || o.DeviceLinked != 1 ||
		fmt.Sprint(o.CallsUnlinked) != "map[no_operator:1 operator_has_no_id:1 thread_not_seen:1]" || fmt.Sprint(o.DeviceUnlinked) != "map[no_api_call:1]" ||
		fmt.Sprint(o.Noted) != "map[calls_whose_operator_is_not_in_the_trace:1]" {
		t.Errorf("%+v", o)
	}
	if e := w.find(t, "kernel"); e.External != 3 || e.Flags&timeline.HasExternal == 0 {
		t.Errorf("the kernel has %+v", e)
	}
}

// Without a host side nothing is said of operators.
func TestNoHostSide(t *testing.T) {
	w := newWorld(nil)
	w.call(event.Runtime, "call", 5, 1, 10, 20)
	w.finish(t, Options{ThreadIDs: true})
	if o := w.t.Completeness.Operators; o != nil {
		t.Errorf("%+v", o)
	}
}

func TestUnlinkedReasons(t *testing.T) {
	b := &Builder{sessions: []Session{
		{Window: timeline.Window{Start: 100, End: 200}},
		{Window: timeline.Window{Start: 300, End: 400}, State: SessionLost},
		{Window: timeline.Window{Start: 400, End: 500}, State: SessionOther},
		{Window: timeline.Window{Start: 600, End: 700}, State: SessionRemoved},
	}}
	for at, want := range map[int64]string{
		50: "before_host", 100: "no_operator", 200: "no_operator", 250: "between_slices", 350: "lost_slice", 450: "program_session", 501: "between_slices", 650: "slice_removed", 701: "after_host",
	} {
		if got := b.unlinkedReason(at, true); got != want {
			t.Errorf("at %d: %s, want %s", at, got, want)
		}
	}
	if got := b.unlinkedReason(150, false); got != "thread_not_seen" {
		t.Error(got)
	}
	if got := new(Builder).unlinkedReason(1, true); got != "no_host" {
		t.Error(got)
	}
}

// Each session's clock is aligned by itself; one with too little to go by has the
// offset of its neighbour.
func TestSessionsAreAlignedOneByOne(t *testing.T) {
	offsets := []int64{1000, -3000, 50_000}
	const calls = 20
	w := newWorld(func(w *world) {
		for s, off := range offsets {
			base := int64(1_000_000 * (s + 1))
			for i := range int64(calls) {
				w.host("cpu_op", fmt.Sprintf("op %d", s), 5, base+i*1000+off, base+i*1000+500+off, int64(s*calls)+i+1)
			}
		}
		w.host("cpu_op", "alone", 5, 4_000_000+50_000, 4_000_500+50_000, 999)
	})
	for s := range offsets {
		base := uint64(1_000_000 * (s + 1))
		for i := range uint64(calls) {
			n := uint64(s)*calls + i + 1
			w.call(event.Runtime, "call", 5, n, base+i*1000+10, base+i*1000+490)
			w.external(event.ExternalOperator, n, n)
		}
	}
	w.call(event.Runtime, "by time", 5, 500, 4_000_010, 4_000_490)
	var sessions []Session
	for s := range 4 {
		n := uint32(calls)
		if s == 3 {
			n = 1
		}
		sessions = append(sessions, Session{Window: timeline.Window{Start: int64(1_000_000*(s+1)) - 100, End: int64(1_000_000*(s+1)) + 900_000}, Events: n})
	}
	w.finish(t, Options{ThreadIDs: true, Sessions: sessions})
	o := w.t.Completeness.Operators
	if o.Agreed != 3*calls || o.Disagreed != 0 || o.LinkedByTime != 1 {
		t.Errorf("%+v", o)
	}
	if e := w.find(t, "alone"); e.Start < 4_000_000-10 || e.Start > 4_000_010 {
		t.Errorf("the session without ids begins at %d", e.Start)
	}
	c := w.t.Completeness.Clock
	if c.HostOffsetNS == nil || *c.HostOffsetNS > -990 || *c.HostOffsetNS < -1010 || *c.HostUncertaintyNS != 10 {
		t.Errorf("clock %+v", c)
	}
}

// An id that two sessions use names the operator that is near.
func TestRepeatedIDs(t *testing.T) {
	w := newWorld(func(w *world) {
		w.host("user_annotation", "first", 5, 0, 100, 1)
		w.host("user_annotation", "second", 5, 1000, 1100, 1)
	})
	w.external(event.ExternalAnnotation, 1, 1)
	w.external(event.ExternalAnnotation, 2, 1)
	w.call(event.Runtime, "call", 5, 1, 10, 20)
	w.call(event.Runtime, "call", 5, 2, 1010, 1020)
	w.kernel("k", 7, 1, 30, 40)
	w.kernel("k", 7, 2, 1030, 1040)
	spans := map[string]int64{}
	for _, e := range w.finish(t, Options{ThreadIDs: true}) {
		if e.Kind == timeline.DeviceAnnotation {
			spans[w.t.Strings.At(e.Name)] = e.Start
		}
	}
	if want := map[string]int64{"first": 29, "second": 1029}; !maps.Equal(spans, want) {
		t.Errorf("spans begin at %v, want %v", spans, want)
	}
}

// An annotation covers what those inside it do, on each stream, by ids and by
// time; in Kineto's manner only the innermost does. Work that another thread
// launched meanwhile is not its own.
func TestNestedAnnotations(t *testing.T) {
	for _, byID := range []bool{true, false} {
		for _, kineto := range []bool{false, true} {
			w := newWorld(func(w *world) {
				w.host("user_annotation", "step", 5, 0, 1000, 1)
				w.host("user_annotation", "forward", 5, 10, 400, 2)
				w.host("user_annotation", "layer", 5, 20, 200, 3)
				w.host("user_annotation", "backward", 6, 0, 900, 4)
			})
			n := uint64(0)
			launch := func(tid, stream uint32, at, id uint64) {
				n++
				w.call(event.Runtime, "launch", tid, n, at, at+2)
				if byID {
					w.external(event.ExternalAnnotation, n, id)
				}
				w.kernel("k", stream, n, at+1000, at+1010)
			}
			launch(5, 7, 30, 3)   // layer
			launch(5, 13, 60, 3)  // layer, another stream
			launch(5, 7, 300, 2)  // forward
			launch(5, 17, 500, 1) // step
			launch(6, 20, 600, 4) // backward, of the other thread
			got := map[string]string{}
			for _, e := range w.finish(t, Options{ThreadIDs: true, KinetoRows: kineto}) {
				if e.Kind == timeline.DeviceAnnotation {
					got[fmt.Sprint(w.t.Strings.At(e.Name), " ", w.t.Places[e.Place].Stream)] = fmt.Sprint(e.Start-1000, "-", e.End-1000)
				}
			}
			want := map[string]string{"layer 7": "29-41", "layer 13": "59-71", "forward 7": "299-311", "step 17": "499-511", "backward 20": "599-611"}
			if !kineto {
				want["forward 7"], want["forward 13"] = "29-311", "59-71"
				want["step 7"], want["step 13"] = "29-311", "59-71"
			}
			if !maps.Equal(got, want) {
				t.Errorf("by id %v, Kineto's %v: %v, want %v", byID, kineto, got, want)
			}
			if !kineto {
				checkRows(t, w.t)
			}
		}
	}
}

// Host events outside the windows go, and arrows with an end there.
func TestHostWindows(t *testing.T) {
	w := newWorld(func(w *world) {
		for i, s := range []int64{10, 150, 350, 510, 900} {
			w.host("cpu_op", fmt.Sprint("op ", s), 5, s, s+80, int64(i))
		}
		name := w.t.Strings.ID("fwdbwd")
		for id, ts := range [][2]int64{{160, 510}, {160, 350}} {
			for k, at := range ts {
				w.t.Flows = append(w.t.Flows, timeline.FlowPoint{ID: uint64(id), TS: at, Name: name, Start: k == 0})
			}
		}
	})
	w.call(event.Runtime, "call", 5, 1, 520, 530)
	events := w.finish(t, Options{ThreadIDs: true, Window: &timeline.Window{Start: 100, End: 600},
		HostWindows: []timeline.Window{{Start: 100, End: 300}, {Start: 500, End: 600}}})
	names := ""
	for _, e := range events {
		names += w.t.Strings.At(e.Name) + ","
	}
	if names != "op 150,op 510,call," || len(w.t.Flows) != 2 || w.t.Flows[0].ID != 0 {
		t.Errorf("%s %v", names, w.t.Flows)
	}
	o := w.t.Completeness.Operators
	if o.Noted[HostOutOfWindow] != 3 || o.LinkedByTime != 1 || o.Seen != 2 {
		t.Errorf("%+v", o)
	}
}

// BenchmarkBridge joins by time: operators and calls in equal numbers, on two
// threads. ns/event should not grow with their number.
func BenchmarkBridge(b *testing.B) {
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				w := newWorld(func(w *world) {
					for i := range int64(n) {
						// Three levels of nesting, in the order of their ends as a document may have them.
						at, depth := i/3*300, i%3
						w.host("cpu_op", "op", 5+i%2, at+depth*10, at+250-depth*10, i+1)
					}
				})
				for i := range uint64(n) {
					w.call(event.Runtime, "call", 5+uint32(i%2), i+1, i*100+100, i*100+110)
					if i%2 == 0 {
						w.external(event.ExternalOperator, i+1, i+1)
					}
				}
				w.b.o = Options{ThreadIDs: true, Clock: Realtime{}}
				b.StartTimer()
				w.b.openSessions()
				w.b.alignHost()
				w.b.tids, w.b.threadSeen = w.b.threadIDs(), make([]bool, len(w.b.threadList))
				w.b.bridge()
				calls := w.b.indexCalls()
				w.b.link(calls)
				w.b.countOperators(calls)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(2*n), "ns/event")
		})
	}
}
