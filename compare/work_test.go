package compare

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/baseline/verdict"
	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// times repeats a part of a program.
func times(n int, part string) string { return strings.Repeat(part, n) }

const (
	mm      = "aten::mm\n\tkernel: sgemm_128 100000\n"
	relu    = "aten::relu\n\tkernel: elementwise_relu 50000\n"
	conv    = "aten::conv\n\tkernel: im2col 10000\n\tkernel: im2col 10000\n\tkernel: gemm_a 30000\n"
	oneStep = "step: 1\n\taten::mm\n\t\tkernel: sgemm_128 100000\n\taten::relu\n\t\tkernel: elementwise_relu 50000\n"
	melted  = "Torch-Compiled Region: 0/0\n\taten::mm\n\t\tkernel: nvjet_x 90000\n\ttriton_poi_fused_add_0\n\t\tkernel: triton_poi_fused_add_0 20000\n"
)

// TestLessWork: what takes less time because less is done is no improvement, and what is
// done less or more stands in the reason.
func TestLessWork(t *testing.T) {
	for _, c := range []struct {
		name      string
		base, now string
		want      verdict.Verdict
		why       []string
	}{
		{"an operator is missing", times(4, mm) + relu, times(4, mm), verdict.Inconclusive, []string{"less time, but for less work: device time -11", "aten::relu (only base)", "11.1 % of the base's device time"}},
		{"calls are missing", times(4, mm) + times(4, relu), times(2, mm) + times(4, relu), verdict.Inconclusive, []string{"aten::mm (4 > 2 calls), which is 33.3 %"}},
		{"half of all", times(4, mm+relu), times(2, mm+relu), verdict.Inconclusive, []string{"aten::mm (4 > 2 calls)", "aten::relu (4 > 2 calls)", "50.0 %"}},
		{"kernels of a call are missing", times(4, conv), times(4, strings.Replace(conv, "\tkernel: im2col 10000\n", "", 1)), verdict.Inconclusive, []string{"aten::conv (12 > 8 launches), which is 20.0 %"}},
		{"and of a call, all of one name", times(4, conv), times(4, strings.ReplaceAll(conv, "\tkernel: im2col 10000\n", "")), verdict.Inconclusive, []string{"aten::conv (12 > 4 launches), which is 40.0 %"}},
		{"kernels without operators", times(4, "orphan: gemm 100000\n"), times(3, "orphan: gemm 100000\n"), verdict.Inconclusive, []string{"(kernel) gemm (4 > 3 launches), which is 25.0 %"}},
		{"of another name", times(4, "orphan: gemm_a 100000\n"), times(3, "orphan: gemm_b 100000\n"), verdict.Inconclusive, []string{"(kernels) gemm (4 > 3 launches)"}},
		{"replays", times(4, "replay: gemm 100000\n"), times(3, "replay: gemm 100000\n"), verdict.Inconclusive, []string{"4 > 3 launches"}},
		{"one step's call, as many steps", oneStep + strings.ReplaceAll(oneStep, "step: 1", "step: 2"), oneStep + "step: 2\n\taten::relu\n\t\tkernel: elementwise_relu 50000\n", verdict.Inconclusive, []string{"aten::mm (2 > 1 calls)"}},
		{"another name", times(4, mm) + relu, times(4, mm) + "aten::leaky\n\tkernel: elementwise_relu 10000\n", verdict.Inconclusive, []string{"aten::relu (only base)", "aten::leaky (only new)", "--match-rules"}},

		{"as much in less time", times(4, mm) + relu, strings.ReplaceAll(times(4, mm)+relu, "100000", "80000"), verdict.Improvement, []string{"faster: device time"}},
		{"below what matters", times(400, mm) + "aten::to\n\tcopy: Memcpy DtoH 1000\n", strings.ReplaceAll(times(400, mm), "100000", "80000"), verdict.Improvement, nil},
		{"another kernel took over", times(4, conv), times(4, "aten::conv\n\tkernel: cudnn_fprop 20000\n"), verdict.Improvement, nil},
		{"the call moved below another operator", times(4, mm+relu), times(4, strings.ReplaceAll(mm, "100000", "80000")+"aten::wrapped\n\taten::relu\n\t\tkernel: elementwise_relu 30000\n"), verdict.Improvement, nil},
		{"a compiler melts", times(4, "aten::mm\n\tkernel: sgemm 100000\naten::add\n\tkernel: elementwise 50000\naten::mul\n\tkernel: elementwise 50000\n"), times(4, melted), verdict.Improvement, nil},
		{"a graph's replay in less time", times(4, mm+relu), times(4, "replay: sgemm_128 90000\nreplay: elementwise_relu 30000\n"), verdict.Improvement, nil},

		{"all under other names", times(4, mm+relu), strings.NewReplacer("aten::mm", "zz::a", "aten::relu", "zz::b").Replace(times(4, mm+relu)), verdict.Inconclusive,
			[]string{"most of the device time has no counterpart", "aten::mm (only base)", "zz::a (only new)", "--match-rules"}},
		{"and in less time", times(4, mm), strings.NewReplacer("aten::mm", "zz::a", "100000", "80000").Replace(times(4, mm)), verdict.Inconclusive, []string{"less time, but for less work", "zz::a (only new)"}},
		{"a little under another name", times(4, mm) + relu, times(4, mm) + strings.Replace(relu, "aten::relu", "zz::b", 1), verdict.Pass, []string{"zz::b (only new)"}},

		{"more work", times(4, mm), times(4, mm) + relu, verdict.Regression, []string{"slower: device time", "the new runs do more: aten::relu (only new), which is 11.1 % of their device time"}},
		{"more calls", times(4, mm), times(6, mm), verdict.Regression, []string{"aten::mm (4 > 6 calls), which is 33.3 % of their"}},
		{"slower though less", times(4, mm) + relu, strings.ReplaceAll(times(4, mm), "100000", "180000"), verdict.Regression, []string{"slower: device time", "the new runs do less: aten::relu (only base)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for n := 1; n <= 3; n += 2 {
				var in [2][]Input
				for range n {
					in[Base] = append(in[Base], program(t, c.base))
					in[New] = append(in[New], program(t, c.now))
				}
				r := Run(in[Base], in[New], Options{})
				for _, s := range c.why {
					if !strings.Contains(r.Why, s) {
						t.Errorf("%d runs: %s\nhas no %q", n, r.Why, s)
					}
				}
				if r.Verdict != c.want {
					t.Errorf("%d runs: %s: %s; want %s", n, r.Verdict, r.Why, c.want)
				}
				res := r.Result()
				if better := len(res.Better) > 0; c.want == verdict.Inconclusive && better || c.want == verdict.Improvement && !better {
					t.Errorf("%d runs: better: %q", n, res.Better)
				}
				res.Decide()
				if res.Verdict != c.want {
					t.Errorf("%d runs: a gate makes %s of it", n, res.Verdict)
				}
			}
		})
	}
}

