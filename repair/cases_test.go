package repair

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/timeline"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Parts of made-up traces: an API call, a kernel, an operator, a Python function.
func call(name string, corr int, ts, dur float64) string {
	return fmt.Sprintf(`{"ph":"X","cat":"cuda_runtime","name":%q,"pid":100,"tid":100,"ts":%.3f,"dur":%.3f,"args":{"cbid":211,"correlation":%d}}`, name, ts, dur, corr)
}

func kernel(name string, corr, stream int, ts, dur float64) string {
	return fmt.Sprintf(`{"ph":"X","cat":"kernel","name":%q,"pid":0,"tid":%d,"ts":%.3f,"dur":%.3f,"args":{"device":0,"context":1,"stream":%d,"correlation":%d,"grid":[1,1,1],"block":[1,1,1]}}`, name, stream, ts, dur, stream, corr)
}

func span(cat, name string, pid, tid int, ts, dur float64) string {
	return fmt.Sprintf(`{"ph":"X","cat":%q,"name":%q,"pid":%d,"tid":%d,"ts":%.3f,"dur":%.3f}`, cat, name, pid, tid, ts, dur)
}

func syncWait(ts, dur float64) string {
	return fmt.Sprintf(`{"ph":"X","cat":"cuda_sync","name":"Stream Sync","pid":0,"tid":7,"ts":%.3f,"dur":%.3f,"args":{"cuda_sync_kind":"Stream Sync","stream":7,"correlation":9,"device":0,"context":1}}`, ts, dur)
}

// whole is an event of whole microseconds.
func whole(cat, name string, pid, tid, ts, dur int) string {
	return fmt.Sprintf(`{"ph":"X","cat":%q,"name":%q,"pid":%d,"tid":%d,"ts":%d,"dur":%d}`, cat, name, pid, tid, ts, dur)
}

func flow(ph, name string, id, pid, tid int, ts float64) string {
	bind := ""
	if ph == "f" {
		bind = `,"bp":"e"`
	}
	return fmt.Sprintf(`{"ph":%q,"id":%d,"pid":%d,"tid":%d,"ts":%.3f,"cat":%q,"name":%q%s}`, ph, id, pid, tid, ts, name, name, bind)
}

func threadName(pid, tid int, name string) string {
	return fmt.Sprintf(`{"ph":"M","name":"thread_name","pid":%d,"tid":%d,"ts":0,"args":{"name":%q}}`, pid, tid, name)
}

func object(events ...string) string {
	return `{"schemaVersion": 1, "baseTimeNanoseconds": 1790857026000000000, "traceEvents": [` + "\n" + strings.Join(events, ",\n") + "\n]}"
}

func list(events ...string) string { return "[" + strings.Join(events, ",") + "]" }

