package host

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/timeline"
)

func read(t *testing.T, name string) *Host {
	t.Helper()
	h, err := ReadKinetoFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// small is a document with one of everything the reader distinguishes.
const small = `{
"schemaVersion": 1,
"deviceProperties": [{"id": 0, "name": "NVIDIA \"H200\"", "numSms": 132, "warpSize": 32, "vendor": "x"}, {"name": "no id"}],
"host_name": "box", "trace_id": "A",
"distributedInfo": {"backend": "nccl", "rank": 3},
"displayTimeUnit": "ms",
"baseTimeNanoseconds": 1790857026000000000,
"traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "outer", "pid": 40, "tid": 40, "ts": 100.001, "dur": 50.5, "args": {"External id": 0,"Ev Idx": 0}},
{"ph": "X", "cat": "cpu_op", "name": "inner \"q\" \u77e9", "pid": 40, "tid": 40, "ts": 100.001, "dur": 10, "args": {"Ev Idx": 1, "External id": -7}},
{"ph": "X", "cat": "python_function", "name": "first", "pid": "40", "tid": 40, "ts": "90.000", "dur": -1.0, "args": {}},
{"ph": "X", "cat": "cpu_op", "name": "open", "pid": 40, "tid": 41, "ts": 120.000, "dur": 30.000, "args": {"External id": 9, "finished": false, "a": 1}},
{"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 40, "tid": 40, "ts": 105.000, "args": {"Bytes": 18446744073709551615}},
{"ph": "X", "cat": "user_annotation", "name": "only id", "pid": 40, "tid": 41, "ts": 121.000, "dur": 1.000, "args": { "External id": 3 }},
{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 110.000, "dur": 1.000, "args": {"correlation": 5}},
{"ph": "X", "cat": "privateuse1_driver", "name": "launch", "pid": 40, "tid": 40, "ts": 110.000, "dur": 1.000},
{"ph": "X", "cat": "hip_runtime", "name": "launch", "pid": 40, "tid": 40, "ts": 110.000, "dur": 1.000},
{"ph": "X", "cat": "cpu_op", "name": "bad", "pid": 40, "tid": 40, "ts": NaN, "dur": 1.000},
{"ph": "C", "name": "counter", "pid": 40, "tid": 40, "ts": 1.000},
{"ph": "s", "id": 1, "pid": 40, "tid": 40, "ts": 100.001, "cat": "fwdbwd", "name": "fwdbwd"},
{"ph": "f", "id": 1, "pid": 40, "tid": 41, "ts": 120.000, "cat": "fwdbwd", "name": "fwdbwd", "bp": "e"},
{"ph": "s", "id": 5, "pid": 40, "tid": 40, "ts": 110.000, "cat": "ac2g", "name": "ac2g"},
{"name": "process_name", "ph": "M", "ts": 80.000, "pid": 40, "tid": 0, "args": {"name": "python3"}},
{"name": "process_labels", "ph": "M", "ts": 80.000, "pid": 40, "tid": 0, "args": {"labels": "CPU"}},
{"name": "process_labels", "ph": "M", "ts": 80.000, "pid": 0, "tid": 0, "args": {"labels": "GPU 0"}},
{"name": "thread_name", "ph": "M", "ts": 80.000, "pid": 0, "tid": 7, "args": {"name": "stream 7 "}},
{"name": "thread_name", "ph": "M", "ts": 80.000, "pid": 40, "tid": 41, "args": {"name": "thread 41 (pt_autograd_0)"}},
{"name": "thread_name", "ph": "M", "ts": 80.000, "pid": 40, "tid": 41, "args": {"name": "thread 41 (python3)"}},
{"name": "thread_name", "ph": "M", "ts": 80.000, "pid": 40, "tid": 40, "args": {"name": "thread 40 (python3)"}},
{"name": "thread_name", "ph": "M", "ts": 80.000, "pid": 40, "tid": 42, "args": {"name": "odd"}},
{"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler", "ts": 79.000, "dur": 100.000, "args": {"Op count": 0}},
{"name": "Iteration Start: PyTorch Profiler", "ph": "i", "s": "g", "pid": "Traces", "tid": "Trace PyTorch Profiler", "ts": 79.000},
{"name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": 200.000}
],
"traceName": "a.json"
}`

const base = int64(1790857026000000000)

func TestSmall(t *testing.T) {
	h, err := ReadKineto(strings.NewReader(small))
	if err != nil {
		t.Fatal(err)
	}
	var ops []string
	for _, o := range h.Ops {
		ops = append(ops, fmt.Sprintf("%s|%s|%d/%d|%d-%d|%d %v|%v|%s", h.Strings.At(o.Category), h.Strings.At(o.Name),
			o.PID, o.TID, o.Start-base, o.End-base, o.External, o.HasExternal, o.Unfinished, o.Args))
	}
	want := []string{
		`cpu_op|outer|40/40|100001-150501|0 true|false|"Ev Idx": 0`,
		`cpu_op|inner "q" 矩|40/40|100001-110001|-7 true|false|"Ev Idx": 1`,
		`python_function|first|40/40|90000-90000|0 false|false|`,
		`cpu_op|open|40/41|120000-150000|9 true|true|"finished": false, "a": 1`,
		`cpu_instant_event|[memory]|40/40|105000-105000|0 false|false|"Bytes": 18446744073709551615`,
		`user_annotation|only id|40/41|121000-122000|3 true|false|`,
	}
	if !reflect.DeepEqual(ops, want) {
		t.Errorf("operators\n%s\nwant\n%s", strings.Join(ops, "\n"), strings.Join(want, "\n"))
	}
	if got := fmt.Sprint(h.Threads); got != "[{40 40 python3 [2 0 1 4]} {40 41 pt_autograd_0 [3 5]} {40 42 odd []}]" {
		t.Errorf("threads %s", got)
	}
	if h.Thread(40, 41) != &h.Threads[1] || h.Thread(40, 43) != nil {
		t.Error("threads are not found")
	}
	fwdbwd := h.Strings.ID("fwdbwd")
	if want := []Flow{{1, base + 100001, 40, 40, fwdbwd, true}, {1, base + 120000, 40, 41, fwdbwd, false}}; !reflect.DeepEqual(h.Flows, want) {
		t.Errorf("flows %v", h.Flows)
	}
	if h.Process != (timeline.Process{PID: 40, Name: "python3", Host: "box"}) {
		t.Errorf("process %+v", h.Process)
	}
	if !h.HasWindow || h.Window != (timeline.Window{Start: base + 79000, End: base + 200000}) {
		t.Errorf("window %+v", h.Window)
	}
	if s := fmt.Sprint(h.Skipped); s != "map[ac2g:1 bad time:1 hip_runtime:1 kernel:1 phase C:1 privateuse1_driver:1]" {
		t.Errorf("skipped %s", s)
	}
	if len(h.Devices) != 1 || h.Devices[0].Name != `NVIDIA "H200"` || fmt.Sprint(h.Devices[0].Properties) != "[{numSms 132} {warpSize 32}]" {
		t.Errorf("devices %+v", h.Devices)
	}
	var keys []string
	for _, m := range h.Metadata {
		keys = append(keys, m.Key)
	}
	if fmt.Sprint(keys) != "[host_name trace_id distributedInfo]" || string(h.Property("distributedInfo")) != `{"backend": "nccl", "rank": 3}` {
		t.Errorf("metadata %s", keys)
	}
}

// TestBaseAtTheEnd: older documents give the base after the events.
func TestBaseAtTheEnd(t *testing.T) {
	line := "\"baseTimeNanoseconds\": 1790857026000000000,\n"
	late := strings.Replace(strings.Replace(small, line, "", 1), `"traceName"`, line+`"traceName"`, 1)
	a, errA := ReadKineto(strings.NewReader(small))
	b, errB := ReadKineto(strings.NewReader(late))
	if errA != nil || errB != nil || !reflect.DeepEqual(a, b) {
		t.Errorf("differs: %v, %v", errA, errB)
	}
}

// TestTruncated: what stands before the cut is there.
func TestTruncated(t *testing.T) {
	cut := strings.Index(small, `{"ph": "X", "cat": "kernel"`) + 20
	h, err := ReadKineto(strings.NewReader(small[:cut]))
	if !errors.Is(err, chrome.ErrTruncated) || len(h.Ops) != 6 || !h.HasBase || h.HasWindow {
		t.Errorf("%d operators, %v", len(h.Ops), err)
	}
	if h.Window != (timeline.Window{Start: base + 90000, End: base + 150501}) || h.Process.PID != 40 {
		t.Errorf("window %+v, process %+v", h.Window, h.Process)
	}
	path := filepath.Join(t.TempDir(), "cut.json")
	if err := os.WriteFile(path, []byte(small[:cut]), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadKinetoFile(path); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), fmt.Sprint(cut)) {
		t.Errorf("error %v does not name the file and the byte", err)
	}
}

