package cut

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// document is two steps of a program, the second's kernel behind its step, with a
// thread, a device, and a rank of its own. Times are microseconds.
const document = `{"schemaVersion": 1, "baseTimeNanoseconds": 1000000000000000000, "distributedInfo": {"rank": 3, "world_size": 8},
"traceEvents": [
{"ph":"M","name":"process_name","pid":90,"tid":0,"ts":0,"args":{"name":"python"}},
{"ph":"M","name":"process_labels","pid":90,"tid":0,"ts":0,"args":{"labels":"CPU"}},
{"ph":"M","name":"process_name","pid":0,"tid":0,"ts":0,"args":{"name":"python"}},
{"ph":"M","name":"process_labels","pid":0,"tid":0,"ts":0,"args":{"labels":"GPU 0"}},
{"ph":"M","name":"process_labels","pid":1,"tid":0,"ts":0,"args":{"labels":"GPU 1"}},
{"ph":"M","name":"thread_name","pid":90,"tid":90,"ts":0,"args":{"name":"thread 90"}},
{"ph":"M","name":"thread_name","pid":90,"tid":91,"ts":0,"args":{"name":"thread 91"}},
{"ph":"X","cat":"python_function","name":"main","pid":90,"tid":90,"ts":0.000,"dur":1000.000,"args":{"Python id": 1}},
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#3","pid":90,"tid":90,"ts":100.000,"dur":100.000,"args":{"External id": 1}},
{"ph":"X","cat":"cpu_op","name":"a3","pid":90,"tid":90,"ts":110.000,"dur":50.000,"args":{"External id": 2,  "odd" :[1,2]}},
{"ph":"s","cat":"fwdbwd","name":"fwdbwd","id":7,"pid":90,"tid":90,"ts":110.000},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":90,"tid":90,"ts":120.000,"dur":5.000,"args":{"External id": 2, "cbid": 211, "correlation": 31}},
{"ph":"s","cat":"ac2g","name":"ac2g","id":31,"pid":90,"tid":90,"ts":120.000},
{"ph":"X","cat":"kernel","name":"k3","pid":0,"tid":7,"ts":130.000,"dur":10.000,"args":{"External id": 2, "device": 0, "context": 1, "stream": 7, "correlation": 31}},
{"ph":"f","bp":"e","cat":"ac2g","name":"ac2g","id":31,"pid":0,"tid":7,"ts":130.000},
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#4","pid":90,"tid":90,"ts":200.000,"dur":100.000,"args":{"External id": 3}},
{"ph":"X","cat":"gpu_user_annotation","name":"ProfilerStep#4","pid":0,"tid":7,"ts":400.000,"dur":30.000,"args":{"External id": 3}},
{"ph":"X","cat":"cpu_op","name":"b4","pid":90,"tid":91,"ts":290.000,"dur":20.000,"args":{"External id": 4}},
{"ph":"f","bp":"e","cat":"fwdbwd","name":"fwdbwd","id":7,"pid":90,"tid":91,"ts":290.000},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":90,"tid":90,"ts":210.000,"dur":5.000,"args":{"External id": 3, "cbid": 211, "correlation": 41}},
{"ph":"s","cat":"ac2g","name":"ac2g","id":41,"pid":90,"tid":90,"ts":210.000},
{"ph":"X","cat":"kernel","name":"k4","pid":0,"tid":7,"ts":400.000,"dur":30.000,"args":{"External id": 3, "device": 0, "context": 1, "stream": 7, "correlation": 41}},
{"ph":"f","bp":"e","cat":"ac2g","name":"ac2g","id":41,"pid":0,"tid":7,"ts":400.000},
{"ph":"X","cat":"cuda_runtime","name":"cudaDeviceSynchronize","pid":90,"tid":90,"ts":240.000,"dur":5.000,"args":{"cbid": 165, "correlation": 42}},
{"ph":"f","bp":"e","cat":"ac2g","name":"ac2g","id":42,"pid":90,"tid":90,"ts":240.000},
{"ph":"C","name":"memory","pid":90,"tid":90,"ts":150.000,"args":{"bytes": 5}},
{"ph":"C","name":"memory","pid":90,"tid":90,"ts":250.000,"args":{"bytes": 6}},
{"ph":"b","cat":"io","name":"read","id":"0x1","pid":90,"tid":90,"ts":150.000},
{"ph":"e","cat":"io","name":"read","id":"0x1","pid":90,"tid":90,"ts":260.000},
{"ph":"b","cat":"io","name":"again","id":"0x1","pid":90,"tid":90,"ts":310.000},
{"ph":"e","cat":"io","name":"again","id":"0x1","pid":90,"tid":90,"ts":320.000},
{"ph":"X","cat":"kernel","name":"k0","pid":0,"tid":9,"ts":205.000,"dur":1.000,"args":{"device": 0, "context": 1, "stream": 9, "correlation": 5}},
{"ph":"X","cat":"Trace","name":"PyTorch Profiler (0)","pid":"Spans","tid":"PyTorch Profiler","ts":50.000,"dur":500.000,"args":{"Op count": 0}},
{"ph":"i","s":"g","name":"Record Window End","pid":"","tid":"","ts":600.000}
]}`