// cases have one repair each. What each changes stands in its golden.
var cases = []struct {
	name, text string
	o          Options
}{
	{name: "clean", text: object(call("cudaLaunchKernel", 1, 10.5, 5), flow("s", "ac2g", 1, 100, 100, 10.5), kernel("k", 1, 7, 20, 5), flow("f", "ac2g", 1, 0, 7, 20))},
	{name: "clean-begin-end", text: list(`{"ph":"B","name":"a","pid":1,"tid":1,"ts":1}`, `{"ph":"E","name":"a","pid":1,"tid":1,"ts":5}`)},

	{name: "text-unclosed", text: strings.TrimSuffix(object(call("cudaMalloc", 1, 10.5, 5)), "\n]}") + ",\n"},
	{name: "text-cut", text: strings.TrimSuffix(object(call("cudaMalloc", 1, 10.5, 5), call("cudaFree", 2, 20.5, 5)), `ation":2}}`+"\n]}")},
	{name: "text-broken", text: "\xef\xbb\xbf" + object(`{"ph":"X","name":"say "hi"","pid":1,"tid":1,"ts":1.5,"dur":NaN,"args":{"path":"C:\dir","x":NaN,}}`, "{\"ph\":\"X\",\"name\":\"new\nline \xff\",\"pid\":1,\"tid\":1,\"ts\":3,\"dur\":1},")},
	{name: "text-duplicate-keys", text: object(`{"ph":"X","name":"a","name":"b","pid":1,"tid":1,"ts":1.5,"dur":1,"x":1,"x":2,"args":{"a":1,"b":2,"a":3}}`)},
	{name: "text-lost", text: object(`{"ph":"X","name":"a","pid":1,"tid":1,"ts":1.5,"dur":1}`, `{"ph":"X","name":"no time","pid":1,"tid":1,"dur":1}`, `{"name":"no phase","pid":1,"tid":1,"ts":1}`)},
	{name: "text-negative", text: object(`{"ph":"X","name":"a","pid":1,"tid":1,"ts":5.5,"dur":-1}`, `{"ph":"X","name":"b","pid":1,"tid":1,"ts":7.5}`)},
	{name: "text-begin-alone", text: object(`{"ph":"B","name":"a","pid":1,"tid":1,"ts":1.5}`, `{"ph":"B","name":"b","pid":1,"tid":1,"ts":2}`, `{"ph":"E","name":"b","pid":1,"tid":1,"ts":3}`, `{"ph":"E","name":"c","pid":1,"tid":2,"ts":4}`)},
	{name: "text-row-named-twice", text: object(threadName(1, 1, "python3"), threadName(1, 1, "pt_autograd_0"), `{"ph":"X","name":"a","pid":1,"tid":1,"ts":5.5,"dur":1}`)},

	{name: "times-absolute", text: `{"traceEvents": [` + span("cpu_op", "a", 1, 1, 1695835535000000.5, 10) + `,` + flow("s", "fwdbwd", 1, 1, 1, 1695835535000000.5) + `,` + flow("f", "fwdbwd", 1, 1, 1, 1695835535000002) + `,` + threadName(1, 1, "main") + `], "traceName": "t"}`},
	{name: "times-absolute-whole", text: `{"traceEvents": [` + whole("cpu_op", "a", 1, 1, 1695835535000000, 10) + `]}`},
	{name: "times-text", text: list(`{"ph":"X","name":"a","pid":1,"tid":1,"ts":"1701400000123456.7891","dur":"2.5"}`, `{"ph":"M","name":"process_name","pid":1,"args":{"name":"CANN"}}`)},
	{name: "times-stray", text: list(append(slices.Repeat([]string{span("cpu_op", "a", 1, 1, 1695835535000000.5, 10)}, 12), span("kernel", "lost", 0, 7, 0, 0))...)},
	{name: "times-from-boot", text: list(span("cpu_op", "a", 1, 1, 5098224350630.341, 10))},

	{name: "names-mangled", text: object(kernel("_Z3addPfS_i", 1, 7, 5.5, 5), kernel("_Z3addPfS_i", 2, 7, 15.5, 5), kernel("_Znope!", 3, 7, 25.5, 5))},
	{name: "names-calls", text: object(call("INVALID", 1, 5.5, 1), strings.Replace(call("INVALID", 2, 7.5, 1), "211", "99999", 1))},

	{name: "clock", text: object(call("cudaLaunchKernel", 1, 100.5, 5), call("cudaLaunchKernel", 2, 110.5, 5), call("cudaLaunchKernel", 3, 120.5, 5),
		kernel("a", 1, 7, 60.5, 5), flow("f", "ac2g", 1, 0, 7, 60.5), kernel("b", 2, 7, 71.25, 5), kernel("c", 3, 7, 200, 5),
		span("gpu_user_annotation", "step", 0, 7, 60.5, 16), flow("s", "ac2g", 1, 100, 100, 100.5), syncWait(300, 10), flow("f", "other", 5, 0, 7, 71.25), flow("s", "other", 5, 100, 100, 110.5))},
	{name: "clock-outlier", text: object(append(pairs(300), call("cudaLaunchKernel", 900, 9000.5, 5), kernel("odd", 900, 7, 5, 1))...)},
	{name: "clock-outlier-and-shift", text: object(append(pairs(300), call("cudaLaunchKernel", 900, 9000.5, 5), kernel("odd", 900, 7, 5, 0.5),
		call("cudaLaunchKernel", 901, 9100.5, 5), kernel("a", 901, 7, 9090.5, 1), call("cudaLaunchKernel", 902, 9200.5, 5), kernel("b", 902, 7, 9191.5, 1),
		call("cudaLaunchKernel", 903, 9300.5, 5), kernel("c", 903, 7, 9292.5, 1))...)},
	{name: "clock-rounded", text: list(`{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":11,"dur":2,"args":{"correlation":1}}`, `{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":10,"dur":2,"args":{"correlation":1}}`)},
	{name: "clock-not-asked", o: Options{Skip: []string{"clock"}}, text: object(call("cudaLaunchKernel", 1, 100.5, 5), kernel("a", 1, 7, 60.5, 5))},

	{name: "durations-rounded", text: list(whole("kernel", "a", 0, 7, 10, 6), whole("kernel", "b", 0, 7, 15, 5), whole("cpu_op", "outer", 9, 9, 10, 10), whole("cpu_op", "inner", 9, 9, 15, 6))},
	{name: "durations-finer", text: list(`{"ph":"X","name":"a","pid":1,"tid":1,"ts":1.0001,"dur":2.0004}`, `{"ph":"X","name":"b","pid":1,"tid":1,"ts":3.0001,"dur":5.0001}`)},
	{name: "durations-asked", o: Options{Cut: 500}, text: object(span("cpu_op", "a", 1, 1, 10, 5.4), span("cpu_op", "b", 1, 1, 15, 5))},
	{name: "durations-only", o: Options{Only: []string{"durations"}}, text: list(whole("kernel", "a", 0, 7, 10, 6), whole("kernel", "b", 0, 7, 15, 5), whole("kernel", "c", 0, 7, 18, 5))},

	{name: "overlaps-device", text: object(threadName(0, 7, "stream 7 "), kernel("a", 1, 7, 10.5, 5), kernel("b", 2, 7, 12.5, 5), kernel("c", 3, 7, 14.5, 5), kernel("d", 4, 7, 16.5, 5),
		flow("s", "x", 5, 0, 7, 12.5), flow("f", "x", 5, 0, 7, 16.5))},
	{name: "overlaps-annotation", text: object(span("gpu_user_annotation", "one", 0, 7, 10.5, 10), kernel("a", 1, 7, 10.5, 5), span("gpu_user_annotation", "two", 0, 7, 16, 10), kernel("b", 2, 7, 18, 4))},
	{name: "overlaps-host", text: object(span("python_function", "outer", 1, 1, 0.5, 100), span("python_function", "enter", 1, 1, 10, 5), span("user_annotation", "step", 1, 1, 12, 50), span("cpu_op", "op", 1, 1, 20, 5),
		span("cpu_op", "other", 1, 2, 10, 5), span("cpu_op", "thread", 1, 2, 12, 5))},
	{name: "overlaps-sync", text: object(threadName(0, 7, "stream 7 "), kernel("a", 1, 7, 10.5, 5), syncWait(12, 4), syncWait(14, 4), kernel("b", 2, 7, 20, 5), syncWait(30, 4))},
	{name: "overlaps-text-rows", text: list(`{"ph":"X","name":"a","pid":"p","tid":"t","ts":1.5,"dur":5}`, `{"ph":"X","name":"b","pid":"p","tid":"t","ts":3,"dur":5}`, `{"ph":"X","name":"c","pid":"p","tid":"","ts":1,"dur":5}`, `{"ph":"X","name":"d","pid":"p","tid":"","ts":3,"dur":5}`)},
	{name: "overlaps-taken-row", text: object(span("cpu_op", "a", 1, 1, 1.5, 5), span("cpu_op", "b", 1, 1, 3, 5), span("cpu_op", "c", 1, 10000001, 3, 5))},

	{name: "flows-host", text: hostFlows},
	{name: "flows-host-asked", o: Options{HostFlows: true}, text: hostFlows},
	{name: "flows-orphans", text: object(call("cudaLaunchKernel", 1, 10.5, 5), flow("s", "ac2g", 1, 100, 100, 10.5), kernel("k", 2, 7, 20, 5), flow("f", "ac2g", 2, 0, 7, 20),
		flow("s", "fwdbwd", 7, 100, 100, 10.5), flow("f", "fwdbwd", 8, 100, 100, 10.5), span("cpu_op", "a", 100, 100, 10.5, 5))},
	{name: "flows-paired", text: object(call("cuLaunchCooperativeKernel", 1, 10.5, 5), flow("f", "ac2g", 1, 100, 100, 10.5), kernel("k", 1, 7, 20, 5), flow("f", "ac2g", 1, 0, 7, 20),
		call("cudaLaunchKernel", 2, 30, 1), flow("s", "ac2g", 2, 100, 100, 30), kernel("l", 2, 7, 40, 1),
		call("cudaLaunchKernel", 3, 50, 1), flow("s", "ac2g", 3, 100, 100, 49), kernel("m", 3, 7, 60, 1), flow("f", "ac2g", 3, 0, 7, 60),
		call("cudaGraphLaunch", 4, 70, 1), kernel("n", 4, 7, 80, 1), flow("f", "ac2g", 4, 0, 7, 80), kernel("o", 4, 7, 90, 1), flow("f", "ac2g", 4, 0, 7, 90))},
	{name: "flows-spelled", text: object(span("cpu_op", "a", 1, 1, 1.5, 5), span("cpu_op", "b", 1, 1, 11.5, 5), flow("s", "forward_backward", 3, 1, 1, 1.5), flow("f", "fwdbwd", 3, 1, 1, 11.5), flow("f", "else", 4, 1, 1, 11.5), flow("s", "fwdbwd", 4, 1, 1, 1.5))},
	{name: "flows-reused", text: object(call("cudaLaunchKernel", 1, 10.5, 5), flow("s", "ac2g", 1, 100, 100, 10.5), call("cudaLaunchKernel", 1, 20.5, 5), flow("s", "ac2g", 1, 100, 100, 20.5), kernel("k", 1, 7, 30, 5), flow("f", "ac2g", 1, 0, 7, 30))},

	{name: "own-record", text: strings.Replace(object(kernel("a", 1, 7, 10.5, 5), kernel("b", 2, 7, 12.5, 5)), `"schemaVersion": 1,`, `"schemaVersion": 1, "flagosTrace": {"verdict": "complete", "tool": "flagos-trace 1", "tracer": "cupti", "received": {"kernel": 2}, "written": {"kernel": 2}, "repaired": {"moved_to_sub_row": 3}, "ended": "exit"},`, 1)},
}

