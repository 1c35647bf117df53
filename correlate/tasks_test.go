package correlate

import (
	"testing"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// starter adds a call that starts work, by its name.
func (w *world) starter(name string, correlation, start, end uint64) {
	w.b.Add(&event.Event{Kind: event.Runtime, Name: w.t.Strings.ID(name), PID: 1, TID: 5, Correlation: correlation, Start: start, End: end, Has: event.StartsWork})
}

// A library may give one id to all calls around a launch: the arrow leaves the launch,
// and no call around it counts as one that started nothing.
func TestCallsAroundALaunch(t *testing.T) {
	w := newWorld(nil)
	w.external(event.ExternalOperator, 1, 9)
	w.b.Add(&event.Event{Kind: event.Driver, Name: w.t.Strings.ID("rtKernelLaunch"), PID: 1, TID: 5, Correlation: 1, Start: 120, End: 130, Has: event.StartsWork | event.NoCallID})
	w.starter("execute", 1, 110, 140)
	w.b.Add(&event.Event{Kind: event.Runtime, Name: w.t.Strings.ID("operator"), PID: 1, TID: 5, Correlation: 1, Start: 100, End: 150, Has: event.NoCallID})
	w.starter("lonely", 2, 200, 210)
	w.kernel("k", 7, 1, 300, 310)
	for _, e := range w.finish(t, Options{ThreadIDs: true}) {
		if out := e.Flags&timeline.FlowOut != 0; out != (w.t.Strings.At(e.Name) == "execute") {
			t.Errorf("%s: an arrow leaves: %v", w.t.Strings.At(e.Name), out)
		}
		// Of the calls of one kind one has the id; the operator is that of all.
		name := w.t.Strings.At(e.Name)
		if (e.Correlation == 0) != (name == "operator") || (e.External == 9) != (name != "lonely") {
			t.Errorf("%s: id %d, operator %d", name, e.Correlation, e.External)
		}
	}
	if n := w.t.Completeness.Noted["calls_without_device_work"]; n != 1 {
		t.Errorf("%d calls without work", n)
	}
}

// What the library tells of a task stands among the arguments, before what the
// operation told; equal tasks share them.
func TestTasks(t *testing.T) {
	w := newWorld(func(w *world) {
		w.host("cpu_op", CollectiveOp, 5, 90, 200, 3)
		op := w.t.Events.At(0)
		op.Detail = w.t.Args.Add([]byte(`"Dst Rank": 4`))
	})
	id := w.t.Strings.ID
	add := func(name string, correlation uint64, task event.Task) {
		w.b.Add(&event.Event{Kind: event.Kernel, Name: id(name), Correlation: correlation, Start: 210, End: 220, Task: task, Has: event.HasTask | event.HasDevice | event.HasStream})
	}
	w.starter("launch", 1, 100, 110)
	w.external(event.ExternalOperator, 1, 3)
	add("reduce", 1, event.Task{Communicator: id(`group "a"`), Algorithm: id("RING"), DataType: id("FP16"), Count: 1 << 40})
	add("first", 2, event.Task{Type: id("VEC")})
	add("second", 3, event.Task{Type: id("VEC")})
	add("bare", 4, event.Task{})
	add("fast", 5, event.Task{Bandwidth: 12.5})
	w.finish(t, Options{ThreadIDs: true})
	args := func(name string) (uint32, string) {
		e := w.find(t, name)
		k := w.t.Kernels.At(e.Detail)
		return k.Collective, string(w.t.Args.At(k.Collective))
	}
	for name, want := range map[string]string{
		"reduce": `"commName": "group \"a\"", "algType": "RING", "dataType": "FP16", "count": 1099511627776, "Dst Rank": 4`,
		"first":  `"type": "VEC"`, "bare": "", "fast": `"bandwidth (GB/s)": 12.5`,
	} {
		if _, got := args(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	a, _ := args("first")
	if b, _ := args("second"); a != b {
		t.Error("equal tasks have arguments each of their own")
	}
}

// A copy with the times of its call stands on a row of its own, and begins with the call.
func TestHostTimedCopies(t *testing.T) {
	w := newWorld(nil)
	copies := func(correlation, start uint64, has event.Fields) {
		w.b.Add(&event.Event{Kind: event.Memcpy, Correlation: correlation, Start: start, End: start + 100, Device: 2, Stream: 9,
			Has: has | event.HasDevice | event.NoContext | event.HostSpan})
	}
	w.starter("copy", 1, 105, 190)
	w.starter("other", 2, 305, 390)
	copies(1, 100, event.HasStream)
	copies(2, 300, 0)
	w.b.Add(&event.Event{Kind: event.Kernel, Name: w.t.Strings.ID("k"), Correlation: 0, Start: 150, End: 160, Device: 2, Stream: 9, Has: event.HasDevice | event.HasStream | event.NoContext})
	rows := map[int64]string{}
	for _, e := range w.finish(t, Options{ThreadIDs: true}) {
		r := w.t.Rows[e.Row]
		if e.Kind == timeline.Memcpy {
			rows[r.TID] = r.Name
			if e.Start != 105 && e.Start != 305 {
				t.Errorf("a copy begins at %d", e.Start)
			}
		}
		if e.Kind.OnDevice() && w.t.Places[e.Place].Has&event.NoContext == 0 {
			t.Error("a place with a context")
		}
	}
	if rows[2_000_009] != "stream 9 copies (time of the call)" || rows[1_999_999] != "copies (time of the call)" || len(rows) != 2 {
		t.Errorf("%v", rows)
	}
	if n := w.t.Completeness.Noted["copies_cut_to_their_call"]; n != 2 {
		t.Errorf("%d copies cut", n)
	}
}
