package baseline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/baseline/shape"
	"github.com/flagos-ai/flagos-trace/baseline/verdict"
	"github.com/flagos-ai/flagos-trace/capability"
)

func outcomes(r *verdict.Result) map[string]verdict.Outcome {
	m := map[string]verdict.Outcome{}
	for _, a := range r.Assertions {
		m[a.ID] = a.Outcome
	}
	return m
}

// TestIncomparable: of a trace that does not hold all that happened, nothing is
// concluded, on whichever side it is.
func TestIncomparable(t *testing.T) {
	text := recording(t, "basic")
	good := observed(t, "good", text)
	x := decode(t, text)
	x.doc["flagosTrace"] = object{"verdict": "incomplete", "tool": "flagos-trace", "tracer": "cupti", "received": object{}, "written": object{}, "diagnoses": []any{"the disk was full"}}
	lossy := observed(t, "lossy", x.text(t))
	x.doc["flagosTrace"].(object)["verdict"] = "complete"
	whole := observed(t, "whole", x.text(t))
	x.doc["flagosTrace"].(object)["verdict"] = "complete"
	cutText := x.text(t) // its record, which stands before the events, says that all is there
	cut := observed(t, "cut", cutText[:len(cutText)/2])
	for _, c := range []struct {
		name      string
		base, now *shape.Observation
		want      verdict.Verdict
		says      string
	}{
		{"whole", good, whole, verdict.Pass, ""},
		{"lossy new", good, lossy, verdict.Incomparable, "the new trace, lossy, is incomplete by its own record: the disk was full"},
		{"lossy base", lossy, good, verdict.Incomparable, "the base, lossy, is incomplete"},
		{"cut off", good, cut, verdict.Incomparable, "a part of the new trace, cut, cannot be read: it is truncated"},
	} {
		r := compared(t, c.base, c.now, Options{})
		if r.Verdict != c.want || !strings.Contains(strings.Join(r.Incomparable, " "), c.says) {
			t.Errorf("%s: %s, %v", c.name, r.Verdict, r.Incomparable)
		}
		if c.want == verdict.Incomparable {
			if r.Verdict.ExitStatus() != verdict.ExitIncomparable {
				t.Errorf("%s: exit status %d", c.name, r.Verdict.ExitStatus())
			}
			// Nothing is said of what was not compared, and the reason once.
			if n := r.Outcomes()[verdict.NotJudged]; len(r.Findings)+len(r.Better)+len(r.Cannot) > 0 || n != len(assertions) || len(r.Incomparable) != 1 {
				t.Errorf("%s: %d assertions not judged, %+v, %q", c.name, n, r.Findings, r.Incomparable)
			}
			var text, junit bytes.Buffer
			if err := errors.Join(verdict.WriteText(&text, r), verdict.One("diff", r).WriteJUnit(&junit)); err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(text.String(), r.Why); n != 1 || strings.Contains(text.String(), "completeness: complete") {
				t.Errorf("%s: the reason stands %d times:\n%s", c.name, n, &text)
			}
			if !strings.Contains(junit.String(), `failures="0" errors="1"`) {
				t.Errorf("%s: %s", c.name, &junit)
			}
		}
	}
	if len(FromTrace(lossy).Unusable()) == 0 || len(FromTrace(good).Unusable()) != 0 {
		t.Error("Unusable")
	}
}

// TestBaselineAsNew: a trace is held against a baseline, never the other way; two
// baselines are compared.
func TestBaselineAsNew(t *testing.T) {
	side := FromTrace(observed(t, "good", recording(t, "basic")))
	file := fromShape("b.json", side.Shape)
	for _, c := range []struct {
		name      string
		base, now *Side
		want      verdict.Verdict
	}{
		{"as base", file, side, verdict.Pass}, {"as new", side, file, verdict.Incomparable}, {"both", file, file, verdict.Pass},
	} {
		r, err := Diff(c.base, c.now, Options{})
		if err != nil || r.Verdict != c.want || (c.want == verdict.Incomparable) != strings.Contains(r.Why, "the new side, b.json, is a baseline") {
			t.Errorf("%s: %s: %s, %v", c.name, r.Verdict, r.Why, err)
		}
	}
}