func TestRecorded(t *testing.T) {
	for _, c := range []struct {
		file                         string
		ops, flows, skipped, threads int
		names                        string
	}{
		// Counted in the documents with another JSON parser.
		{"ddp.kineto.json.gz", 518, 42, 1018, 2, "python pt_autograd_0"},
		{"comp.kineto.json.gz", 256, 16, 506, 2, "python3 pt_autograd_0"},
	} {
		h := read(t, c.file)
		skipped := 0
		for _, n := range h.Skipped {
			skipped += int(n)
		}
		var names []string
		for _, th := range h.Threads {
			names = append(names, th.Name)
		}
		if len(h.Ops) != c.ops || len(h.Flows) != c.flows || skipped != c.skipped || len(h.Threads) != c.threads || strings.Join(names, " ") != c.names {
			t.Errorf("%s: %d operators, %d flows, %d skipped %v, threads %q", c.file, len(h.Ops), len(h.Flows), skipped, h.Skipped, names)
		}
		for _, op := range h.Ops {
			if !op.HasExternal || op.Start < h.Window.Start || op.End > h.Window.End {
				t.Errorf("%s: %q: %+v is outside the window or has no id", c.file, h.Strings.At(op.Name), op)
			}
		}
	}
}

func FuzzReadKineto(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte(`[{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 9e15, "dur": 9e15, "args": {"External id": 1 "x"}}]`))
	f.Add([]byte(`[{"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "thread 1 ("}}]`))
	f.Add([]byte(`{"deviceProperties": [{"id": -1}, {"id": 99999999999}, 3, `))
	f.Fuzz(func(t *testing.T, in []byte) {
		h, err := ReadKineto(bytes.NewReader(in))
		if h == nil {
			t.Fatal("no host", err)
		}
		n := 0
		for _, th := range h.Threads {
			n += len(th.Ops)
		}
		if n != len(h.Ops) {
			t.Errorf("%d operators on threads, %d in all", n, len(h.Ops))
		}
		for _, op := range h.Ops {
			if op.End < op.Start {
				t.Errorf("an operator ends at %d before it starts at %d", op.End, op.Start)
			}
		}
	})
}