func read(t testing.TB, text []byte) *timeline.Trace {
	t.Helper()
	d, err := chrome.Read(bytes.NewReader(text), chrome.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d.Trace
}

func write(t testing.TB, tr *timeline.Trace) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := chrome.Write(&b, tr, chrome.Options{}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// names lists the events of a trace; > and < stand for the ends of arrows.
func names(t *timeline.Trace) string {
	var list []string
	for i := range uint32(t.Events.Len()) {
		e := t.Events.At(i)
		name := t.Strings.At(e.Name)
		switch name {
		case "cudaLaunchKernel":
			name = fmt.Sprint("launch", e.Correlation)
		case "PyTorch Profiler (0)", "Record Window End":
			continue
		}
		if e.Flags&timeline.FlowOut != 0 {
			name += ">"
		}
		if e.Flags&timeline.FlowIn != 0 {
			name = "<" + name
		}
		list = append(list, name)
	}
	for i := range t.Flows {
		f := &t.Flows[i]
		if f.Start {
			list = append(list, fmt.Sprint(f.ID, ">"))
		} else {
			list = append(list, fmt.Sprint("<", f.ID))
		}
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

func TestParts(t *testing.T) {
	window := func(from, to int64) *timeline.Window {
		const base = 1_000_000_000_000_000_000
		return &timeline.Window{Start: base + from*1000, End: base + to*1000}
	}
	for _, test := range []struct {
		name   string
		o      Options
		want   string
		window *timeline.Window // nil: that of the whole trace
	}{
		{"a step by launches", Options{Steps: &Steps{4, 4}, Launched: true},
			"<cudaDeviceSynchronize <k4 ProfilerStep#4 ProfilerStep#4 b4 k0 launch41> main memory read read", window(150, 430)},
		{"a step by time", Options{Steps: &Steps{4, 4}},
			"<cudaDeviceSynchronize ProfilerStep#4 b4 k0 launch41 main memory read read", window(150, 310)},
		{"a step, what straddles left out", Options{Steps: &Steps{4, 4}, Straddling: Left, Launched: true},
			"<cudaDeviceSynchronize <k4 ProfilerStep#4 ProfilerStep#4 k0 launch41> memory", window(200, 430)},
		{"a step, clipped", Options{Steps: &Steps{4, 4}, Straddling: Clipped, Launched: true},
			"<cudaDeviceSynchronize <k4 ProfilerStep#4 ProfilerStep#4 b4 k0 launch41> main memory read read", window(150, 430)},
		{"both steps", Options{Steps: &Steps{3, 100}, Launched: true},
			"7> <7 <cudaDeviceSynchronize <k3 <k4 ProfilerStep#3 ProfilerStep#4 ProfilerStep#4 a3 b4 k0 launch31> launch41> main memory memory read read", window(100, 430)},
		{"a time", Options{Window: window(125, 160), Straddling: Clipped}, "ProfilerStep#3 a3 k3 main memory read read", window(125, 260)},
		{"up to a beginning", Options{Window: window(50, 100)}, "main", window(50, 100)},
		{"a category", Options{Categories: []string{"KERNEL"}}, "k0 k3 k4", nil},
		{"kinds", Options{Categories: []string{"kernel", "runtime"}}, "<cudaDeviceSynchronize <k3 <k4 k0 launch31> launch41>", nil},
		{"operators", Options{Categories: []string{"cpu_op"}}, "7> <7 a3 b4", nil},
		{"python", Options{Categories: []string{"python_function"}}, "main", nil},
		{"a stream", Options{Categories: []string{"kernel", "gpu_user_annotation", "runtime"}, Streams: []uint32{9}}, "<cudaDeviceSynchronize k0 launch31 launch41", nil},
		{"a device", Options{Categories: []string{"kernel"}, Devices: []uint32{0}}, "k0 k3 k4", nil},
		{"a process", Options{PIDs: []string{"0"}}, "ProfilerStep#4 k0 k3 k4", nil},
		{"its own rank", Options{Ranks: []int64{3}, Categories: []string{"cpu_op"}}, "7> <7 a3 b4", nil},
	} {
		whole := read(t, []byte(document))
		part, result, err := Trace(whole, test.o)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if got, want := names(part), sorted(test.want); got != want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, got, want)
		}
		want := whole.Window
		if test.window != nil {
			want = *test.window
		}
		if part.Window != want || result.Window != want {
			t.Errorf("%s: window %d to %d, want %d to %d", test.name, part.Window.Start, part.Window.End, want.Start, want.End)
		}
		if again := read(t, write(t, part)); again.Window != want || names(again) != names(part) {
			t.Errorf("%s: written and read again, window %v: %s", test.name, again.Window, names(again))
		}
	}
}

func sorted(s string) string {
	list := strings.Fields(s)
	slices.Sort(list)
	return strings.Join(list, " ")
}

// TestRowsInUse: rows and processes go with what stood on them, and those that were
// empty stay.
func TestRowsInUse(t *testing.T) {
	part, _, err := Trace(read(t, []byte(document)), Options{Categories: []string{"kernel"}})
	if err != nil {
		t.Fatal(err)
	}
	text := string(write(t, part))
	for _, want := range []string{`"labels": "GPU 0"`, `"labels": "GPU 1"`, `"rank": 3`, `"flagosTraceCuts": [{"by":"categories [kernel]","kept":5,"of":20}]`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	for _, not := range []string{`thread 90`, `thread 91`, `"CPU"`, `fwdbwd`, `ac2g`} {
		if strings.Contains(text, not) {
			t.Errorf("%s is in\n%s", not, text)
		}
	}
	again, _, err := Trace(part, Options{Streams: []uint32{9}})
	if err != nil {
		t.Fatal(err)
	}
	if text := string(write(t, again)); !strings.Contains(text, `"kept":5,"of":20},{"by":"streams [9]","kept":3,"of":5}]`) {
		t.Errorf("the second cut is not told:\n%s", text)
	}
}

func TestUnknown(t *testing.T) {
	whole := read(t, []byte(document))
	for _, test := range []struct {
		o    Options
		want error
		text string
	}{
		{Options{Steps: &Steps{5, 9}}, ErrUnknown, `"3", "4"`},
		{Options{Ranks: []int64{1}}, ErrUnknown, "of rank 3"},
		{Options{PIDs: []string{"x"}}, ErrUnknown, `"90"`},
		{Options{Categories: []string{"kernels"}}, ErrUnknown, `"cpu_op"`},
		{Options{Devices: []uint32{4}}, ErrUnknown, `"0"`},
		{Options{Streams: []uint32{4}}, ErrUnknown, `"7", "9"`},
		{Options{Window: &timeline.Window{Start: 1, End: 2}}, ErrNothing, "time 1 to 2 ns"},
	} {
		_, _, err := Trace(whole, test.o)
		if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%v: %v", test.o, err)
		}
	}
}

func TestParseWindow(t *testing.T) {
	whole := read(t, []byte(document)) // from 50 to 600 us behind the base
	const base = 1_000_000_000_000_000_000
	for _, test := range []struct {
		from, to   string
		start, end int64 // ns behind the base; 0, 0: an error
	}{
		{"", "", 50_000, 600_001},
		{"start", "end", 50_000, 600_001},
		{"100us", "+1.5us", 150_000, 151_500},
		{"0", "1ms", 50_000, 1_050_000},
		{"0.1ms", "", 150_000, 600_001},
		{"-100us", "-99.999us", 500_000, 500_001},
		{"ts:110.5", "ts:111", 110_500, 111_000},
		{"2001-09-09T01:46:40.0001Z", "2001-09-09T03:46:40.0002+02:00", 100_000, 200_000},
		{"100ns", "+2.0000000001m", 50_100, 120_000_050_106},
		{"2ms", "1ms", 0, 0},
		{"1", "", 0, 0},
		{"1h", "", 0, 0},
		{"+1ms", "", 0, 0},
		{"1.ms", "", 0, 0},
		{"1e3us", "", 0, 0},
		{"ts:x", "", 0, 0},
		{"--1us", "", 0, 0},
		{"99999999999999999999s", "", 0, 0},
		{"2026-01-02T15:04:05", "", 0, 0},
	} {
		w, err := ParseWindow(whole, test.from, test.to)
		if test.end == 0 {
			if !errors.Is(err, ErrTime) {
				t.Errorf("%q to %q: %v, %v", test.from, test.to, w, err)
			}
			continue
		}
		if err != nil || w.Start != base+test.start || w.End != base+test.end {
			t.Errorf("%q to %q: %d to %d, %v; want %d to %d", test.from, test.to, w.Start-base, w.End-base, err, test.start, test.end)
		}
	}
}

func TestParseSteps(t *testing.T) {
	for text, want := range map[string]string{"5": "5", "3:6": "3:6", "3:": "3:", ":6": ":6", "6:3": "", "": "", ":": "", "a": "", "1:2:3": ""} {
		s, err := ParseSteps(text)
		if want == "" {
			if !errors.Is(err, ErrTime) {
				t.Errorf("%q: %v, %v", text, s, err)
			}
		} else if err != nil || s.String() != want {
			t.Errorf("%q: %v, %v", text, s, err)
		}
	}
}

// TestRecorded: a trace that was recorded is cut as well, and its record says so.
func TestRecorded(t *testing.T) {
	tr := &timeline.Trace{Window: timeline.Window{Start: 0, End: 1000}, Process: timeline.Process{PID: 9, Name: "p"}}
	host := tr.Row(timeline.Row{PID: 9, TID: 9, Kind: timeline.RowThread})
	stream := tr.Row(timeline.Row{PID: 0, TID: 7, Kind: timeline.RowStream, Stream: 7})
	for i := range int64(4) {
		at := 100 + i*200
		tr.Events.Add(timeline.Event{Start: at, End: at + 10, Correlation: uint64(i + 1), Name: tr.Strings.ID("cudaLaunchKernel"), Row: host,
			Kind: timeline.Runtime, Flags: timeline.FlowOut, Detail: tr.Calls.Add(timeline.CallDetail{CBID: 211})})
		tr.Events.Add(timeline.Event{Start: at + 150, End: at + 190, Correlation: uint64(i + 1), Name: tr.Strings.ID(fmt.Sprint("k", i)), Row: stream,
			Kind: timeline.Kernel, Flags: timeline.FlowIn, Detail: tr.Kernels.Add(timeline.KernelDetail{Launch: tr.Launch(event.Launch{Registers: 8})}), Place: tr.Place(timeline.Place{Stream: uint32(i)})})
	}
	tr.Completeness = &timeline.Completeness{Verdict: timeline.Complete, Ended: timeline.EndExit, Written: map[string]uint64{"kernel": 4, "runtime": 4}}
	part, _, err := Trace(tr, Options{Window: &timeline.Window{Start: 240, End: 520}})
	if err != nil {
		t.Fatal(err)
	}
	if got := names(part); got != sorted("k0 <k1 launch2> launch3") {
		t.Errorf("%s", got)
	}
	c := part.Completeness
	if c.Written["kernel"] != 2 || c.Written["runtime"] != 2 || len(c.Cuts) != 1 || c.Cuts[0].Kept != 4 || c.Cuts[0].Of != 8 || c.Judge() != timeline.Complete {
		t.Errorf("record %+v", c)
	}
	if len(tr.Completeness.Cuts) != 0 || tr.Completeness.Written["kernel"] != 4 {
		t.Error("the record of the whole was changed")
	}
	if text := string(write(t, part)); !strings.Contains(text, `"cuts": [`) && !strings.Contains(text, `"cuts":[`) {
		t.Errorf("the document does not say that it was cut:\n%s", text)
	}
}