// TestWholeTimes: of times that are whole numbers it is not said that they were not
// recorded.
func TestWholeTimes(t *testing.T) {
	base := observed(t, "base", recording(t, "basic"))
	x := decode(t, recording(t, "basic"))
	for _, e := range x.events {
		for _, key := range []string{"ts", "dur"} {
			if n, ok := e.(object)[key].(json.Number); ok {
				whole, _, _ := strings.Cut(string(n), ".")
				e.(object)[key] = json.Number(whole)
			}
		}
	}
	r := compared(t, base, observed(t, "whole", x.text(t)), Options{})
	for _, a := range r.Assertions {
		if a.ID == "durations" && (a.Outcome != verdict.NotRecorded || !strings.Contains(a.Reason, "whole numbers")) {
			t.Errorf("%s (%s)", a.Outcome, a.Reason)
		}
	}
	if r.Verdict == verdict.Pass {
		t.Error(r.Why)
	}
}

// deviceOnly is a recording without its framework's side.
func deviceOnly(t *testing.T, reason string) *shape.Observation {
	x := decode(t, recording(t, "basic"))
	x.drop(func(e object) bool {
		return e["cat"] == "cpu_op" || e["cat"] == "user_annotation" || e["cat"] == "gpu_user_annotation"
	})
	for _, cat := range []string{"kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime"} {
		x.args(cat, func(_, a object) { delete(a, "External id") })
	}
	if reason != "" {
		x.doc["flagosTrace"] = object{"verdict": "complete", "tool": "flagos-trace", "tracer": "cupti", "received": object{}, "written": object{},
			"operators": object{"reason": reason, "seen": num(0), "linked_by_id": num(0), "linked_by_time": num(0), "agreed": num(0), "disagreed": num(0), "device_linked": num(0)}}
	}
	return observed(t, "device only", x.text(t))
}

// TestScope: a trace recorded without operators fails where they are asked for, is
// inconclusive where its record says that nobody asked, and its device's side can be
// compared.
func TestScope(t *testing.T) {
	base := observed(t, "basic", recording(t, "basic"))
	without, notAsked := deviceOnly(t, ""), deviceOnly(t, "not_asked")
	if r := compared(t, base, without, Options{}); r.Verdict != verdict.Regression || r.Findings[0].Subject != "category:cpu_op" {
		t.Errorf("without a record: %s, %+v", r.Verdict, r.Findings[:1])
	}
	r := compared(t, base, notAsked, Options{})
	got := outcomes(r)
	for _, id := range []string{"categories", "arg-keys", "operators", "operator-work", "attribution", "linked"} {
		if got[id] != verdict.NotRecorded {
			t.Errorf("%s: %s", id, got[id])
		}
	}
	if r.Verdict != verdict.Inconclusive || len(differences(r)) > 0 {
		t.Errorf("not asked for: %s, %+v", r.Verdict, differences(r))
	}
	for _, now := range []*shape.Observation{without, notAsked} {
		r := compared(t, base, now, Options{Scope: Device})
		if r.Verdict != verdict.Pass || outcomes(r)["operators"] != verdict.NotRecorded {
			t.Errorf("scope device: %s, %+v", r.Verdict, r.Findings)
		}
	}
	if r := compared(t, without, without, Options{}); r.Verdict != verdict.Pass {
		t.Errorf("itself: %s: %s", r.Verdict, r.Why)
	}
}

