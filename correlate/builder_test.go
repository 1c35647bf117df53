package correlate

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// world builds a trace from a few events, as a decoder would emit them.
type world struct {
	t *timeline.Trace
	b *Builder
}

// host adds a host event before any device event is added.
func (w *world) host(category, name string, tid, start, end, external int64) {
	w.t.Events.Add(timeline.Event{
		Kind: timeline.Host, Category: w.t.Strings.ID(category), Name: w.t.Strings.ID(name), Start: start, End: end,
		External: external, Flags: timeline.HasExternal, Row: w.t.Row(timeline.Row{PID: 1, TID: tid}),
	})
}

func newWorld(hosts func(*world)) *world {
	w := &world{t: &timeline.Trace{Completeness: new(timeline.Completeness)}}
	if hosts != nil {
		hosts(w)
	}
	w.b = New(w.t)
	return w
}

func (w *world) kernel(name string, stream uint32, correlation, start, end uint64) {
	w.b.Add(&event.Event{Kind: event.Kernel, Name: w.t.Strings.ID(name), Stream: stream, Context: 1, Correlation: correlation,
		Start: start, End: end, Has: event.HasDevice | event.HasStream})
}

func (w *world) call(kind event.Kind, name string, tid uint32, correlation, start, end uint64) {
	w.b.Add(&event.Event{Kind: kind, Name: w.t.Strings.ID(name), PID: 1, TID: tid, Correlation: correlation, Start: start, End: end})
}

func (w *world) external(kind event.ExternalKind, correlation, id uint64) {
	w.b.Add(&event.Event{Kind: event.ExternalCorrelation, External: kind, Correlation: correlation, ExternalID: id})
}

func (w *world) finish(t *testing.T, o Options) []timeline.Event {
	t.Helper()
	if err := w.b.Finish(o); err != nil {
		t.Fatal(err)
	}
	var out []timeline.Event
	for i := range uint32(w.t.Events.Len()) {
		out = append(out, *w.t.Events.At(i))
	}
	return out
}

func (w *world) find(t *testing.T, name string) timeline.Event {
	t.Helper()
	for i := range uint32(w.t.Events.Len()) {
		if e := w.t.Events.At(i); w.t.Strings.At(e.Name) == name {
			return *e
		}
	}
	t.Fatalf("no event %q", name)
	return timeline.Event{}
}

func TestLinks(t *testing.T) {
	w := newWorld(func(w *world) { w.host("cpu_op", "aten::mm", 5, 90, 200, 0) })
	w.external(event.ExternalOperator, 1, 0) // External id 0 is a value
	w.kernel("_Z3foov", 7, 1, 150, 160)      // before its call, as CUPTI writes
	w.kernel("k2", 7, 1, 161, 170)           // a graph: one call, two kernels
	w.call(event.Runtime, "cudaGraphLaunch", 5, 1, 100, 110)
	w.call(event.Runtime, "cudaMalloc", 5, 2, 111, 120)
	w.kernel("orphan", 7, 3, 171, 180)
	w.kernel("nobody's", 7, 0, 181, 182)
	events := w.finish(t, Options{ThreadIDs: true})

	flags := map[string]timeline.Flags{
		"foo()": timeline.FlowIn | timeline.HasExternal, "k2": timeline.FlowIn | timeline.HasExternal,
		"cudaGraphLaunch": timeline.FlowOut | timeline.HasExternal, "cudaMalloc": timeline.HasExternal /* by time */, "orphan": 0, "nobody's": 0,
		"aten::mm": timeline.HasExternal,
	}
	if len(events) != len(flags) {
		t.Errorf("%d events, want %d", len(events), len(flags))
	}
	for name, want := range flags {
		if e := w.find(t, name); e.Flags != want {
			t.Errorf("%s: flags %b, want %b", name, e.Flags, want)
		}
	}
	if got := w.t.Completeness.Unlinked["kernel"]; got != 1 {
		t.Errorf("%d kernels without their call, want 1", got)
	}
	if got := w.t.Completeness.Written["kernel"]; got != 4 {
		t.Errorf("%d kernels written, want 4", got)
	}
}