// TestLessOfOneOperator: an operator below what matters of the whole is not faster for
// fewer calls, while the rest may be.
func TestLessOfOneOperator(t *testing.T) {
	runs := func(mmNS, relus int) (in []Input) {
		for range 3 {
			in = append(in, program(t, times(100, fmt.Sprintf("aten::mm\n\tkernel: sgemm %d\n", mmNS))+times(relus, "aten::relu\n\tkernel: relu 1000\n")))
		}
		return in
	}
	base := runs(10_000, 30)
	r := Run(base, runs(10_000, 27), Options{})
	if r.Verdict != verdict.Inconclusive || !strings.Contains(r.Why, "aten::relu (30 > 27 calls)") {
		t.Errorf("%s: %s", r.Verdict, r.Why)
	}
	var b strings.Builder
	if err := r.WriteText(&b, View{}); err != nil || !strings.Contains(b.String(), "faster, of less work") || !strings.Contains(b.String(), "less in new: aten::relu, 30 > 27 calls") {
		t.Errorf("%v:\n%s", err, b.String())
	}
	if r := Run(runs(10_000, 27), base, Options{}); r.Verdict != verdict.Regression || !strings.Contains(r.Why, "the new runs do more: aten::relu (27 > 30 calls)") {
		t.Errorf("the other way round: %s: %s", r.Verdict, r.Why)
	}
	if r := Run(base, runs(8_000, 27), Options{}); r.Verdict != verdict.Improvement || strings.Contains(r.Why, "relu") {
		t.Errorf("with the rest faster: %s: %s", r.Verdict, r.Why)
	}
}

// TestSameWorkOfUnequalRuns: means of numbers of runs that differ are the same.
func TestSameWorkOfUnequalRuns(t *testing.T) {
	run := program(t, times(10, mm)+times(7, conv)+times(3, "orphan: gemm_b 1000\n"))
	for n := 1; n <= 7; n++ {
		var base []Input
		for range n {
			base = append(base, run)
		}
		if r := Run(base, []Input{run}, Options{}); len(r.Less)+len(r.More) > 0 {
			t.Errorf("%d v 1 runs: %v, %v", n, r.Less, r.More)
		}
		if r := Run([]Input{run, run, run}, base, Options{}); len(r.Less)+len(r.More) > 0 {
			t.Errorf("3 v %d runs: %v, %v", n, r.Less, r.More)
		}
	}
}