// TestCapabilities: what a vendor's library cannot deliver is neither a difference
// nor a pass; for another vendor it is a difference.
func TestCapabilities(t *testing.T) {
	base := observed(t, "basic", recording(t, "basic"))
	x := decode(t, recording(t, "basic"))
	for _, key := range []string{"grid", "block", "registers per thread", "shared memory", "blocks per SM", "warps per SM", "est. achieved occupancy %", "queued", "context"} {
		x.args("kernel", func(_, a object) { delete(a, key) })
	}
	x.args("cuda_runtime", func(_, a object) { delete(a, "cbid") })
	x.each("X", "cuda_runtime", func(e object) { e["cat"] = "privateuse1_runtime" })
	now := observed(t, "new", x.text(t))
	for _, vendor := range []string{"ascend", "npu"} {
		r := compared(t, base, now, Options{Vendor: vendor})
		if r.Verdict != verdict.Pass || outcomes(r)["arg-keys"] != verdict.Cannot || len(r.Cannot) != 10 {
			t.Errorf("%s: %s, %d excuses, %+v", vendor, r.Verdict, len(r.Cannot), differences(r))
		}
		for _, e := range r.Cannot {
			if e.Reason == "" || e.Source == "" || e.Vendor != vendor {
				t.Errorf("%+v", e)
			}
		}
	}
	if r := compared(t, base, now, Options{Vendor: "cuda"}); r.Verdict != verdict.Regression || len(differences(r)) != 10 {
		t.Errorf("cuda: %s, %+v", r.Verdict, differences(r))
	}
	r, err := Parity(Default(), now, Options{Vendor: "ascend", Now: testNow})
	if err != nil || outcomes(r)["torch-fl/3-arg-keys"] != verdict.Cannot {
		t.Errorf("parity: %v, %+v", outcomes(r), r.Findings)
	}
	if !capability.Default().Knows("hygon") || capability.Default().Knows("moon") {
		t.Error("Knows")
	}
	for _, bad := range []string{"x", "vendors: {a: [{assertion: ids}]}", "vendors: {a: [{assertion: moon, subject: s, reason: r, source: s}]}", "moon: 1"} {
		if _, err := ReadCapabilities([]byte(bad)); !errors.Is(err, ErrCapabilities) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestEquivalents: a trace in another vendor's names is the same.
func TestEquivalents(t *testing.T) {
	base := observed(t, "comp", recording(t, "comp"))
	for _, names := range []map[string]string{
		{"cuda_runtime": "privateuse1_runtime", "cuda_driver": "privateuse1_driver"}, {"cuda_runtime": "musa_runtime", "cuda_driver": "musa_driver"},
		{"cuda_runtime": "mlu_runtime", "gpu_memset": "mlu_memset", "cuda_driver": "mlu_driver"}, {"kernel": "Kernel", "cuda_runtime": "Runtime", "cpu_op": "Operator", "cuda_driver": "Driver"},
	} {
		x := decode(t, recording(t, "comp"))
		x.each("X", "", func(e object) {
			if to := names[fmt.Sprint(e["cat"])]; to != "" {
				e["cat"] = to
			}
		})
		for _, pair := range [][2]*shape.Observation{{base, observed(t, "renamed", x.text(t))}, {observed(t, "renamed", x.text(t)), base}} {
			if r := compared(t, pair[0], pair[1], Options{}); r.Verdict != verdict.Pass || len(r.Findings) > 0 {
				t.Errorf("%v: %s, %+v", names, r.Verdict, r.Findings)
			}
		}
	}
}

// TestAgainstFile: against a baseline of itself a trace passes, and a damaged one
// has the same first finding as against the trace, where the file can tell.
func TestAgainstFile(t *testing.T) {
	var sides = map[string]*Side{}
	n, told := 0, 0
	for _, m := range mutations() {
		side := sides[m.trace]
		if side == nil {
			o := observed(t, m.trace, decode(t, recording(t, m.trace)).text(t))
			var err error
			if side, err = FromFile(m.trace, shapeText(t, &o.Shape)); err != nil {
				t.Fatal(err)
			}
			sides[m.trace] = side
			r, err := Diff(side, FromTrace(o), Options{Now: testNow})
			if err != nil || r.Verdict != verdict.Pass || len(r.Findings) > 0 {
				t.Errorf("%s: %s, %+v, %v", m.trace, r.Verdict, r.Findings, err)
			}
		}
		if m.trace != "basic" {
			continue
		}
		x := decode(t, recording(t, m.trace))
		m.damage(x)
		r, err := Diff(side, FromTrace(observed(t, m.name, x.text(t))), Options{Now: testNow})
		if err != nil {
			t.Fatal(err)
		}
		n++
		found := differences(r)
		if len(found) == 0 {
			t.Logf("%s: not told", m.name)
			continue
		}
		told++
		if found[0].Assertion != m.first && !slices.Contains(m.allowed, found[0].Assertion) {
			t.Errorf("%s: first is %s, want %s", m.name, found[0].Assertion, m.first)
		}
	}
	// A file does not hold how many names API calls had.
	if told < n*95/100 {
		t.Errorf("%d of %d mutations were told", told, n)
	}
}

// TestTwoFiles compares baselines with each other.
func TestTwoFiles(t *testing.T) {
	a, b := observed(t, "basic", recording(t, "basic")), observed(t, "comp", recording(t, "comp"))
	x, err := FromFile("a", shapeText(t, &a.Shape))
	if err != nil {
		t.Fatal(err)
	}
	y, err := FromFile("b", shapeText(t, &b.Shape))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Diff(x, x, Options{Now: testNow})
	if err != nil || r.Verdict != verdict.Pass || len(r.Findings) > 0 {
		t.Errorf("%s, %+v, %v", r.Verdict, r.Findings, err)
	}
	r, err = Diff(x, y, Options{Now: testNow})
	if err != nil || r.Verdict != verdict.Regression || r.Findings[0].Subject != "category:gpu_memcpy" {
		t.Errorf("%s, %+v, %v", r.Verdict, r.Findings, err)
	}
}

// TestEmbedded: the embedded baseline is what its generator makes, as far as that
// can be told without the traces: it can be read, and requires 13, 7, 7 and 3.
func TestEmbedded(t *testing.T) {
	side := Default()
	for name, n := range map[string]int{"kernel": 13, "gpu_memcpy": 7, "gpu_memset": 7, "cuda_runtime": 3, "cpu_op": 0, "Trace": 0} {
		c := side.Shape.Categories[name]
		required := 0
		for _, a := range c.Args {
			if a.Required {
				required++
			}
		}
		if !c.Required || required != n {
			t.Errorf("%s: required %v, with %d arguments, want %d", name, c.Required, required, n)
		}
	}
	if string(shapeText(t, side.Shape)) != string(DefaultText()) {
		t.Error("written anew, it is another")
	}
	if _, err := Embedded("moon"); !errors.Is(err, ErrNoBaseline) {
		t.Error(err)
	}
}

// TestPage keeps docs/diff.md in step with the tables.
func TestPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "diff.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range Assertions() {
		if !strings.Contains(string(page), "| `"+a.ID+"` | "+a.Title+" |") {
			t.Errorf("docs/diff.md lacks: | `%s` | %s | ... |", a.ID, a.Title)
		}
	}
	for _, a := range parityAssertions {
		if !strings.Contains(string(page), "| `"+a.id+"` | "+a.title+" |") {
			t.Errorf("docs/diff.md lacks: | `%s` | %s |", a.id, a.title)
		}
	}
}