var hostFlows = object(call("cudaMalloc", 1, 10.5, 5), flow("f", "ac2g", 1, 100, 100, 10.5), call("cudaDeviceSynchronize", 2, 20, 5), flow("s", "ac2g", 2, 100, 100, 20))

// pairs are launches with their kernels, 10 µs after them.
func pairs(n int) (out []string) {
	for i := range n {
		at := 100 + 20*float64(i) + 0.5
		out = append(out, call("cudaLaunchKernel", i+1, at, 5), kernel("k", i+1, 7, at+10, 5))
	}
	return out
}

// TestCases makes each repair on a small trace. The golden has the report and what
// differs from the trace as it was read and written.
func TestCases(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			asRead := write(t, read(t, []byte(c.text)))
			c.o.By = "flagos-trace test"
			out, report := repaired(t, []byte(c.text), c.o)
			again, second := repaired(t, out, c.o)
			if second.Changed() || !bytes.Equal(again, out) {
				t.Errorf("a second repair changes %v: %s", second.Repaired, differ(out, again))
			}
			if !json.Valid(out) {
				t.Errorf("no JSON: %s", out)
			}
			sameBut(t, c.name, read(t, []byte(c.text)), read(t, out), report)
			text, err := json.MarshalIndent(report, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got := string(text) + "\n" + difference(asRead, out)
			path := filepath.Join("testdata", c.name+".golden")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("differs from %s; look at it and run go test -update:\n%s", path, got)
			}
		})
	}
}