// A runtime call and a driver call inside it may share a correlation id: the
// arrow leaves the outer one, whatever the order of their records.
func TestOneArrowLeavesUnderAnID(t *testing.T) {
	for _, driverFirst := range []bool{false, true} {
		w := newWorld(nil)
		w.kernel("k", 7, 1, 150, 160)
		calls := []func(){
			func() { w.call(event.Runtime, "outer", 5, 1, 100, 120) },
			func() { w.call(event.Driver, "inner", 5, 1, 105, 110) },
		}
		if driverFirst {
			slices.Reverse(calls)
		}
		for _, c := range calls {
			c()
		}
		w.finish(t, Options{ThreadIDs: true})
		if w.find(t, "outer").Flags&timeline.FlowOut == 0 || w.find(t, "inner").Flags&timeline.FlowOut != 0 {
			t.Errorf("driver first %v: the arrow does not leave the outer call alone", driverFirst)
		}
	}
}

func TestWindow(t *testing.T) {
	build := func() *world {
		w := newWorld(nil)
		w.call(event.Runtime, "early", 5, 1, 99, 110)
		w.kernel("of early", 7, 1, 115, 120)
		w.call(event.Runtime, "inside", 5, 2, 100, 110)
		w.kernel("inside kernel", 7, 2, 120, 200)
		w.call(event.Runtime, "last", 5, 3, 150, 160)
		w.kernel("late", 7, 3, 190, 201)
		return w
	}
	w := build()
	events := w.finish(t, Options{ThreadIDs: true, Window: &timeline.Window{Start: 100, End: 200}})
	if len(events) != 4 || w.t.Completeness.Dropped[timeline.DropOutOfWindow] != 2 {
		t.Errorf("%d events, dropped %v", len(events), w.t.Completeness.Dropped)
	}
	// What fell out takes its arrow with it.
	if w.find(t, "last").Flags != 0 || w.find(t, "of early").Flags != 0 || w.find(t, "inside").Flags != timeline.FlowOut {
		t.Error("an arrow has one end")
	}
	if w.t.Window != (timeline.Window{Start: 100, End: 200}) {
		t.Errorf("window %+v", w.t.Window)
	}
	w = build()
	if w.finish(t, Options{ThreadIDs: true}); w.t.Window != (timeline.Window{Start: 99, End: 201}) {
		t.Errorf("without a window it is %+v", w.t.Window)
	}
	w = build()
	w.finish(t, Options{ThreadIDs: true, Window: &timeline.Window{Start: 100, End: math.MaxInt64}})
	if w.t.Window != (timeline.Window{Start: 100, End: 201}) {
		t.Errorf("with an open end it is %+v", w.t.Window)
	}
}

func TestUnfinishedKernelLastsToTheEnd(t *testing.T) {
	for _, window := range []*timeline.Window{nil, {Start: 0, End: 500}, {Start: 0, End: math.MaxInt64}} {
		w := newWorld(nil)
		w.kernel("done", 7, 1, 100, 300)
		w.b.Add(&event.Event{Kind: event.Kernel, Name: w.t.Strings.ID("hung"), Stream: 8, Correlation: 2, Start: 200, Incomplete: true})
		w.finish(t, Options{ThreadIDs: true, Window: window})
		want := int64(300)
		if window != nil && window.End == 500 {
			want = 500
		}
		if e := w.find(t, "hung"); e.End != want || e.Flags&timeline.Unfinished == 0 {
			t.Errorf("window %v: it ends at %d, want %d", window, e.End, want)
		}
	}
}

func TestThreadIDs(t *testing.T) {
	build := func() *world {
		w := newWorld(func(w *world) {
			w.host("cpu_op", "op", 500, 0, 100, 11)
			w.host("cpu_op", "other", 501, 0, 100, 12)
		})
		w.external(event.ExternalOperator, 1, 11)
		w.call(event.Runtime, "a", 0xF0000001, 1, 10, 20)
		w.call(event.Runtime, "b", 0xF0000001, 2, 30, 40) // no operator, same thread
		w.call(event.Runtime, "c", 0xF0000002, 3, 30, 40) // a thread without operators
		return w
	}
	w := build()
	w.finish(t, Options{})
	for name, tid := range map[string]int64{"a": 500, "b": 500, "c": 0x0FFFFFFE} {
		if r := w.t.Rows[w.find(t, name).Row]; r.TID != tid {
			t.Errorf("%s: tid %d, want %d", name, r.TID, tid)
		}
	}
	w = build()
	w.finish(t, Options{ThreadIDs: true})
	if r := w.t.Rows[w.find(t, "a").Row]; r.TID != 0xF0000001 {
		t.Errorf("a system's thread id became %d", r.TID)
	}
}

