package compare

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flagos-ai/flagos-trace/baseline/verdict"
	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/internal/testrig"
	"github.com/flagos-ai/flagos-trace/timeline"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// step is a program of two steps whose times vary with i, in hundredths.
func step(i int, mm, relu float64) string {
	v := func(ns, factor float64) int { return int(ns * factor * (1 + float64(i*7%5-2)/1000)) }
	var b strings.Builder
	for n := range 2 {
		fmt.Fprintf(&b, "step: %d\n\tmodule: Linear_0\n\t\taten::linear\n\t\t\taten::mm\n\t\t\t\tkernel: sgemm_128 %d\n", n+i, v(500_000, mm))
		fmt.Fprintf(&b, "\tnote: activation\n\t\taten::relu\n\t\t\tkernel: elementwise_relu %d\n\t\taten::to\n\t\t\tcopy: Memcpy DtoH (Device -> Pinned) %d\n", v(100_000, relu), v(3000, 1))
	}
	return b.String()
}

func stepRuns(t *testing.T, n int, mm, relu float64) (in []Input) {
	for i := range n {
		p := program(t, step(i, mm, relu))
		p.Name = fmt.Sprintf("run%d.json", i)
		in = append(in, p)
	}
	return in
}

func TestVerdicts(t *testing.T) {
	incomplete := stepRuns(t, 1, 1, 1)[0]
	incomplete.Trace.Completeness = &timeline.Completeness{Verdict: timeline.Incomplete, Missing: []string{"buffers"}}
	cut := stepRuns(t, 1, 1, 1)[0]
	cut.Lost = "the text ends inside an event"
	idle := program(t, "step: 1\n\ta")
	longer := program(t, step(0, 1, 1)+step(9, 1, 1))
	for _, c := range []struct {
		name      string
		base, now []Input
		o         Options
		want      verdict.Verdict
		why       string
	}{
		{"a run against itself", stepRuns(t, 1, 1, 1), stepRuns(t, 1, 1, 1), Options{}, verdict.Pass, "equal"},
		{"below the noise floor", stepRuns(t, 1, 1, 1), stepRuns(t, 1, 1.03, 1), Options{}, verdict.Inconclusive, "several runs"},
		{"above it", stepRuns(t, 1, 1, 1), stepRuns(t, 1, 1.2, 1), Options{}, verdict.Regression, "device time +16."},
		{"one run against several", stepRuns(t, 1, 1, 1), stepRuns(t, 5, 1.02, 1.02), Options{}, verdict.Inconclusive, "several runs"},
		{"faster", stepRuns(t, 1, 1, 1), stepRuns(t, 1, 0.8, 1), Options{}, verdict.Improvement, "device time -16."},
		{"no change over runs", stepRuns(t, 5, 1, 1), stepRuns(t, 5, 1, 1), Options{}, verdict.Pass, "2 %"},
		{"a change that does not matter", stepRuns(t, 5, 1, 1), stepRuns(t, 5, 1.01, 1.01), Options{}, verdict.Pass, "2 %"},
		{"unless it does", stepRuns(t, 5, 1, 1), stepRuns(t, 5, 1.01, 1.01), Options{MinEffect: 0.005}, verdict.Regression, "device time +1.0"},
		{"one operator that is slower", stepRuns(t, 5, 1, 1), stepRuns(t, 5, 1, 1.05), Options{}, verdict.Regression, "slower: aten::relu +5.0 %"},
		{"one slower, another faster", stepRuns(t, 5, 1, 1), stepRuns(t, 5, 0.9, 1.05), Options{}, verdict.Regression, "aten::relu"},
		{"all faster", stepRuns(t, 5, 1, 1), stepRuns(t, 5, 0.9, 0.9), Options{}, verdict.Improvement, "device time -"},
		{"an incomplete trace", stepRuns(t, 2, 1, 1), []Input{incomplete}, Options{}, verdict.Incomparable, "incomplete by its own record: buffers"},
		{"a cut file", []Input{cut}, stepRuns(t, 2, 1, 1), Options{}, verdict.Incomparable, "ends inside an event"},
		{"no device work", stepRuns(t, 2, 1, 1), []Input{idle}, Options{}, verdict.Incomparable, "no device work"},
		{"other numbers of steps", stepRuns(t, 2, 1, 1), []Input{longer}, Options{}, verdict.Incomparable, "numbers of steps"},
		{"no run", nil, stepRuns(t, 1, 1, 1), Options{}, verdict.Incomparable, "no run"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := Run(c.base, c.now, c.o)
			if r.Verdict != c.want || !strings.Contains(r.Why, c.why) {
				t.Errorf("%s: %s; want %s: ...%s...", r.Verdict, r.Why, c.want, c.why)
			}
			// What a gate makes of it is the same.
			res := r.Result()
			again := *res
			if err := again.Judge(nil, time.Now()); err != nil || res.Verdict != r.Verdict || again.Verdict != r.Verdict {
				t.Errorf("as a result: %s, judged again: %s, %v", res.Verdict, again.Verdict, err)
			}
			for _, write := range []func(*bytes.Buffer) error{
				func(b *bytes.Buffer) error { return r.WriteText(b, View{By: Tables, Wide: true}) },
				func(b *bytes.Buffer) error { return r.WriteMarkdown(b, View{By: Tables, Wide: true}) },
				func(b *bytes.Buffer) error { return r.WriteJSON(b) },
			} {
				var b bytes.Buffer
				if err := write(&b); err != nil || b.Len() == 0 {
					t.Errorf("%d bytes written, %v", b.Len(), err)
				}
			}
		})
	}
}