// difference lists the lines that only one of two texts has, in their order.
func difference(a, b []byte) string {
	lines := func(s []byte) []string { return strings.Split(strings.TrimRight(string(s), "\n"), "\n") }
	count := func(s []string) map[string]int {
		n := map[string]int{}
		for _, l := range s {
			n[strings.TrimSuffix(l, ",")]++
		}
		return n
	}
	var out strings.Builder
	only := func(sign string, list []string, other map[string]int) {
		n := 0
		for _, l := range list {
			if l = strings.TrimSuffix(l, ","); other[l] > 0 {
				other[l]--
			} else if n++; n <= 12 {
				fmt.Fprintf(&out, "%s %s\n", sign, l)
			}
		}
		if n > 12 {
			fmt.Fprintf(&out, "%s and %d more\n", sign, n-12)
		}
	}
	x, y := lines(a), lines(b)
	nx, ny := count(x), count(y)
	only("-", x, ny)
	only("+", y, nx)
	return out.String()
}

// TestValidated: what the cases repair is no finding any more.
func TestValidated(t *testing.T) {
	for _, c := range cases {
		if len(c.o.Only)+len(c.o.Skip) > 0 {
			continue
		}
		out, report := repaired(t, []byte(c.text), c.o)
		for rule, n := range findings(t, out) {
			left := rule == "name-mangled" && report.Remaining[RemainingNames] > 0
			if mendedRules[rule] && !left || rule == "kernel-before-launch" && uint64(n) != report.Remaining[RemainingBeforeLaunch] {
				t.Errorf("%s: %d of %s", c.name, n, rule)
			}
		}
	}
}