func TestLanes(t *testing.T) {
	build := func() *world {
		w := newWorld(func(w *world) { w.host("user_annotation", "step", 5, 0, 900, 77) })
		for i, c := range []struct{ start, end uint64 }{{100, 200}, {150, 250}, {160, 170}, {200, 210}, {250, 300}, {250, 250}} {
			id := uint64(i + 1)
			w.external(event.ExternalAnnotation, id, 77)
			w.kernel(string(rune('a'+i)), 7, id, c.start, c.end)
		}
		return w
	}
	w := build()
	w.finish(t, Options{ThreadIDs: true})
	for name, lane := range map[string]uint16{"a": 0, "b": 1, "c": 2, "d": 0, "e": 0, "f": 1} {
		if r := w.t.Rows[w.find(t, name).Row]; r.Lane != lane || r.PID != 0 || r.Stream != 7 {
			t.Errorf("%s is on row %+v, want lane %d", name, r, lane)
		}
	}
	checkRows(t, w.t)
	w = build()
	w.finish(t, Options{ThreadIDs: true, KinetoRows: true})
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		if r := w.t.Rows[w.find(t, name).Row]; r.TID != 7 {
			t.Errorf("Kineto's rows: %s is on tid %d", name, r.TID)
		}
	}
}

// checkRows fails if two events of a row overlap without nesting, or work nests
// in anything but an annotation.
func checkRows(t *testing.T, tr *timeline.Trace) {
	t.Helper()
	for i := range uint32(tr.Events.Len()) {
		for j := range i {
			a, b := tr.Events.At(i), tr.Events.At(j)
			if a.Row != b.Row || a.Start >= b.End || b.Start >= a.End {
				continue
			}
			inside := a.Start >= b.Start && a.End <= b.End && b.Kind == timeline.DeviceAnnotation ||
				b.Start >= a.Start && b.End <= a.End && a.Kind == timeline.DeviceAnnotation
			if tr.Rows[a.Row].Kind != timeline.RowThread && !inside {
				t.Errorf("%s [%d, %d) and %s [%d, %d) overlap on row %+v", tr.Strings.At(a.Name), a.Start, a.End,
					tr.Strings.At(b.Name), b.Start, b.End, tr.Rows[a.Row])
			}
		}
	}
}

func TestAnnotations(t *testing.T) {
	w := newWorld(func(w *world) { w.host("user_annotation", "step", 5, 0, 900, 77) })
	for _, c := range []struct{ correlation, stream, annotation, start, end uint64 }{
		{1, 7, 77, 100, 110}, {2, 7, 77, 150, 160}, {3, 9, 77, 120, 130}, {4, 7, 78, 170, 180},
	} {
		w.external(event.ExternalAnnotation, c.correlation, c.annotation)
		w.kernel("k", uint32(c.stream), c.correlation, c.start, c.end)
	}
	type found struct {
		stream     int64
		start, end int64
	}
	var got []found
	for _, e := range w.finish(t, Options{ThreadIDs: true}) {
		if e.Kind == timeline.DeviceAnnotation {
			if w.t.Strings.At(e.Name) != "step" || e.External != 77 || e.Flags&timeline.HasExternal == 0 {
				t.Errorf("annotation %+v", e)
			}
			got = append(got, found{w.t.Rows[e.Row].TID, e.Start, e.End})
		}
	}
	if want := []found{{7, 99, 161}, {9, 119, 131}}; !slices.Equal(got, want) {
		t.Errorf("spans %v, want %v", got, want)
	}
	if n := w.t.Completeness.Noted["device_work_of_unnamed_annotation"]; n != 1 {
		t.Errorf("%d kernels of an annotation without a name, want 1", n)
	}
}