// TestMadeUp: figures that a tracer makes up, so that every key is there, are
// found against the embedded baseline, too; all of Torch-FL's assertions about
// arguments hold.
func TestMadeUp(t *testing.T) {
	x := decode(t, recording(t, "train"))
	x.args("kernel", func(_, a object) {
		a["blocks per SM"], a["registers per thread"], a["est. achieved occupancy %"] = num(16), num(32), num(50)
	})
	o := observed(t, "made up", x.text(t))
	r, err := Diff(Default(), FromTrace(o), Options{Now: testNow})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, f := range differences(r) {
		found[f.Subject] = true
	}
	for _, key := range []string{"blocks per SM", "registers per thread", "est. achieved occupancy %"} {
		if !found["constant:kernel/"+key] {
			t.Errorf("%s is not found: %v", key, found)
		}
	}
	if !found["measure:"+shape.Derived] || len(found) != 4 {
		t.Errorf("found %v", found)
	}
	p, err := Parity(Default(), o, Options{Now: testNow})
	if err != nil || outcomes(p)["torch-fl/3-arg-keys"] != verdict.Holds {
		t.Errorf("%v, %v", outcomes(p), err)
	}
}

// TestExceptionsKnown: an exception that no finding can have is an error, which says
// what there is.
func TestExceptionsKnown(t *testing.T) {
	o := observed(t, "basic", recording(t, "basic"))
	for id, ok := range map[string]bool{"categories": true, "torch-fl/2-flows": true, "category": false, "": false} {
		opts := Options{Now: testNow, Exceptions: []verdict.Exception{{Assertion: id, Reason: "so"}}}
		_, err := Diff(FromTrace(o), FromTrace(o), opts)
		_, parity := Parity(Default(), o, opts)
		for _, err := range []error{err, parity} {
			if (err == nil) != ok || err != nil && (!errors.Is(err, verdict.ErrExceptions) || !strings.Contains(err.Error(), "categories, arg-keys, ") || !strings.Contains(err.Error(), "torch-fl/1-categories")) {
				t.Errorf("%q: %v", id, err)
			}
		}
	}
}

