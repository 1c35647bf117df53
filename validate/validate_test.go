package validate

import (
	"bytes"
	"compress/gzip"
	"errors"

	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// good keeps all rules: two launches, a copy, a wait, a collective, a backward
// operator, a counter, B and E.
const good = `{
"schemaVersion": 1,
"deviceProperties": [{"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150109880320, "computeMajor": 9, "computeMinor": 0, "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048, "regsPerBlock": 65536, "warpSize": 32, "sharedMemPerBlock": 49152, "numSms": 132, "regsPerMultiprocessor": 65536, "sharedMemPerBlockOptin": 232448, "sharedMemPerMultiprocessor": 233472}],
"cupti_version": 26, "baseTimeNanoseconds": 1790857026000000000,
"traceEvents": [
{"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "ts": 5000000.000, "args": {"name": "python"}},
{"ph": "M", "name": "thread_name", "pid": 0, "tid": 7, "ts": 5000000.000, "args": {"name": "stream 7 "}},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 100, "tid": 100, "ts": 5000000.100, "dur": 50.000, "args": {"External id": 3, "Sequence number": 5, "Fwd thread id": 0, "Ev Idx": 0}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100, "tid": 100, "ts": 5000010.000, "dur": 5.000, "args": {"External id": 3, "cbid": 211, "correlation": 7}},
{"ph": "s", "id": 7, "pid": 100, "tid": 100, "ts": 5000010.000, "cat": "ac2g", "name": "ac2g"},
{"ph": "X", "cat": "kernel", "name": "void gemm(float*)", "pid": 0, "tid": 7, "ts": 5000020.000, "dur": 3.776, "args": {"External id": 3, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": 7, "registers per thread": 32, "shared memory": 0, "blocks per SM": 15.515152, "warps per SM": 62.060608, "grid": [2048, 1, 1], "block": [128, 1, 1], "est. achieved occupancy %": 97, "priority": 0}},
{"ph": "f", "id": 7, "pid": 0, "tid": 7, "ts": 5000020.000, "cat": "ac2g", "name": "ac2g", "bp": "e"},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaMemcpyAsync", "pid": 100, "tid": 100, "ts": 5000016.000, "dur": 5.000, "args": {"External id": 3, "cbid": 41, "correlation": 8}},
{"ph": "s", "id": 8, "pid": 100, "tid": 100, "ts": 5000016.000, "cat": "ac2g", "name": "ac2g"},
{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0, "tid": 7, "ts": 5000024.000, "dur": 1.504, "args": {"External id": 3, "device": 0, "context": 1, "stream": 7, "correlation": 8, "bytes": 16384, "memory bandwidth (GB/s)": 10.893617021276595}},
{"ph": "f", "id": 8, "pid": 0, "tid": 7, "ts": 5000024.000, "cat": "ac2g", "name": "ac2g", "bp": "e"},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaEventRecord", "pid": 100, "tid": 100, "ts": 5000022.000, "dur": 1.000, "args": {"External id": 3, "cbid": 135, "correlation": 9}},
{"ph": "X", "cat": "cuda_sync", "name": "Stream Wait Event", "pid": 0, "tid": 13, "ts": 5000026.000, "dur": 1.000, "args": {"cuda_sync_kind": "Stream Wait Event", "wait_on_stream": 7, "wait_on_cuda_event_record_corr_id": 9, "wait_on_cuda_event_id": 1, "stream": 13, "correlation": 10, "device": 0, "context": 1}},
{"ph": "X", "cat": "cuda_sync", "name": "Stream Sync", "pid": 0, "tid": 7, "ts": 5000026.000, "dur": 1.000, "args": {"cuda_sync_kind": "Stream Sync", "stream": 7, "correlation": 11, "device": 0, "context": 1}},
{"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 100, "tid": 100, "ts": 5000060.000, "dur": 50.000, "args": {"External id": 4, "Collective name": "allreduce", "dtype": "Float", "In msg nelems": 10, "Out msg nelems": 10, "Group size": 2, "Ev Idx": 1}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernelExC", "pid": 100, "tid": 100, "ts": 5000061.000, "dur": 5.000, "args": {"External id": 4, "cbid": 430, "correlation": 12}},
{"ph": "s", "id": 12, "pid": 100, "tid": 100, "ts": 5000061.000, "cat": "ac2g", "name": "ac2g"},
{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "pid": 0, "tid": 20, "ts": 5000070.000, "dur": 3.000, "args": {"External id": 4, "queued": 0, "device": 0, "context": 1, "stream": 20, "correlation": 12, "registers per thread": 96, "shared memory": 0, "blocks per SM": 0.015152, "warps per SM": 0.075758, "grid": [2, 1, 1], "block": [160, 1, 1], "est. achieved occupancy %": 0, "Collective name": "allreduce", "In msg nelems": 10, "Out msg nelems": 10, "Group size": 2, "dtype": "Float"}},
{"ph": "f", "id": 12, "pid": 0, "tid": 20, "ts": 5000070.000, "cat": "ac2g", "name": "ac2g", "bp": "e"},
{"ph": "X", "cat": "cpu_op", "name": "autograd::engine::evaluate_function: MmBackward0", "pid": 100, "tid": 101, "ts": 5000080.000, "dur": 5.000, "args": {"External id": 5, "Sequence number": 5, "Fwd thread id": 1, "Ev Idx": 2}},
{"ph": "C", "cat": "hardware_counters", "name": "sm__cycles", "pid": "GPU 0 Counters", "tid": 0, "ts": 5000080.000, "args": {"": 12.5}},
{"ph": "B", "cat": "user_annotation", "name": "outer", "pid": 100, "tid": 102, "ts": 5000080.000},
{"ph": "B", "cat": "user_annotation", "name": "inner", "pid": 100, "tid": 102, "ts": 5000081.000},
{"ph": "E", "cat": "user_annotation", "name": "inner", "pid": 100, "tid": 102, "ts": 5000082.000},
{"ph": "E", "cat": "user_annotation", "name": "outer", "pid": 100, "tid": 102, "ts": 5000083.000},
{"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler", "ts": 5000000.000, "dur": 500.000, "args": {"Op count": 0}},
{"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 5000600.000}
],
"traceName": "trace.json"
}
`

// small are chunk sizes at which events fall apart in all places.
var small = []int{1, 37, 300, 1000}

func run(t testing.TB, text string, opt Options) *Report {
	t.Helper()
	r, err := Run(strings.NewReader(text), opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestGood(t *testing.T) {
	r := run(t, good, Options{})
	for _, f := range r.Findings {
		t.Errorf("%s at event %d: %s", f.Rule, f.Event, f.Text)
	}
	if r.Events != 27 || r.Producer.Family != CUDA || len(r.NotApplicable) != 0 {
		t.Errorf("%d events, %v, not applicable: %v", r.Events, r.Producer, r.NotApplicable)
	}
}

// wrong breaks the good trace: each line in one place, by the rule it breaks.
var breaks = []wrongCase{
	{"json-truncated", "", `"traceName"`, -1},
	{"json-truncated", "", `"Collective name"`, -1},
	{"json-syntax", `"name": "aten::mm"`, `"name": "aten::"mm""`, -1},
	{"json-syntax", `"name": "aten::mm"`, `"name": "aten::mm`, -1},
	{"json-syntax", `"traceName": "trace.json"` + "\n}", `"traceName": "trace.json"` + "\n}}", -1},
	{"json-syntax", "}},\n" + `{"ph": "M", "name": "thread`, "}}\n" + `{"ph": "M", "name": "thread`, -1},
	{"json-trailing-comma", "\n],", ",\n],", -1},
	{"json-trailing-comma", `"Op count": 0}`, `"Op count": 0,}`, 25},
	{"json-trailing-comma", `"grid": [2048, 1, 1]`, `"grid": [2048, 1, 1,]`, 5},
	{"json-trailing-comma", `"trace.json"`, `"trace.json",`, -1},
	{"json-duplicate-key", `"cbid": 211`, `"cbid": 211, "cbid": 211`, 3},
	{"json-duplicate-key", `"Op count": 0`, `"a": {"b": 1, "b": 2}`, 25},
	{"json-duplicate-key", `"ph": "C"`, `"ph": "C", "x": 1, "x": 2`, 20},
	{"json-duplicate-key", `"ph": "C"`, `"ph": "C", "ph": "C"`, 20},
	{"json-duplicate-key", `"traceName"`, `"schemaVersion"`, -1},
	{"json-duplicate-key", `"id": 0,`, `"id": 0, "id": 0,`, -1},
	{"json-utf8", `aten::mm`, "aten\xff::mm", 2},
	{"json-utf8", `trace.json`, "trace\xc3", -1},
	{"json-control", `aten::mm`, "aten\n::mm", 2},
	{"json-escape", `aten::mm`, `aten\q::mm`, 2},
	{"json-escape", `aten::mm`, `aten\u12g4::mm`, 2},
	{"json-number", `12.5`, `NaN`, 20},
	{"json-number", `"Op count": 0`, `"Op count": 00`, 25},
	{"json-number", `"Op count": 0`, `"Op count": +1`, 25},
	{"json-bom", "{\n\"schemaVersion\"", "\xef\xbb\xbf{\n\"schemaVersion\"", -1},
	{"no-events", `"traceEvents"`, `"events"`, -1},
	{"event-phase", `"ph": "C"`, `"ph": "?"`, 20},
	{"event-phase", `"ph": "C"`, `"ph": 5`, 20},
	{"event-field", `"ts": 5000010.000, "dur"`, `"ts": "soon", "dur"`, 3},
	{"event-field", `"ts": 5000010.000, "dur"`, `"dur"`, 3},
	{"event-field", `"dur": 3.776`, `"dur": []`, 5},
	{"event-field", `"id": 7, "pid": 100`, `"pid": 100`, 4},
	{"event-field", `"name": "aten::mm", "pid": 100,`, `"name": "aten::mm",`, 2},
	{"event-field", `"args": {"Op count": 0}`, `"args": [0]`, 25},
	{"event-field", `, "args": {"name": "python"}`, ``, 0},
	{"time-text", `"ts": 5000010.000, "dur"`, `"ts": "5000010.000", "dur"`, -1},
	{"duration-missing", `"dur": 3.776, `, ``, 5},
	{"duration-negative", `"dur": 3.776`, `"dur": -3.776`, 5},
	{"duration-zero", `"dur": 3.776`, `"dur": 0`, 5},
	{"duration-absurd", `"dur": 3.776`, `"dur": 90000000000.000`, 5},
	{"time-zero", `"ts": 5000020.000, "dur"`, `"ts": 0, "dur"`, 5},
	{"outside-window", `"ts": 5000000.100`, `"ts": 4999999.999`, 2},
	{"outside-window", `"ts": 5000080.000, "dur": 5.000`, `"ts": 5000600.000, "dur": 5.000`, 19},
	{"begin-alone", `{"ph": "E", "cat": "user_annotation", "name": "outer", "pid": 100, "tid": 102, "ts": 5000083.000},`, ``, 21},
	{"end-alone", `{"ph": "B", "cat": "user_annotation", "name": "inner", "pid": 100, "tid": 102, "ts": 5000081.000},`, ``, 22},
	{"end-order", `"tid": 102, "ts": 5000082.000`, `"tid": 102, "ts": 5000084.000`, 24},
	{"overlap-device", `"ts": 5000024.000, "dur"`, `"ts": 5000023.000, "dur"`, 9},
	{"overlap-host", `"ts": 5000016.000, "dur": 5.000`, `"ts": 5000013.000, "dur": 5.000`, 7},
	{"overlap-annotation", `"cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0, "tid": 7, "ts": 5000024.000`, `"cat": "gpu_user_annotation", "name": "step", "pid": 0, "tid": 7, "ts": 5000023.000`, 9},
	{"duplicate-event", `{"ph": "X", "cat": "cuda_runtime", "name": "cudaEventRecord"`, `{"ph": "X", "cat": "cuda_runtime", "name": "cudaEventRecord", "pid": 100, "tid": 100, "ts": 5000022.000, "dur": 1.000, "args": {"External id": 3, "cbid": 135, "correlation": 9}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaEventRecord"`, 12},
	{"row-named-twice", `{"ph": "C"`, `{"ph": "M", "name": "thread_name", "pid": 0, "tid": 7, "ts": 1.000, "args": {"name": "other"}}, {"ph": "C"`, -1},
	{"flow-start-alone", `{"ph": "f", "id": 12, "pid": 0, "tid": 20, "ts": 5000070.000, "cat": "ac2g", "name": "ac2g", "bp": "e"},`, ``, 16},
	{"flow-end-alone", `{"ph": "s", "id": 12, "pid": 100, "tid": 100, "ts": 5000061.000, "cat": "ac2g", "name": "ac2g"},`, ``, 17},
	{"flow-start-host", `{"ph": "f", "id": 8,`, `{"ph": "f", "id": 7,`, 8},
	{"flow-end-host", `{"ph": "C"`, `{"ph": "f", "id": 9, "pid": 100, "tid": 100, "ts": 5000022.000, "cat": "ac2g", "name": "ac2g", "bp": "e"}, {"ph": "C"`, 20},
	{"flow-id-reused", `{"ph": "s", "id": 8,`, `{"ph": "s", "id": 7,`, 8},
	{"flow-attached", `"ts": 5000070.000, "cat": "ac2g"`, `"ts": 5000069.999, "cat": "ac2g"`, 18},
	{"kernel-before-launch", `"ts": 5000010.000, "dur": 5.000`, `"ts": 5000020.001, "dur": 1.000`, 5},
	{"device-without-api", `"cbid": 41, "correlation": 8`, `"cbid": 41, "correlation": 88`, 9},
	{"no-device-work", `"cat": "kernel"`, `"cat": "cpu_instant_event"`, -1},
	{"launch-without-device", `"stream": 20, "correlation": 12`, `"stream": 20, "correlation": 7`, 15},
	{"correlation-reused", `"cbid": 41, "correlation": 8`, `"cbid": 41, "correlation": 7`, 7},
	{"external-id-unknown", `"args": {"External id": 3, "cbid": 211`, `"args": {"External id": 33, "cbid": 211`, 3},
	{"external-id-own", `"args": {"External id": 3, "cbid": 135, "correlation": 9`, `"args": {"External id": 9, "cbid": 135, "correlation": 9`, 11},
	{"external-id-reused", `{"External id": 5, "Sequence`, `{"External id": 4, "Sequence`, 19},
	{"ranks-share-ids", `{"ph": "C"`, `{"ph": "X", "cat": "cuda_runtime", "name": "cudaMalloc", "pid": 200, "tid": 200, "ts": 5000022.000, "dur": 1.000, "args": {"cbid": 20, "correlation": 9}}, {"ph": "C"`, 20},
	{"name-mangled", `void gemm(float*)`, `_Z4gemmPf`, 5},
	{"name-placeholder", `cudaEventRecord`, `INVALID`, 11},
	{"name-placeholder", `cudaEventRecord`, `cbid 135`, 11},
	{"arg-missing", `"registers per thread": 32, `, ``, 5},
	{"arg-missing", `"cbid": 211, `, ``, 3},
	{"arg-missing", `"bytes": 16384, `, ``, 9},
	{"arg-type", `"registers per thread": 32`, `"registers per thread": "32"`, 5},
	{"arg-type", `"grid": [2048, 1, 1]`, `"grid": [2048, 1]`, 5},
	{"arg-type", `"cbid": 211, "correlation": 7`, `"cbid": 211, "correlation": "7"`, 3},
	{"arg-row", `"stream": 7, "correlation": 7`, `"stream": 8, "correlation": 7`, 5},
	{"device-unknown", `"device": 0, "context": 1, "stream": 7, "correlation": 7`, `"device": 3, "context": 1, "stream": 7, "correlation": 7`, 5},
	{"figures-per-sm", `"grid": [2048, 1, 1]`, `"grid": [2049, 1, 1]`, 5},
	{"figures-per-sm", `"warps per SM": 62.060608`, `"warps per SM": 62.0607`, 5},
	{"figures-occupancy", `"est. achieved occupancy %": 97`, `"est. achieved occupancy %": 96`, 5},
	{"occupancy-zero", `"shared memory": 0, "blocks per SM": 15.515152, "warps per SM": 62.060608, "grid": [2048, 1, 1], "block": [128, 1, 1], "est. achieved occupancy %": 97`,
		`"shared memory": 65536, "blocks per SM": 15.515152, "warps per SM": 62.060608, "grid": [2048, 1, 1], "block": [128, 1, 1], "est. achieved occupancy %": 0`, 5},
	{"occupancy-unknown", `"est. achieved occupancy %": 97`, `"est. achieved occupancy %": -99`, 5},
	{"figures-bandwidth", `10.893617021276595`, `10.993617021276595`, 9},
	{"arg-queued", `"queued": 0, "device": 0, "context": 1, "stream": 7`, `"queued": -1, "device": 0, "context": 1, "stream": 7`, 5},
	{"arg-priority", `"priority": 0`, `"priority": 4294967291`, 5},
	{"counter-value", `{"": 12.5}`, `{"": "many"}`, 20},
	{"collective-kernel-args", `"est. achieved occupancy %": 0, "Collective name": "allreduce", `, `"est. achieved occupancy %": 0, `, 17},
	{"sync-record", `"wait_on_cuda_event_record_corr_id": 9`, `"wait_on_cuda_event_record_corr_id": -1`, 12},
	{"sync-record-order", `"wait_on_cuda_event_record_corr_id": 9`, `"wait_on_cuda_event_record_corr_id": 99`, 12},
	{"sync-record-order", `"ts": 5000022.000`, `"ts": 5000027.000`, 12},
	{"sync-overlap", `"tid": 7, "ts": 5000026.000`, `"tid": 7, "ts": 5000021.000`, 13},
	{"collective-op-args", `{"External id": 4, "Collective name": "allreduce", `, `{"External id": 4, `, 14},
	{"backward-name", `{"ph": "C"`, `{"ph": "X", "cat": "cpu_op", "name": "autograd::engine::evaluate_function: AddBackward0", "pid": 100, "tid": 101, "ts": 5000090.000, "dur": 5.000, "args": {"External id": 6, "Sequence number": 5, "Fwd thread id": 1, "Ev Idx": 3}}, {"ph": "C"`, 20},
	{"data-dropped", `"Ev Idx": 2`, `"Ev Idx": 3`, -1},
	{"data-dropped", `"traceName"`, `"flagosTrace": {"verdict": "partial"}, "traceName"`, -1},
}

func (c wrongCase) apply(t testing.TB) string {
	if c.old == "" {
		return good[:strings.Index(good, c.new)]
	}
	text := strings.Replace(good, c.old, c.new, 1)
	if c.rule == "no-device-work" || c.rule == "no-events" {
		text = strings.NewReplacer(c.old, c.new, "gpu_memcpy", "cpu_instant_event").Replace(good)
	}
	if text == good {
		t.Fatalf("%s: nothing was broken", c.rule)
	}
	return text
}

type wrongCase struct {
	rule     string
	old, new string
	event    int
}

func TestEveryRule(t *testing.T) {
	tried := map[string]bool{"json-unclosed": true, "overlap-concurrent": true} // see TestForms, TestOverlaps
	for _, c := range breaks {
		tried[c.rule] = true
		t.Run(c.rule, func(t *testing.T) {
			text := c.apply(t)
			r := run(t, text, Options{})
			ok := false
			for _, f := range r.Findings {
				ok = ok || f.Rule == c.rule && f.Event == c.event
			}
			if !ok {
				t.Errorf("not found at event %d: %+v, not applicable %v", c.event, r.Findings, r.NotApplicable)
			}
			for _, size := range small {
				if got := run(t, text, Options{chunk: size}); !reflect.DeepEqual(got, r) {
					t.Errorf("chunks of %d bytes give another report:\n%s\n%s", size, summary(got), summary(r))
				}
			}
		})
	}
	for i := range rules {
		if !tried[rules[i].ID] {
			t.Errorf("no test breaks %s", rules[i].ID)
		}
	}
}

func TestForms(t *testing.T) {
	const ev = `{"ph": "X", "name": "a", "pid": 1, "tid": "x", "ts": 1.5, "dur": 1}`
	for _, c := range []struct {
		name, in string
		events   int
		rules    string
		err      error
	}{
		{"array", "[" + ev + ",\n" + ev + "]\n", 2, "", nil},
		{"empty array", "[]", 0, "", nil},
		{"open array", "[" + ev, 1, "json-unclosed", nil},
		{"open array, comma", "[" + ev + ", ", 1, "json-unclosed json-trailing-comma", nil},
		{"open array, cut", "[" + ev + "," + ev[:20], 1, "json-truncated", nil},
		{"metadata behind", `{"traceEvents": [` + ev + `], "schemaVersion": 1}`, 1, "", nil},
		{"empty object", "{}", 0, "no-events", nil},
		{"events no list", `{"traceEvents": {}}`, 0, "no-events", nil},
		{"number among events", `[1, ` + ev + `]`, 1, "json-syntax data-dropped", nil},
		{"deep", `{"a": ` + strings.Repeat("[", 1000) + `, "traceEvents": [` + ev + `]}`, 1, "json-syntax", nil},
		{"nothing", "", 0, "", ErrNotTrace},
		{"not a trace", "hello", 0, "", ErrNotTrace},
	} {
		r, err := Run(strings.NewReader(c.in), Options{})
		if !errors.Is(err, c.err) {
			t.Errorf("%s: error %v", c.name, err)
			continue
		}
		if err != nil {
			continue
		}
		var got []string
		for _, n := range r.Counts {
			got = append(got, n.Rule)
		}
		if r.Events != c.events || strings.Join(got, " ") != c.rules {
			t.Errorf("%s: %d events, %v", c.name, r.Events, got)
		}
	}
}

func TestCompressed(t *testing.T) {
	want := run(t, good, Options{})
	var gz, zst bytes.Buffer
	z := gzip.NewWriter(&gz)
	_, _ = z.Write([]byte(good))
	_ = z.Close()
	e, _ := zstd.NewWriter(&zst)
	_, _ = e.Write([]byte(good))
	_ = e.Close()
	for name, text := range map[string]string{"gzip": gz.String(), "zstd": zst.String()} {
		if r := run(t, text, Options{}); !reflect.DeepEqual(r, want) {
			t.Errorf("%s: %s", name, summary(r))
		}
	}
	r, err := Run(bytes.NewReader(gz.Bytes()[:gz.Len()-40]), Options{})
	if err != nil || len(r.Counts) == 0 || r.Counts[0].Rule != "json-truncated" {
		t.Errorf("a cut gzip: %v, %v", r, err)
	}
	if _, err := Run(strings.NewReader("\x1f\x8bnonsense"), Options{}); !errors.Is(err, ErrCompressed) {
		t.Errorf("broken gzip: %v", err)
	}
}

func TestSelection(t *testing.T) {
	text := strings.NewReplacer(`aten::mm`, "aten\n::mm", `void gemm(float*)`, `_Z4gemmPf`).Replace(good)
	if r := run(t, text, Options{Only: []string{"name-mangled"}}); len(r.Counts) != 1 || r.Counts[0].Rule != "name-mangled" {
		t.Errorf("only: %+v", r.Counts)
	}
	if r := run(t, text, Options{Not: []string{"name-mangled"}}); len(r.Counts) != 1 || r.Counts[0].Rule != "json-control" {
		t.Errorf("not: %+v", r.Counts)
	}
	if _, err := Run(strings.NewReader(good), Options{Not: []string{"x"}}); !errors.Is(err, ErrRule) {
		t.Errorf("%v", err)
	}
	many := "[" + strings.Repeat(`{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1},`, 1000) + `{}]`
	r := run(t, many, Options{Max: 3})
	if len(r.Counts) < 2 || r.Counts[1].N != 1000 || len(r.Findings) > 8 {
		t.Errorf("%+v", r.Counts)
	}
}

// TestKineto: what torch wrote of the recordings in testdata breaks no rule of
// severity error, and what it breaks is known.
func TestKineto(t *testing.T) {
	files, err := filepath.Glob("../testdata/pairs/*.kineto.json.gz")
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	var b strings.Builder
	for _, path := range files {
		r := runFile(t, path, Options{})
		if worst, ok := r.Worst(); ok && worst == Error {
			t.Errorf("%s: %s", path, summary(r))
		}
		b.WriteString(filepath.Base(path) + ": " + summary(r))
	}
	golden(t, "testdata/kineto.golden", b.String())
}

func FuzzRun(f *testing.F) {
	f.Add(good)
	for _, c := range breaks {
		text := c.apply(f)
		f.Add(text[:min(len(text), 4000)])
	}
	f.Add("[" + `{"ph":"X","ts":1e300,"dur":-9223372036854775.808,"pid":1,"tid":1}`)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<20 || strings.HasPrefix(text, "\x1f\x8b") || strings.HasPrefix(text, "\x28\xb5\x2f\xfd") {
			return
		}
		want, err := Run(strings.NewReader(text), Options{})
		got, err2 := Run(strings.NewReader(text), Options{chunk: 64})
		if (err == nil) != (err2 == nil) {
			t.Fatalf("%v in one chunk, %v in small ones", err, err2)
		}
		for _, r := range []*Report{want, got} {
			for i := 0; r != nil && i < len(r.Findings); i++ {
				if f := &r.Findings[i]; f.Rule == "json-syntax" {
					f.Text = "" // it shows some text behind, as far as that was read
				}
			}
		}
		if !reflect.DeepEqual(want, got) {
			t.Errorf("in one chunk and in small ones:\n%s\n%s", summaryOf(want), summaryOf(got))
		}
	})
}

func summaryOf(r *Report) string {
	if r == nil {
		return "none"
	}
	return summary(r)
}

// TestRead: who waits for the text to be read is told once, be it whole, cut off or no
// trace at all that can be read.
func TestRead(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       int
	}{
		{"whole", good, 1},
		{"cut off", good[:len(good)/2], 1},
		{"no trace", "hello", 0},
	} {
		n := 0
		if _, err := Run(strings.NewReader(c.text), Options{Read: func() { n++ }}); n != c.want {
			t.Errorf("%s: told %d times, want %d (%v)", c.name, n, c.want, err)
		}
	}
}
