package chrome

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// rebuild makes a timeline of a recorded document by its arguments alone, and
// keeps its events' text with uniform spacing.
type rebuild struct {
	t     *testing.T
	trace timeline.Trace
	base  int64
	want  []string
	flags *timeline.Flags // of the last event
}

func (r *rebuild) Member(key string, v Value) error {
	switch key {
	case "baseTimeNanoseconds":
		r.base, _ = v.Int()
	case "deviceProperties":
		for item := range Elements(v) {
			var d timeline.Device
			for m := WalkMembers(item); m.Next(); {
				if n, ok := m.Value.Int(); !ok {
					d.Name = string(m.Value.Text(nil))
				} else if string(m.Key) == "id" {
					d.ID = uint32(n)
				} else {
					d.Properties = append(d.Properties, timeline.DeviceProperty{Key: string(m.Key), Value: n})
				}
			}
			r.trace.Devices = append(r.trace.Devices, d)
		}
	}
	return nil
}

func (r *rebuild) number(v Value) int64 {
	n, ok := v.Int()
	if !ok {
		r.t.Errorf("%q is no integer", v)
	}
	return n
}

func (r *rebuild) arg(e *Event, key string) int64 { return r.number(Lookup(e.Args, key)) }

func (r *rebuild) time(v Value) int64 {
	ns, err := v.Nanoseconds()
	if err != nil {
		r.t.Error(err)
	}
	return ns
}

func (r *rebuild) dims(e *Event, key string) (d [3]int32) {
	i := 0
	for v := range Elements(Lookup(e.Args, key)) {
		d[i] = int32(r.number(v))
		i++
	}
	return d
}

func (r *rebuild) Event(e *Event) error {
	if e.Phase.Is("s") || e.Phase.Is("f") {
		if e.Category.Is("fwdbwd") {
			return nil // written elsewhere in the document
		}
		if e.Phase.Is("s") {
			*r.flags |= timeline.FlowOut
		} else {
			*r.flags |= timeline.FlowIn
		}
	} else if !e.Phase.Is("X") || e.Category.Is("Trace") {
		return nil
	}
	text, _ := appendValue(nil, e.Raw)
	r.want = append(r.want, string(text))
	if e.Phase.Is("X") {
		r.span(e)
	}
	return nil
}

func (r *rebuild) span(e *Event) {
	t := &r.trace
	ev := timeline.Event{Start: r.time(e.TS) + r.base, Name: t.Strings.IDBytes(e.Name.Text(nil))}
	ev.End = ev.Start + r.time(e.Dur)
	row := timeline.Row{PID: r.number(e.PID), TID: r.number(e.TID), Kind: timeline.RowThread}
	if id := Lookup(e.Args, "External id"); id != nil {
		ev.External, ev.Flags = r.number(id), timeline.HasExternal
	}
	if c := Lookup(e.Args, "correlation"); c != nil {
		ev.Correlation = uint64(r.number(c))
	}
	if Lookup(e.Args, "device") != nil {
		ev.Place = t.Place(timeline.Place{Device: uint32(r.arg(e, "device")), Context: uint32(r.arg(e, "context")),
			Stream: uint32(r.arg(e, "stream")), Has: event.HasDevice | event.HasStream})
	}
	switch string(e.Category.Text(nil)) {
	case "kernel":
		ev.Kind, row.Kind = timeline.Kernel, timeline.RowStream
		l := event.Launch{Grid: r.dims(e, "grid"), Block: r.dims(e, "block"),
			Registers: uint32(r.arg(e, "registers per thread")), Dynamic: int32(r.arg(e, "shared memory"))}
		d := timeline.KernelDetail{Launch: t.Launch(l), Queued: uint64(r.arg(e, "queued")), Has: event.HasQueued}
		if at := bytes.Index(e.Args, []byte(`"Collective name"`)); at >= 0 {
			d.Collective = t.Args.Add(bytes.TrimSpace(e.Args[at : len(e.Args)-1]))
		}
		ev.Detail = t.Kernels.Add(d)
	case "gpu_memcpy":
		ev.Kind, row.Kind = timeline.Memcpy, timeline.RowStream
		ev.Detail = t.Copies.Add(r.copy(e, "Memcpy"))
		ev.Name = 0
	case "gpu_memset":
		ev.Kind, row.Kind = timeline.Memset, timeline.RowStream
		ev.Detail = t.Copies.Add(r.copy(e, "Memset"))
		ev.Name = 0
	case "cuda_runtime":
		ev.Kind = timeline.Runtime
		ev.Detail = t.Calls.Add(timeline.CallDetail{CBID: uint32(r.arg(e, "cbid"))})
	case "cuda_driver":
		ev.Kind = timeline.Driver
		ev.Detail = t.Calls.Add(timeline.CallDetail{CBID: uint32(r.arg(e, "cbid"))})
	case "overhead":
		ev.Kind, row.Kind = timeline.Overhead, timeline.RowOverhead
	case "gpu_user_annotation":
		ev.Kind, row.Kind = timeline.DeviceAnnotation, timeline.RowStream
	default:
		ev.Kind = timeline.Host
		ev.Category = t.Strings.IDBytes(e.Category.Text(nil))
		args := e.Args[1 : len(e.Args)-1]
		if m := WalkMembers(args); m.Next() && string(m.Key) == "External id" {
			args = args[m.End:]
		}
		ev.Detail = t.Args.Add(bytes.Trim(args, " ,\n"))
	}
	ev.Row = t.Row(row)
	r.flags = &t.Events.At(t.Events.Add(ev)).Flags
}