// TestUnsure: runs that vary more than what matters are no pass.
func TestUnsure(t *testing.T) {
	var base, now []Input
	for i := range 3 {
		base = append(base, program(t, step(0, 1+0.1*float64(i), 1)))
		now = append(now, program(t, step(0, 1.2-0.1*float64(i), 1)))
	}
	if r := Run(base, now, Options{}); r.Verdict != verdict.Inconclusive {
		t.Errorf("%s: %s", r.Verdict, r.Why)
	}
}

// TestGoldens keeps what is printed.
func TestGoldens(t *testing.T) {
	base, now := stepRuns(t, 5, 1, 1), stepRuns(t, 5, 1, 1.05)
	now[0].Producer.Vendor = ""
	extra := func(i int) string {
		return step(i, 1, 1.05) + "aten::new | op\n\tkernel: <b>odd</b> 9000\norphan: orphan_gemm 7000\n"
	}
	for i := range now {
		now[i] = program(t, extra(i))
		now[i].Name = fmt.Sprintf("new%d.json", i)
	}
	r := Run(base, now, Options{})
	checkTables(t, r, [2][]Input{base, now})
	for name, write := range map[string]func(*bytes.Buffer) error{
		"text":      func(b *bytes.Buffer) error { return r.WriteText(b, View{}) },
		"wide.text": func(b *bytes.Buffer) error { return r.WriteText(b, View{By: Tables, Wide: true, Top: 3}) },
		"md": func(b *bytes.Buffer) error {
			return r.WriteMarkdown(b, View{By: []string{"operator", "module"}, Wide: true})
		},
		"json": func(b *bytes.Buffer) error { return r.WriteJSON(b) },
	} {
		var got bytes.Buffer
		if err := write(&got); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", "perf."+name)
		if *update {
			if err := os.MkdirAll("testdata", 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s is not what is printed; run the test with -update and look at the difference", path)
		}
		if name == "json" && !json.Valid(got.Bytes()) {
			t.Error("the JSON is none")
		}
	}
}

// TestRealRuns divides real traces: each against itself and against another.
func TestRealRuns(t *testing.T) {
	var all []Input
	for _, dir := range []string{"traces/torch-cuda", "traces/public", "traces/pairs"} {
		files, _ := filepath.Glob(filepath.Join(testrig.Shared(t, dir), "*.json.gz"))
		for _, f := range files {
			docs, err := chrome.ReadFile(f, chrome.ReadOptions{DropArgs: true})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, FromDocument(docs[0]))
		}
	}
	for i, in := range all {
		r := Run([]Input{in}, []Input{in}, Options{})
		if r.Verdict != verdict.Pass && r.Verdict != verdict.Incomparable {
			t.Errorf("%s against itself: %s: %s", in.Name, r.Verdict, r.Why)
		}
		if len(r.OneSided) > 0 || r.Matched.Met != r.Matched.Total {
			t.Errorf("%s against itself: %d groups of one side", in.Name, len(r.OneSided))
		}
		other := all[(i+1)%len(all)]
		checkTables(t, Run([]Input{in}, []Input{other, in}, Options{}), [2][]Input{{in}, {other, in}})
	}
}
