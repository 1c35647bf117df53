package baseline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/baseline/verdict"
)

// framework adds what the framework writes beside operators, by number.
func framework(x *damaged, function func(i int) string, id, total func(i int) int, dims func(i int) []any) {
	base := x.events[0].(object)
	ops := 0
	x.args("cpu_op", func(e, a object) {
		if base = e; ops < 40 {
			a["Input Dims"] = dims(ops)
			ops++
		}
	})
	for i := range 40 {
		x.events = append(x.events,
			object{"ph": "X", "cat": "python_function", "name": function(i), "pid": base["pid"], "tid": base["tid"], "ts": base["ts"], "dur": base["dur"],
				"args": object{"Python id": num(id(i))}},
			object{"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": base["pid"], "tid": base["tid"], "ts": base["ts"],
				"args": object{"Total Allocated": num(total(i))}})
	}
}

// TestOneOfMany: what takes many values in the base takes one, in whatever category;
// a few values, and rows' numbers, say nothing.
func TestOneOfMany(t *testing.T) {
	text := recording(t, "basic")
	function := func(i int) string { return fmt.Sprint("f.py(", i, "): g") }
	number := func(i int) int { return 100 + i }
	dims := func(i int) []any { return []any{[]any{num(i), num(4)}} }
	made := func(function func(int) string, id, total func(int) int, dims func(int) []any) *damaged {
		x := decode(t, text)
		framework(x, function, id, total, dims)
		return x
	}
	base := observed(t, "base", made(function, number, number, dims).text(t))
	zero := func(int) int { return 0 }
	two := func(i int) int { return i % 2 }
	for _, c := range []struct {
		name string
		x    *damaged
		want string
	}{
		{"itself", made(function, number, number, dims), ""},
		{"names", made(func(int) string { return "f" }, number, number, dims), "constant:python_function/name"},
		{"ids", made(function, zero, number, dims), "constant:python_function/Python id"},
		{"totals", made(function, number, zero, dims), "constant:cpu_instant_event/Total Allocated"},
		{"dims", made(function, number, number, func(int) []any { return []any{} }), "constant:cpu_op/Input Dims"},
		{"two values", made(function, two, two, dims), ""},
	} {
		r := compared(t, base, observed(t, c.name, c.x.text(t)), Options{})
		var got []string
		for _, f := range differences(r) {
			got = append(got, f.Subject)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %s, want %q", c.name, got, c.want)
		}
	}
}

// TestContradiction: names of another vendor's calls bring none of its excuses; that
// categories have other names, or that devices do not tell whose they are, says nothing.
func TestContradiction(t *testing.T) {
	base := observed(t, "base", recording(t, "basic"))
	for _, c := range []struct {
		device, vendor string
		want           bool
	}{
		{"NVIDIA H200", "cuda", true}, {"Accelerator 1", "musa", false},
	} {
		x := decode(t, recording(t, "basic"))
		x.each("X", "cuda_runtime", func(e object) { e["name"] = "mu" + strings.TrimPrefix(e["name"].(string), "cuda") })
		for _, v := range x.doc["deviceProperties"].([]any) {
			v.(object)["name"] = c.device
		}
		r := compared(t, base, observed(t, "new", x.text(t)), Options{})
		found := false
		for _, f := range differences(r) {
			found = found || f.Subject == "calls:vendor"
		}
		if found != c.want || r.New.Vendor != c.vendor {
			t.Errorf("%s: found %v, vendor %s", c.device, found, r.New.Vendor)
		}
	}
}

// TestNoBetterThanBroken: an assertion that is broken is told as no improvement.
func TestNoBetterThanBroken(t *testing.T) {
	base := observed(t, "base", recording(t, "ddp.rank0")) // has calls without a name
	x := decode(t, recording(t, "ddp.rank0"))
	for _, cat := range []string{"cuda_runtime", "cuda_driver"} {
		x.each("X", cat, func(e object) { e["name"] = "cudaLaunchKernel" })
	}
	r := compared(t, base, observed(t, "new", x.text(t)), Options{})
	broken := map[string]bool{}
	for _, a := range r.Assertions {
		broken[a.ID] = a.Outcome == verdict.Broken
	}
	if !broken["api-names"] {
		t.Error("api-names is not broken")
	}
	for _, text := range r.Better {
		if id, _, _ := strings.Cut(text, ":"); broken[id] {
			t.Errorf("better: %s", text)
		}
	}
}
