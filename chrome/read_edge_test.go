package chrome

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/internal/canon"
	"github.com/flagos-ai/flagos-trace/internal/hostile"
	"github.com/flagos-ai/flagos-trace/internal/testrig"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// spans lists what a timeline shows, briefly: row, name, start and end in ns.
func spans(t *timeline.Trace) string {
	var out []string
	for i := range uint32(t.Events.Len()) {
		e, r := t.Events.At(i), t.Rows[t.Events.At(i).Row]
		s := fmt.Sprintf("%d/%d %s", r.PID, r.TID, t.Strings.At(e.Name))
		if e.Flags&timeline.Instant != 0 {
			s += fmt.Sprintf(" @%d", e.Start)
		} else if p := t.Source.Events.At(i).Phase; p != 0 {
			s += fmt.Sprintf(" %c%d", p, e.Start)
		} else {
			s += fmt.Sprintf(" %d-%d", e.Start, e.End)
		}
		if e.Flags&timeline.Unfinished != 0 {
			s += "!"
		}
		out = append(out, s)
	}
	return strings.Join(out, "; ")
}

func rulesOf(d *Document) string {
	var out []string
	for rule, n := range d.FindingCounts {
		out = append(out, fmt.Sprintf("%s:%d", rule, n))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// TestReadEdge: what a careful person would see in each document, and what is to
// be said about it.
func TestReadEdge(t *testing.T) {
	x := func(name string) string {
		return `{"ph":"X","name":"` + name + `","pid":1,"tid":2,"ts":1,"dur":2}`
	}
	tests := []struct {
		name, text, spans, rules string
		args                     string // of the first event
	}{
		{name: "empty list", text: `[]`},
		{name: "empty object", text: `{}`, rules: "no-events:1"},
		{name: "mark", text: "\xef\xbb\xbf[" + x("a") + "]", spans: "1/2 a 1000-3000", rules: "byte-order-mark:1"},
		{name: "metadata behind", text: `{"traceEvents":[` + x("a") + `],"baseTimeNanoseconds":5000}`, spans: "1/2 a 6000-8000"},
		{name: "trailing comma", text: `[` + x("a") + `,]`, spans: "1/2 a 1000-3000", rules: "comma:1"},
		{name: "no bracket", text: `[` + x("a"), spans: "1/2 a 1000-3000", rules: "unclosed:1"},
		{name: "no bracket, comma", text: `[` + x("a") + ",\n", spans: "1/2 a 1000-3000", rules: "unclosed:1"},
		{name: "no comma", text: `[` + x("a") + "\n" + x("b") + `]`, spans: "1/2 a 1000-3000; 1/2 b 1000-3000", rules: "comma:1"},
		{name: "cut", text: `[` + x("a") + `,{"ph":"X","name":"b","pi`, spans: "1/2 a 1000-3000", rules: "truncated:1 unclosed:1"},
		{name: "cut in metadata", text: `{"traceEvents":[` + x("a") + `],"meta":{"a`, spans: "1/2 a 1000-3000", rules: "truncated:1 unclosed:1"},
		{name: "trailing text", text: `[` + x("a") + `] more`, spans: "1/2 a 1000-3000", rules: "trailing-data:1"},
		{name: "quote", text: `[` + x(`f<"a", "b">`) + `,` + x("b") + `]`, spans: `1/2 f<"a", "b"> 1000-3000; 1/2 b 1000-3000`, rules: "unescaped-quote:1"},
		{name: "quote at the end", text: `[` + x(`operator""`) + `,` + x("b") + `]`, spans: `1/2 operator"" 1000-3000; 1/2 b 1000-3000`, rules: "unescaped-quote:1"},
		{name: "control", text: `[` + x("a\nb\x01") + `]`, spans: "1/2 a\nb\x01 1000-3000", rules: "control-character:1"},
		{name: "utf8", text: `[` + x("a\xff") + `]`, spans: "1/2 a\uFFFD 1000-3000", rules: "bad-utf8:1"},
		{name: "backslash", text: `[` + x(`C:\dir\`) + `]`, spans: `1/2 C:\dir\ 1000-3000`, rules: "bad-escape:1"},
		{name: "nan", text: `[{"ph":"X","name":"a","ts":1,"dur":1,"args":{"v":NaN,"w": -Infinity}}]`, spans: "0/0 a 1000-2000", rules: "bad-number:1",
			args: `"v": "NaN", "w": "-Infinity"`},
		{name: "garbage", text: `[` + x("a") + `,{"ph":"X" oops},` + x("b") + `]`, spans: "1/2 a 1000-3000; 1/2 b 1000-3000", rules: "unreadable-event:1"},
		{name: "no events inside", text: `[1,"two",null,` + x("a") + `]`, spans: "1/2 a 1000-3000", rules: "unreadable-event:3"},
		{name: "no phase", text: `[{"name":"a","ts":1}]`, rules: "unknown-phase:1"},
		{name: "no ts", text: `[{"ph":"X","name":"a"}]`, rules: "bad-time:1"},
		{name: "negative", text: `[{"ph":"X","name":"a","ts":5,"dur":-1}]`, spans: "0/0 a 5000-5000", rules: "bad-duration:1"},
		{name: "tdur", text: `[{"ph":"X","name":"a","ts":5,"tdur":2}]`, spans: "0/0 a 5000-7000", rules: "bad-duration:1"},
		{name: "exact", text: `[{"ph":"X","name":"a","ts":9007199254740993.001,"dur":0.001}]`, spans: "0/0 a 9007199254740993001-9007199254740993002"},
		{name: "text times", text: `[{"ph":"X","name":"a","ts":"1704161511420306.491","dur":"0.5","pid":"7","tid":"stream 7"}]`,
			spans: "7/0 a 1704161511420306491-1704161511420306991", rules: "id-as-text:1 time-as-text:2"},
		{name: "rounded", text: `[{"ph":"X","name":"a","ts":1.00049,"dur":1.0006}]`, spans: "0/0 a 1000-2001", rules: "time-rounded:2"},
		{name: "too late", text: `[{"ph":"X","name":"a","ts":99999999999999999,"dur":1}]`, rules: "bad-time:1"},
		{name: "twice", text: `[{"ph":"X","name":"a","ts":1,"dur":1,"name":"b","args":{"k":1,"j":2,"k":3}}]`, spans: "0/0 b 1000-2000", rules: "duplicate-key:2",
			args: `"k":1,"j":2,"k":3`},
		{name: "member twice", text: `{"a":1,"a":2,"traceEvents":[]}`, rules: "duplicate-key:1"},
		{name: "bad member", text: `{"a":"x"y",` + "\n" + `"b":1, "traceEvents":[` + x("a") + `]}`, spans: "1/2 a 1000-3000", rules: "unescaped-quote:1"},
		{name: "begin and end", text: `[{"ph":"B","name":"a","ts":1,"args":{"x":1}},{"ph":"E","ts":3,"args":{"y":2}}]`, spans: "0/0 a 1000-3000", args: `"x":1, "y":2`},
		{name: "ends first", text: `[{"ph":"E","name":"a","ts":3},{"ph":"B","name":"a","ts":1}]`, spans: "0/0 a 1000-3000"},
		{name: "never ended", text: `[{"ph":"B","name":"a","ts":1},` + x("b") + `]`, spans: "0/0 a 1000-3000!; 1/2 b 1000-3000", rules: "begin-no-end:1"},
		{name: "instant", text: `[{"ph":"I","name":"a","ts":1,"s":"g"}]`, spans: "0/0 a @1000"},
		{name: "others", text: `[{"ph":"C","name":"c","ts":1,"args":{"v":1}},{"ph":"b","cat":"q","id":"0x1","name":"d","ts":2},{"ph":"n","cat":"q","id":1,"name":"d","ts":3},` +
			`{"ph":"e","cat":"q","id":1,"name":"d","ts":4},{"ph":"N","id":1,"name":"o","ts":5},{"ph":"O","id":1,"name":"o","ts":6,"args":{}},{"ph":"D","id":1,"name":"o","ts":7}]`,
			spans: "0/0 c C1000; 0/0 d b2000; 0/0 d n3000; 0/0 d e4000; 0/0 o N5000; 0/0 o O6000; 0/0 o D7000", args: `"v":1`},
		{name: "odd phase", text: `[{"ph":"Z","name":"a","ts":1}]`, spans: "0/0 a Z1000", rules: "unknown-phase:1"},
		{name: "arrow without id", text: `[{"ph":"s","name":"a","ts":1}]`, rules: "bad-id:1"},
		{name: "args no object", text: `[{"ph":"X","name":"a","ts":1,"dur":1,"args":[1]}]`, spans: "0/0 a 1000-2000", rules: "bad-args:1"},
	}
	for _, test := range tests {
		for workers := 1; workers <= 2; workers++ {
			d, err := Read(strings.NewReader(test.text), ReadOptions{Workers: workers})
			if err != nil {
				t.Errorf("%s: %v", test.name, err)
				continue
			}
			if got := spans(d.Trace); got != test.spans {
				t.Errorf("%s: shows\n%s\nwant\n%s", test.name, got, test.spans)
			}
			if got := rulesOf(d); got != test.rules {
				t.Errorf("%s: findings %s, want %s: %v", test.name, got, test.rules, d.Findings)
			}
			if test.args != "" && d.Trace.Events.Len() > 0 && string(d.Trace.RawArgs(0)) != test.args {
				t.Errorf("%s: args %s, want %s", test.name, d.Trace.RawArgs(0), test.args)
			}
			out := written(t, d.Trace, Options{})
			canon.Compare(t, test.name, canon.Lines(readText(t, out).Trace), canon.Lines(d.Trace))
		}
	}
}

// TestReadEdgeFiles: the broken traces of other tools' collections.
func TestReadEdgeFiles(t *testing.T) {
	dir := testrig.Shared(t, "traces/public/edge")
	for name, want := range map[string]struct{ spans, rules string }{
		"end-non-top-of-stack":         {"0/0 A 0-10000; 0/0 B 1000-11000!; 0/0 Z 10000-11000", "begin-no-end:1 end-order:1"},
		"mismatched-name":              {"0/0 alpha 0-10000", "end-name:1"},
		"not-enough-end-events":        {"0/0 A 0-11000!; 0/0 A 1000-11000!; 0/0 A 10000-11000", "begin-no-end:2"},
		"out-of-order-unbalanced-name": {"0/0 alpha 0-9000; 0/0 beta 1000-10000", "end-order:1"},
		"simple-partial":               {"0/0 alpha 0-14000; 0/0 beta 1000-13000; 0/0 gamma 2000-7000; 0/0 epsilon 7000-11000", "bad-duration:1 unclosed:1"},
		"simple-partial-trailing-comma": {"0/0 alpha 0-14000; 0/0 beta 1000-13000; 0/0 gamma 2000-7000; 0/0 epsilon 7000-11000",
			"bad-duration:1 unclosed:1"},
		"simple":              {"0/0 alpha 0-14000; 0/0 beta 1000-13000; 0/0 gamma 2000-7000; 0/0 epsilon 7000-11000", "bad-duration:1"},
		"too-many-end-events": {"0/0 alpha 0-14000; 0/0 beta 1000-13000", "end-no-begin:2"},
		"unbalanced-name":     {"0/0 alpha 0-9000; 0/0 beta 1000-10000", "end-order:1"},
		"matching-x":          {"0/0 alpha 0-10000; 0/0 beta 1000-2000; 0/0 gamma 1000-2000; 0/0 gamma 5000-6000; 0/0 beta 5000-6000", ""},
	} {
		docs, err := ReadFile(filepath.Join(dir, name+".json"), ReadOptions{})
		if err != nil {
			t.Error(err)
			continue
		}
		if got := spans(docs[0].Trace); got != want.spans {
			t.Errorf("%s: shows\n%s\nwant\n%s", name, got, want.spans)
		}
		if got := rulesOf(docs[0]); got != want.rules {
			t.Errorf("%s: findings %s, want %s: %v", name, got, want.rules, docs[0].Findings)
		}
	}
}

// TestReadCuts: a document cut anywhere reads as far as it goes, and says that it
// was cut.
func TestReadCuts(t *testing.T) {
	text := plainText(t, "testdata/graph.kineto.json.gz")
	whole := readText(t, text)
	r := rand.New(rand.NewPCG(3, 4))
	open := bytes.Index(text, []byte(`"traceEvents"`)) + 20
	for range 60 {
		n := open + r.IntN(len(text)-open-3)
		d := readText(t, text[:n])
		if d.FindingCounts[RuleUnclosed] != 1 {
			t.Errorf("cut at %d of %d: findings %v", n, len(text), d.FindingCounts)
		}
		// What is there is a beginning of the whole.
		for i := range uint32(d.Trace.Events.Len()) {
			a, b := d.Trace.Events.At(i), whole.Trace.Events.At(i)
			if d.Trace.Strings.At(a.Name) != whole.Trace.Strings.At(b.Name) || a.Start != b.Start || a.End != b.End {
				t.Fatalf("cut at %d: event %d differs", n, i)
			}
		}
	}
}

// TestReadBlocks: the result does not depend on where the text is cut into
// blocks, nor on the number of workers, even where it has to be mended.
func TestReadBlocks(t *testing.T) {
	var doc strings.Builder
	doc.WriteString(`{"schemaVersion": 1, "traceEvents": [`)
	r := rand.New(rand.NewPCG(5, 6))
	for i := range 30_000 {
		switch r.IntN(40) {
		case 0:
			doc.WriteString(`{"ph":"X","name":"q"uote }, {x","cat":"cpu_op","ts":1,"dur":1},`)
		case 1:
			fmt.Fprintf(&doc, `{"ph":"X","name":"%s","ts":1,"dur":1},`, strings.Repeat(`},{\"ph\":\"X\"`, r.IntN(500)))
		case 2:
			doc.WriteString("{broken},\n")
		case 3:
			fmt.Fprintf(&doc, `{"ph":"i","name":"big","ts":%d,"args":{"a":[%s1]}},`, i, strings.Repeat(`{"ph":1},{"ph":2},`, r.IntN(2000)))
		default:
			fmt.Fprintf(&doc, `{"ph":"X","name":"n%d","pid":1,"tid":2,"ts":%d.001,"dur":2.000,"args":{"External id":%d}},`+"\n", r.IntN(50), i, i)
		}
	}
	fmt.Fprintf(&doc, `{"ph":"i","name":"huge","ts":1,"args":{"a":"%s"}}],"traceName":"x"}`, strings.Repeat(`},\n{\"name\":`, 300_000))
	var want []string
	var rules string
	for _, pad := range []int{0, 1, 1000, 99_999, 333_333} {
		for workers := 1; workers <= 2; workers++ {
			d, err := Read(strings.NewReader(strings.Repeat(" ", pad)+doc.String()), ReadOptions{Workers: workers, MaxFindings: 1 << 20})
			if err != nil {
				t.Fatal(err)
			}
			got := canon.Lines(d.Trace)
			for _, f := range d.Findings {
				got = append(got, fmt.Sprint(f.Offset-int64(pad), f.Event, f.Rule))
			}
			if want == nil {
				want, rules = got, rulesOf(d)
				if d.Trace.Events.Len() < 20_000 || d.FindingCounts[RuleLost] == 0 || d.FindingCounts[RuleQuote] == 0 {
					t.Fatalf("%d events, %s", d.Trace.Events.Len(), rules)
				}
			} else if rulesOf(d) != rules {
				t.Fatalf("%d blanks before, %d workers: findings %s, want %s", pad, workers, rulesOf(d), rules)
			}
			canon.Compare(t, fmt.Sprintf("%d blanks before, %d workers", pad, workers), got, want)
		}
	}
}

// TestReadMemory: 10 MB made to be hard to read take less than 200 MB.
func TestReadMemory(t *testing.T) {
	for name, text := range hostile.Documents(testing.Short()) {
		t.Run(name, func(t *testing.T) {
			var err error
			var d *Document
			peak := hostile.Peak(func() { d, err = Read(bytes.NewReader(text), ReadOptions{}) })
			if peak > hostile.Bound {
				t.Errorf("%d MB", peak>>20)
			}
			t.Logf("%d MB, %v %v", peak>>20, err, d != nil)
		})
	}
}

// FuzzRead: no text makes the reader panic, and what it made of it stays the same.
func FuzzRead(f *testing.F) {
	for _, s := range []string{
		`[{"ph":"X","name":"a","ts":1,"dur":2,"pid":1,"tid":"x","args":{"External id":1,"correlation":2}},`,
		`{"schemaVersion":1,"traceEvents":[{"ph":"s","id":1,"ts":1,"cat":"ac2g","name":"ac2g"},{"ph":"M","name":"thread_name","args":{"name":"a"}}],"x":"y"}`,
		`[{"ph":"B","name":"a","ts":1},{"ph":"E","ts":2}]`, `{"a":"b"c","traceEvents":[]}`, `[{"ph":"X","name":"a"b\","ts":"1e3"}]`, "[\xff{}]", "{\"\xfc\":00 ",
		`[{"ph":"X","cat":"kernel","name":"k","ts":1,"dur":1,"args":{"grid":[1,2,3],"block":[1,1,1],"device":0,"stream":7}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := Read(bytes.NewReader(text), ReadOptions{Workers: 1})
		if err != nil {
			return
		}
		// What was read can be written, and reads as the same again.
		again, err := Read(bytes.NewReader(written(t, d.Trace, Options{})), ReadOptions{Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		canon.Compare(t, "again", canon.Lines(again.Trace), canon.Lines(d.Trace))
	})
}