// TestAPINamesShort: what is told of many names of API calls is told once.
func TestAPINamesShort(t *testing.T) {
	x := decode(t, recording(t, "basic"))
	n := 0
	x.each("X", "cuda_runtime", func(e object) {
		if e["name"] != "cudaLaunchKernel" {
			e["name"] = fmt.Sprint("cudaOther", n%20)
			n++
		}
	})
	r := compared(t, observed(t, "basic", recording(t, "basic")), observed(t, "renamed", x.text(t)), Options{})
	var b bytes.Buffer
	if err := verdict.WriteText(&b, r); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "cudaOther0"); n != 1 || !strings.Contains(b.String(), "and 15 more") || len(differences(r)) < 5 {
		t.Errorf("%d times:\n%s", n, &b)
	}
}

// TestOtherKernels: operators that run each other's kernels are no difference where a
// library may have chosen so, as for two operators of many, and between vendors.
func TestOtherKernels(t *testing.T) {
	base := observed(t, "train", recording(t, "train"))
	x := decode(t, recording(t, "train"))
	names := map[string]string{}
	x.args("cpu_op", func(e, a object) { names[fmt.Sprint(a["External id"])] = e["name"].(string) })
	kernels := map[string][]string{}
	x.args("kernel", func(e, a object) {
		op := names[fmt.Sprint(a["External id"])]
		kernels[op] = append(kernels[op], e["name"].(string))
	})
	next := map[string]string{"aten::mm": "aten::_foreach_add_", "aten::_foreach_add_": "aten::mm"}
	n := map[string]int{}
	x.args("kernel", func(e, a object) {
		op := names[fmt.Sprint(a["External id"])]
		if list := kernels[next[op]]; len(list) > 0 {
			e["name"] = list[n[op]%len(list)]
			n[op]++
		}
	})
	if len(n) != 2 {
		t.Fatalf("exchanged are %v", n)
	}
	if r := compared(t, base, observed(t, "chosen", x.text(t)), Options{}); r.Verdict != verdict.Pass || len(r.Findings) != 1 || r.Findings[0].Subject != "work:kernels" {
		t.Errorf("two operators: %s, %+v", r.Verdict, r.Findings)
	}
	for _, m := range mutations() {
		if m.name != "names of kernels at random" {
			continue
		}
		x := decode(t, recording(t, "train"))
		m.damage(x)
		for _, f := range compared(t, base, observed(t, m.name, x.text(t)), Options{Vendor: "musa"}).Findings {
			if f.Subject == "work:exchanged" {
				t.Errorf("between vendors: %+v", f)
			}
		}
	}
}