func TestSyncs(t *testing.T) {
	w := newWorld(nil)
	record := func(correlation uint64, stream, id uint32) {
		w.b.Add(&event.Event{Kind: event.DeviceEvent, Correlation: correlation, Context: 1, Stream: stream, EventID: id, Has: event.HasStream | event.HasEventID})
	}
	wait := func(name string, kind event.SyncKind, correlation uint64, stream, id uint32, has event.Fields) {
		w.b.Add(&event.Event{Kind: event.Sync, Name: w.t.Strings.ID(name), SyncKind: kind, Correlation: correlation, Context: 1,
			Stream: stream, EventID: id, Has: has, Start: 200 + correlation, End: 300})
	}
	record(10, 7, 1)
	record(30, 9, 1) // recorded again, later than the first wait
	wait("first", event.StreamWaitEvent, 20, 8, 1, event.HasStream|event.HasEventID)
	wait("second", event.StreamWaitEvent, 40, 8, 1, event.HasStream|event.HasEventID)
	wait("unseen", event.EventSync, 50, 8, 2, event.HasStream|event.HasEventID)
	wait("context", event.ContextSync, 60, 0, 0, 0)
	w.b.Add(&event.Event{Kind: event.Kernel, Device: 3, Context: 1, Stream: 7, Start: 1, End: 2, Has: event.HasDevice | event.HasStream})
	w.finish(t, Options{ThreadIDs: true})
	for _, c := range []struct {
		name   string
		has    bool
		stream uint32
		tid    int64
		kind   timeline.RowKind
	}{
		{"first", true, 7, 1_000_008, timeline.RowSync}, {"second", true, 9, 1_000_008 + laneRow, timeline.RowSync},
		{"unseen", false, 0, 1_000_008 + 2*laneRow, timeline.RowSync}, {"context", false, 0, contextRow, timeline.RowContextSync},
	} {
		e := w.find(t, c.name)
		d, r := w.t.Syncs.At(e.Detail), w.t.Rows[e.Row]
		if d.HasSource != c.has || d.SourceStream != c.stream || r.TID != c.tid || r.PID != 3 || r.Kind != c.kind {
			t.Errorf("%s: %+v on row %+v", c.name, d, r)
		}
	}
}

func TestDemangle(t *testing.T) {
	long := "_Z1" + string(slices.Repeat([]byte("a"), maxMangled))
	// Each level doubles the name: 26 of them are gigabytes.
	bomb := "_Z1f1aIiiE"
	for i := range 26 {
		id := strings.ToUpper(strconv.FormatInt(int64(i), 36))
		bomb += "S_IS" + id + "_S" + id + "_E"
	}
	for _, c := range []struct{ in, want string }{
		{bomb, bomb},
		{"_Z3foov", "foo()"}, {"gemm_kernel", "gemm_kernel"}, {"_Znonsense", "_Znonsense"}, {long, long}, {"", ""},
		{"_ZN2at6native13reduce_kernelILi512ELi1EEEvf", "void at::native::reduce_kernel<512, 1>(float)"},
	} {
		if got := Demangle(c.in); got != c.want {
			t.Errorf("Demangle(%.40q) = %.80q, want %.80q", c.in, got, c.want)
		}
	}
}

func TestOwnCallsAreLeftOut(t *testing.T) {
	w := newWorld(nil)
	w.call(event.Runtime, "theirs", 5, 1, 100, 110)
	w.call(event.Runtime, "ours", 6, 2, 100, 110)
	events := w.finish(t, Options{ThreadIDs: true, OwnThreads: map[int64]bool{6: true}})
	if len(events) != 1 || w.t.Completeness.Dropped[timeline.DropOwnCalls] != 1 || w.t.Completeness.Lost() {
		t.Errorf("%d events, dropped %v", len(events), w.t.Completeness.Dropped)
	}
}

// A window that cannot be is not applied: a trace must not end before it began.
func TestDamagedWindow(t *testing.T) {
	for _, window := range []timeline.Window{{Start: math.MinInt64, End: 500}, {Start: 500, End: 400}} {
		w := newWorld(nil)
		w.kernel("k", 7, 1, 100, 200)
		if events := w.finish(t, Options{ThreadIDs: true, Window: &window}); len(events) != 1 || w.t.Window != (timeline.Window{Start: 100, End: 200}) {
			t.Errorf("%+v: %d events in %+v", window, len(events), w.t.Window)
		}
	}
}
