package shape

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
)

func observe(t testing.TB, name string) *Observation {
	t.Helper()
	docs, err := chrome.ReadFile(filepath.Join("..", "..", "testdata", "pairs", name+".kineto.json.gz"), chrome.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	o, err := Observe(docs[0])
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func text(t testing.TB, s *Shape) string {
	t.Helper()
	var b bytes.Buffer
	if err := s.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestObserved holds what is observed of a recording against what a count of its
// JSON by other means gave.
func TestObserved(t *testing.T) {
	o := observe(t, "basic")
	for name, n := range map[string]int64{"cpu_op": 167, "user_annotation": 5, "overhead": 1, "cuda_runtime": 109, "kernel": 30, "gpu_memcpy": 25, "gpu_memset": 5, "gpu_user_annotation": 5, "Trace": 1} {
		if c := o.Classes[name]; c == nil || c.N != n {
			t.Errorf("%s: %+v, want %d events", name, c, n)
		}
	}
	if got := slices.Sorted(maps.Keys(o.Shape.Categories["kernel"].Args)); len(got) != 13 {
		t.Errorf("arguments of kernels: %v", got)
	}
	for key, want := range map[string]Arg{
		"grid":          {Required: true, Every: true, Types: []string{"array"}, Arrays: []string{"3 integer"}, Varies: true},
		"queued":        {Required: true, Every: true, Types: []string{"integer"}},
		"blocks per SM": {Required: true, Every: true, Types: []string{"number"}, Varies: true},
	} {
		if got := *o.Shape.Categories["kernel"].Args[key]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %+v, want %+v", key, got, want)
		}
	}
	if c := o.Shape.Categories["cuda_runtime"].Args["External id"]; c.Every || o.Classes["cuda_runtime"].Args["External id"].N != 100 {
		t.Error("100 of 109 API calls have an External id")
	}
	if o.FlowStarts != 79 || o.FlowFinishes != 90 || o.FlowBoth != 60 {
		t.Errorf("arrows: %d starts, %d finishes, %d of both", o.FlowStarts, o.FlowFinishes, o.FlowBoth)
	}
	for id, m := range o.Measures {
		if m.Checked == 0 || m.Broken > 0 && id != KernelsDominate {
			t.Errorf("%s: %+v", id, *m)
		}
	}
	if p := o.Shape.Operators["aten::mm"]; p == nil || fmt.Sprint(p.Work) != "map[kernel:always]" || len(p.Kernels) == 0 {
		t.Errorf("aten::mm: %+v", p)
	}
	if f := o.Shape.Flows[DeviceFlow]; f == nil || fmt.Sprint(f.To) != "[gpu_memcpy gpu_memset kernel]" {
		t.Errorf("%+v", f)
	}
	if fmt.Sprint(o.Shape.Rows) != "map[device label:map[GPU #:always] host label:map[CPU:always] stream:map[stream #:always] thread:map[thread #:always]]" {
		t.Error(o.Shape.Rows)
	}
}

// TestSameAgain: two runs of one program have the same shape; counts come only if
// asked for.
func TestSameAgain(t *testing.T) {
	a, b := observe(t, "train"), observe(t, "train")
	if text(t, &a.Shape) != text(t, &b.Shape) {
		t.Error("observed twice, a trace has two shapes")
	}
	if s := text(t, &a.Shape); strings.Contains(s, `"counts"`) || strings.Contains(s, "device_ns") {
		t.Error("there are counts")
	}
	a.WithCounts()
	if a.Shape.Counts["kernel"] != 1708 || a.Shape.DeviceNS["aten::mm"] == 0 {
		t.Errorf("%v", a.Shape.Counts)
	}
}

// TestMerge: what is not in all of the traces is marked, and required no more.
func TestMerge(t *testing.T) {
	union, comp := observe(t, "basic").Shape, observe(t, "comp").Shape
	union.Merge(&comp)
	for name, want := range map[string]bool{"kernel": true, "gpu_memset": true, "gpu_memcpy": false, "cuda_driver": false, "cpu_op": true} {
		c := union.Categories[name]
		if c.Required != want || (c.Presence == Always) != want {
			t.Errorf("%s: %+v, want required %v", name, c, want)
		}
	}
	if len(union.Sources) != 2 || union.Calls["cuLaunchKernel"] != Sometimes || union.Calls["cudaLaunchKernel"] != Always || union.Operators["aten::_softmax"].Presence != Sometimes {
		t.Errorf("%v %v", union.Sources, union.Calls)
	}
	if p := union.Operators["aten::copy_"]; p.Work["gpu_memcpy"] != Sometimes || p.Work["kernel"] != Sometimes {
		t.Errorf("aten::copy_ copies in one, and runs a kernel in the other: %+v", p)
	}
	if union.Flows["fwdbwd"].Presence != Sometimes || union.Flows[DeviceFlow].Presence != Always {
		t.Error("arrows")
	}
	if again := observe(t, "basic").Shape; union.Holds[KernelsDominate] != again.Holds[KernelsDominate] {
		t.Error("the worse of two levels counts")
	}
}

const torchFLText = `{"generated_by": "torch 2.10 / A100", "note": "n", "categories": ["Trace", "cuda_runtime", "kernel"],
	"categories_observed_in_torch_cuda": ["Trace", "cuda_runtime", "kernel", "overhead"], "categories_known_gap": {"overhead": "not enabled"},
	"runtime_cat_equivalents": ["cuda_runtime", "privateuse1_runtime"], "kernel_arg_keys": ["grid", "block"], "runtime_arg_keys": ["cbid"]}`

func TestRead(t *testing.T) {
	o := observe(t, "ddp.rank0")
	o.WithCounts()
	want := text(t, &o.Shape)
	if !IsBaseline([]byte(want)) || IsBaseline([]byte(`{"traceEvents": []}`)) || IsBaseline([]byte("x")) {
		t.Error("a baseline is not told from a trace")
	}
	s, err := Read([]byte(want))
	if err != nil {
		t.Fatal(err)
	}
	if text(t, s) != want {
		t.Error("read and written, a baseline is another")
	}
	fl, err := Read([]byte(torchFLText))
	if err != nil {
		t.Fatal(err)
	}
	if !fl.Partial() || len(fl.Categories["kernel"].Args) != 2 || !fl.Categories["kernel"].Args["grid"].Required || fl.Categories["overhead"].Required ||
		fl.KnownGaps["overhead"] == "" || len(fl.Equivalents) != 1 || !IsBaseline([]byte(torchFLText)) {
		t.Errorf("%+v", fl)
	}
	head := `{"format": "flagos-trace-baseline", "version": 1, "categories": {"kernel": {"presence": "always"`
	for _, bad := range []string{
		"", "{", "[]", `{"format": "x"}`, `{"format": "flagos-trace-baseline", "version": 2}`, `{"format": "flagos-trace-baseline", "version": 1}`,
		`{"kernel_arg_keys": ["a"]}`, `{"format": "flagos-trace-baseline", "version": 1, "categories": {"kernel": null}}`,
		head + `, "args": {"grid": null}}}}`, head + `}}, "flows": {"ac2g": null}}`, head + `}}, "operators": {"x": null}}`, head + `}}, "unknown": 1}`,
		head + `}}, "holds": {"linked": "hardly"}}`, head + `}}, "exceptions": [{"assertion": "a"}]}`, head + `}}, "exceptions": [{"assertion": "a", "reason": "r", "expires": "x"}]}`,
	} {
		if _, err := Read([]byte(bad)); !errors.Is(err, ErrBaseline) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(torchFLText))
	f.Add([]byte(`{"format": "flagos-trace-baseline", "version": 1, "categories": {"kernel": {"presence": "always", "args": {"grid": {"types": ["array"]}}}}}`))
	if text, err := os.ReadFile("../torch-cuda.json"); err == nil {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		s, err := Read(in)
		if err != nil {
			if !errors.Is(err, ErrBaseline) {
				t.Error(err)
			}
			return
		}
		other, err := Read(in)
		if err != nil {
			t.Fatal(err)
		}
		s.Merge(other)
	})
}

// FuzzObserve: no document makes Observe fail or panic.
func FuzzObserve(f *testing.F) {
	f.Add([]byte(`{"traceEvents": [{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1.5,"dur":2,"args":{"correlation":3,"grid":[1,2],"blocks per SM":"inf","External id":-1}},
		{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":1,"dur":2,"args":{"correlation":3}},{"ph":"s","cat":"ac2g","name":"ac2g","id":3,"pid":1,"tid":1,"ts":1},
		{"ph":"f","cat":"ac2g","name":"ac2g","id":18446744073709551615,"pid":0,"tid":7,"ts":1.5,"bp":"e"},{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":0,"dur":9,"args":{"External id":-1}}]}`))
	f.Add([]byte(`[{"ph":"X","cat":"Trace","name":"t","pid":"Spans","tid":"","ts":0,"dur":1}, {"ph":"C","cat":"","name":"c","pid":1,"ts":3,"args":{}}]`))
	f.Fuzz(func(t *testing.T, in []byte) {
		d, err := chrome.Read(bytes.NewReader(in), chrome.ReadOptions{Workers: 1})
		if err != nil {
			return
		}
		o, err := Observe(d)
		if err != nil {
			t.Fatal(err)
		}
		for id, m := range o.Measures {
			if m.Broken > m.Checked && id != Plausible {
				t.Errorf("%s: %d broken of %d", id, m.Broken, m.Checked)
			}
		}
	})
}

func TestNames(t *testing.T) {
	for in, want := range map[string]string{"cuda_runtime": "cuda_runtime", "privateuse1_runtime": "cuda_runtime", "musa_driver": "cuda_driver", "Kernel": "kernel",
		"mlu_memcpy": "gpu_memcpy", "Operator": "cpu_op", "cpu_op": "cpu_op", "python_function": "python_function", "made up": "made up"} {
		if got := Canonical(in); got != want {
			t.Errorf("Canonical(%q) is %q", in, got)
		}
	}
	for in, want := range map[string]string{"stream 7 ": "stream #", "stream 17 (2) ": "stream # (#)", "GPU 0": "GPU #", "": ""} {
		if got := Pattern(in); got != want {
			t.Errorf("Pattern(%q) is %q", in, got)
		}
	}
	for in, want := range map[string]string{
		"void at::native::elementwise_kernel<128, 2>(int)": "at::native::elementwise_kernel", "gemm_nn": "gemm_nn",
		"void at::native::(anonymous namespace)::index<c10::Half, long>(int)": "at::native::(anonymous namespace)::index", "(x)": "(x)", "": "",
	} {
		if got := kernelName(in); got != want {
			t.Errorf("kernelName(%q) is %q", in, got)
		}
	}
	for in, want := range map[string]nameMarks{"_ZN2at6nativeEv": markMangled, "at::native": markScoped, "cudaRuntime": markPlaceholder, "_Z3foov": markMangled, "k_ZNx": markMangled, "_Zap": 0} {
		if got := marksOf(in); got != want|markKnown {
			t.Errorf("marksOf(%q) is %b", in, got)
		}
	}
}

func TestNumber(t *testing.T) {
	for in, want := range map[string]float64{"0": 0, "12": 12, "-3.5": -3.5, "1.939394": 1.939394, "1e3": 1000, `"2.5"`: 2.5, "123456789012345678": 123456789012345678, "0.0000000000000001": 1e-16} {
		if got, ok := number(chrome.Value(in)); !ok || got != want {
			t.Errorf("number(%s) is %v, %v", in, got, ok)
		}
	}
	for _, in := range []string{"", "-", ".", `"inf"`, `"N/A"`, "1.2.3", "NaN", "true", "[1]"} {
		if got, ok := number(chrome.Value(in)); ok {
			t.Errorf("number(%s) is %v", in, got)
		}
	}
}

// of returns the value of an argument of the event last taken, nil if it has none.
func (c *class) of(key string) chrome.Value {
	if i, ok := c.index[key]; ok && c.keys[i].at == c.n {
		return c.keys[i].value
	}
	return nil
}

// FuzzTake: arguments are taken apart as chrome does it, whatever the event before
// looked like.
func FuzzTake(f *testing.F) {
	f.Add([]byte(`"a": 1, "b": [1, {"x": "]"}], "c": "q\\"\\\\"`), []byte(`"a": 1,  "b":   2 , "a": true`))
	f.Add([]byte(`"External id": 5,"Ev Idx": 0`), []byte(`"External id": 6,"Ev Idx": null, "x": {}`))
	f.Add([]byte(`"a" : -1.5e3`), []byte(` "a" : "" `))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		c := newClass("kernel")
		want := map[string]string{}
		for _, args := range [][]byte{first, second} {
			if !json.Valid([]byte("{" + string(args) + "}")) {
				return
			}
			c.take(0, args, func(string, chrome.Value, *limits) {})
			seen := map[string]bool{}
			for m := chrome.WalkMembers(args); m.Next(); {
				key := string(m.Key)
				if to, ok := keyAliases[key]; ok {
					key = to
				}
				if !seen[key] {
					seen[key] = true
					want[key] += "|" + string(m.Value)
					if got := c.of(string(m.Key)); string(got) != string(m.Value) {
						t.Errorf("%s: %q is %q, want %q", args, key, got, m.Value)
					}
				}
			}
			c.n++
		}
		if len(want) != len(c.keys) {
			t.Errorf("%d keys, want %d", len(c.keys), len(want))
		}
		for i := range c.keys {
			if n := int64(strings.Count(want[c.keys[i].key], "|")); c.keys[i].n > n || c.keys[i].n == 0 {
				t.Errorf("%s: on %d events, want %d", c.keys[i].key, c.keys[i].n, n)
			}
		}
	})
}