// TestChoice: a repair that was not chosen is not made.
func TestChoice(t *testing.T) {
	text := []byte(list(whole("kernel", "_Z1av", 0, 7, 1695835535000010, 6), whole("kernel", "b", 0, 7, 1695835535000012, 6)))
	for _, c := range []struct {
		o    Options
		want []string
	}{
		{Options{}, []string{"absolute_times", "moved_to_sub_row", "names_demangled"}},
		{Options{Only: []string{"names"}}, []string{"names_demangled"}},
		{Options{Skip: []string{"names", "overlaps"}}, []string{"absolute_times"}},
		{Options{Only: []string{"names", "times"}, Skip: []string{"times"}}, []string{"names_demangled"}},
	} {
		_, report := repaired(t, text, c.o)
		var got []string
		for k := range report.Repaired {
			got = append(got, k)
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v repairs %v, not %v", c.o, got, c.want)
		}
	}
	for _, o := range []Options{{Only: []string{"all"}}, {Skip: []string{""}}, {Cut: -1}} {
		if _, err := Document(read(t, text), o); !errors.Is(err, ErrOptions) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := Document(&chrome.Document{Trace: &timeline.Trace{}}, Options{}); !errors.Is(err, ErrNoSource) {
		t.Errorf("a trace without source: %v", err)
	}
}

// TestWords: every key that the cases count, and every finding of reading that is
// a repair, has words.
func TestWords(t *testing.T) {
	keys := map[string]bool{}
	for _, rule := range mended {
		keys[key(rule)] = true
	}
	for _, c := range cases {
		_, report := repaired(t, []byte(c.text), c.o)
		for _, counts := range []map[string]uint64{report.Repaired, report.Remaining} {
			for k := range counts {
				keys[k] = true
			}
		}
	}
	for k := range keys {
		if words[k] == "" {
			t.Errorf("%s has no words", k)
		}
	}
}