// copy finds the kinds by the name they make.
func (r *rebuild) copy(e *Event, what string) timeline.CopyDetail {
	d := timeline.CopyDetail{Bytes: uint64(r.arg(e, "bytes"))}
	name := string(e.Name.Text(nil))
	for kind := event.CopyKind(1); kind <= 10; kind++ {
		for src := event.MemoryKind(0); src < 8; src++ {
			for dst := event.MemoryKind(0); dst < 8; dst++ {
				if name == what+" "+kind.String()+" ("+src.String()+" -> "+dst.String()+")" || name == what+" ("+dst.String()+")" {
					d.Copy, d.Src, d.Dst = kind, src, dst
					return d
				}
			}
		}
	}
	r.t.Errorf("no kinds make %q", name)
	return d
}

// TestAsRecorded rebuilds what torch.profiler wrote from its figures' inputs: in
// compatibility mode every event and arrow comes out the same, key for key and
// digit for digit.
func TestAsRecorded(t *testing.T) {
	for _, name := range []string{"basic", "graph", "ddp"} {
		t.Run(name, func(t *testing.T) {
			f, err := os.Open(filepath.Join("testdata", name+".kineto.json.gz"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			r := rebuild{t: t}
			if err := Scan(f, &r); err != nil {
				t.Fatal(err)
			}
			var got []string
			var again collector
			if err := Scan(bytes.NewReader(renderTrace(t, &r.trace, Options{Compat: CompatKineto})), &again); err != nil {
				t.Fatal(err)
			}
			for _, raw := range again.events {
				if bytes.HasPrefix([]byte(raw), []byte(`{"ph"`)) && !bytes.Contains([]byte(raw), []byte(`"cat": "Trace"`)) {
					text, _ := appendValue(nil, []byte(raw))
					got = append(got, string(text))
				}
			}
			if len(r.want) < 50 {
				t.Errorf("only %d events were recorded", len(r.want))
			}
			if slices.Equal(got, r.want) {
				return
			}
			t.Errorf("%d events, want %d", len(got), len(r.want))
			shown := 0
			for i := range min(len(got), len(r.want)) {
				if got[i] != r.want[i] && shown < 5 {
					shown++
					t.Errorf("event %d\n%s\nwant\n%s", i, got[i], r.want[i])
				}
			}
		})
	}
}