// TestTimesThatAreNone: durations of nothing, or of more than can be, are not compared.
func TestTimesThatAreNone(t *testing.T) {
	some := program(t, mm)
	for _, c := range []struct{ program, why string }{
		{"aten::mm\n\tkernel: sgemm_128 0\n", "takes no time at all"},
		{times(9, "aten::mm\n\tkernel: sgemm_128 8000000000000000000\n"), "cannot be"},
	} {
		in := program(t, c.program)
		for _, r := range []*Report{Run([]Input{in}, []Input{in}, Options{}), Run([]Input{some}, []Input{some, in}, Options{})} {
			if r.Verdict != verdict.Incomparable || !strings.Contains(r.Why, c.why) {
				t.Errorf("%s: %s; want %s", r.Verdict, r.Why, c.why)
			}
		}
	}
}

// TestOtherDevices: devices of one vendor that differ are told.
func TestOtherDevices(t *testing.T) {
	on := func(names ...string) Input {
		in := program(t, mm)
		for _, name := range names {
			in.Trace.Devices = append(in.Trace.Devices, timeline.Device{Name: name})
		}
		return in
	}
	for _, c := range []struct {
		base, now Input
		note      bool
	}{{on("H200"), on("A100"), true}, {on("H200"), on("H200"), false}, {on("H200"), on("H200", "A100"), true}, {on(), on("A100"), false}} {
		if r := Run([]Input{c.base}, []Input{c.now}, Options{}); strings.Contains(strings.Join(r.Notes, " "), "the devices differ") != c.note {
			t.Errorf("%q", r.Notes)
		}
	}
}

// TestUnequalRuns: two runs against one are held against it as a single run is, and the
// report says so.
func TestUnequalRuns(t *testing.T) {
	two, one := stepRuns(t, 2, 1, 1), stepRuns(t, 1, 1.3, 1)
	for _, c := range []struct {
		base, now []Input
		want      verdict.Verdict
		note      string
	}{
		{two, one, verdict.Regression, "2 v 1 runs"},
		{one, two, verdict.Improvement, "1 v 2 runs"},
		{two, stepRuns(t, 1, 1.01, 1), verdict.Inconclusive, "2 v 1 runs"},
		{two[:1], []Input{two[0], two[0]}, verdict.Pass, "1 v 2 runs"},
		{two, two, verdict.Pass, ""},
		{two[:1], two[:1], verdict.Pass, ""},
	} {
		r := Run(c.base, c.now, Options{})
		notes := strings.Join(r.Notes, "\n")
		if r.Verdict != c.want || strings.Contains(notes, " v ") != (c.note != "") || !strings.Contains(notes, c.note) {
			t.Errorf("%s: %s\n%s", r.Verdict, r.Why, notes)
		}
		for i := range r.Whole {
			if e := r.Whole[i].Change.Effect; c.note != "" && e != nil && e.P != nil {
				t.Errorf("%s was tested", r.Whole[i].Name)
			}
		}
		if s := r.Result().New; s.Name != c.now[0].Name || (s.Runs > 1) != (len(c.now) > 1) {
			t.Errorf("the new side is %+v", s)
		}
	}
}

// TestDurationsThatAreNone: of device work with a negative duration, or without one,
// the time is not known; elsewhere such durations say nothing of it.
func TestDurationsThatAreNone(t *testing.T) {
	const kernels = `{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":20,"dur":9,"args":{}},{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":9`
	const op = `{"ph":"X","cat":"cpu_op","name":"o","pid":1,"tid":1,"ts":1,"dur":-2}`
	for _, c := range []struct{ name, events, why string }{
		{"all are there", kernels + `,"dur":9}`, ""},
		{"negative", kernels + `,"dur":-9}`, "has device work with a negative duration, or without one: the first is at byte "},
		{"missing", kernels + `}`, "with a negative duration, or without one"},
		{"of an operator", op + "," + kernels + `,"dur":9}`, ""},
		{"behind many", strings.Repeat(op+",", 20000) + kernels + `,"dur":-9}`, "durations that are negative or missing"},
		{"cut off", kernels + `,"du`, "cannot be read whole: it is truncated"},
	} {
		text := `{"traceEvents":[` + c.events
		if c.name != "cut off" {
			text += "]}"
		}
		doc, err := chrome.Read(strings.NewReader(text), chrome.ReadOptions{DropArgs: true})
		if err != nil {
			t.Fatal(err)
		}
		in := FromDocument(doc)
		r := Run([]Input{in}, []Input{in}, Options{})
		if want := c.why != ""; want != (r.Verdict == verdict.Incomparable) || !strings.Contains(r.Why, c.why) {
			t.Errorf("%s: %s: %s; want %q", c.name, r.Verdict, r.Why, c.why)
		}
	}
}
