package chrome

import (
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/timeline"
)

const visitedText = `{"traceEvents":[
{"ph":"M","name":"process_name","pid":5,"args":{"name":"Ascend Hardware"}},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":1,"dur":9,"args":{"External id":7}},
{"ph":"B","cat":"cpu_op","name":"begun","pid":1,"tid":1,"ts":20,"args":{"a":1}},
{"ph":"E","cat":"cpu_op","name":"begun","pid":1,"tid":1,"ts":30,"args":{"b":2}},
{"ph":"B","name":"open","pid":1,"tid":1,"ts":40},
{"ph":"X","name":"MatMul","pid":5,"tid":3,"ts":2,"dur":3,"args":{"Task Type":"AI_CORE","Stream Id":3,"connection_id":4}},
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":3,"dur":2,"args":{"device":0,"stream":7,"correlation":9,"Collective name":"allreduce"}},
{"ph":"i","name":"moment","pid":1,"tid":1,"ts":5,"s":"t"},
{"ph":"C","name":"memory","pid":1,"tid":1,"ts":6,"args":{"bytes":1}}]}`

func readVisited(t *testing.T, o ReadOptions) *timeline.Trace {
	t.Helper()
	d, err := Read(strings.NewReader(visitedText), o)
	if err != nil {
		t.Fatal(err)
	}
	return d.Trace
}

// TestKeep: of the arguments that are dropped those are left in, as they are in the
// end, that are asked for.
func TestKeepKeys(t *testing.T) {
	whole := readVisited(t, ReadOptions{})
	for _, keep := range []string{"External id", "b", "Task Type", "Collective name", "finished", "bytes"} {
		n := 0
		got := readVisited(t, ReadOptions{DropArgs: true, KeepKeys: []string{"none", keep}})
		for i := range uint32(whole.Events.Len()) {
			want := string(whole.RawArgs(i))
			if !strings.Contains(want, `"`+keep+`"`) {
				want = ""
			}
			if want != "" {
				n++
			}
			if args := string(got.RawArgs(i)); args != want {
				t.Errorf("keeping %s: event %d has %q, want %q", keep, i, args, want)
			}
			e, f := whole.Events.At(i), got.Events.At(i)
			switch f.Kind {
			case timeline.Kernel:
				c, all := got.Kernels.At(f.Detail).Collective, whole.Kernels.At(e.Detail).Collective
				if kept := string(got.Args.At(c)); all != 0 && kept != want || all == 0 && c != 0 {
					t.Errorf("keeping %s: the collective of event %d is %q, want %q", keep, i, kept, want)
				}
			case timeline.Host, timeline.Other:
				if f.Detail != got.Source.Events.At(i).Args {
					t.Errorf("keeping %s: event %d has detail %d", keep, i, f.Detail)
				}
			}
		}
		if n == 0 {
			t.Errorf("nothing has %s", keep)
		}
	}
}

// TestDropOffsets: without offsets nothing else is different, and an event that has
// nothing beyond its columns takes no room for it.
func TestDropOffsets(t *testing.T) {
	for _, drop := range []bool{false, true} {
		want := readVisited(t, ReadOptions{DropArgs: drop})
		got := readVisited(t, ReadOptions{DropArgs: drop, DropOffsets: true})
		if got.Events.Len() != want.Events.Len() || got.Source.Events.Len() != want.Events.Len() {
			t.Fatalf("%d events, %d of the source, want %d", got.Events.Len(), got.Source.Events.Len(), want.Events.Len())
		}
		bare := 0
		for i := range uint32(want.Events.Len()) {
			if *got.Events.At(i) != *want.Events.At(i) {
				t.Errorf("event %d is %+v, want %+v", i, *got.Events.At(i), *want.Events.At(i))
			}
			g, w := *got.Source.Events.At(i), *want.Source.Events.At(i)
			if w.Offset() == 0 || g.Offset() != 0 {
				t.Errorf("event %d: offset %d with offsets, %d without", i, w.Offset(), g.Offset())
			}
			if w.SetOffset(0); g != w {
				t.Errorf("event %d: beyond its columns %+v, want %+v", i, g, w)
			}
			if g == (timeline.SourceEvent{}) {
				bare++
			}
		}
		if drop && bare == 0 {
			t.Error("no event has nothing beyond its columns")
		}
	}
}

// TestVisit: each event is visited once, with what it is and its arguments as they are
// in the end, and without arguments kept the timeline is the same but for those.
func TestVisit(t *testing.T) {
	read := func(o ReadOptions) *timeline.Trace { return readVisited(t, o) }
	type visit struct {
		args, name string
		kind       timeline.Kind
		duration   int64
	}
	for _, drop := range []bool{false, true} {
		seen := map[uint32]visit{}
		got := read(ReadOptions{DropArgs: drop, Visit: func(tr *timeline.Trace, i uint32, args []byte) {
			if _, ok := seen[i]; ok {
				t.Errorf("event %d is visited twice", i)
			}
			e := tr.Events.At(i)
			seen[i] = visit{string(args), tr.Strings.At(e.Name), e.Kind, e.Duration()}
		}})
		want := read(ReadOptions{})
		if got.Events.Len() != want.Events.Len() || len(seen) != want.Events.Len() {
			t.Fatalf("%d events, %d visited, want %d", got.Events.Len(), len(seen), want.Events.Len())
		}
		for i := range uint32(want.Events.Len()) {
			e, f := want.Events.At(i), got.Events.At(i)
			if v := (visit{string(want.RawArgs(i)), want.Strings.At(e.Name), e.Kind, e.Duration()}); seen[i] != v {
				t.Errorf("event %d is visited as %+v, want %+v", i, seen[i], v)
			}
			x, y := *e, *f
			x.Detail, y.Detail = 0, 0
			if x != y || want.Places[e.Place] != got.Places[f.Place] {
				t.Errorf("drop %v: event %d is %+v, want %+v", drop, i, y, x)
			}
			if drop && len(got.RawArgs(i)) > 0 {
				t.Errorf("the arguments of event %d are kept: %s", i, got.RawArgs(i))
			}
		}
	}
}
