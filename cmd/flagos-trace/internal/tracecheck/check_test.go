package tracecheck

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

const good = `{"schemaVersion": 1, "flagosTrace": {}, "traceEvents": [
{"ph":"M","name":"process_name","pid":1,"tid":0,"ts":0.000,"args":{"name":"python"}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":10.000,"dur":5.500,"args":{"correlation":7}},
{"ph":"s","id":7,"pid":1,"tid":1,"ts":10.000,"cat":"ac2g","name":"ac2g"},
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":20.001,"dur":3.000,"args":{"correlation":7}},
{"ph":"f","id":7,"pid":0,"tid":7,"ts":20.001,"cat":"ac2g","name":"ac2g","bp":"e"},
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":23.001,"dur":0.000,"args":{}},
{"ph":"X","cat":"Trace","name":"window","pid":"Spans","tid":"p","ts":9.000,"dur":20.000}
], "traceName": "x"}`

func TestGood(t *testing.T) {
	r, err := Read(strings.NewReader(good))
	if err != nil || len(r.Findings) != 0 {
		t.Fatalf("%v %v", r.Findings, err)
	}
	if r.Events != 7 || r.Flows != 1 || r.Categories["kernel"] != 2 || r.Categories["cuda_runtime"] != 1 {
		t.Errorf("%+v", r)
	}
}

// TestBroken breaks the good trace in one place each.
func TestBroken(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"no phase", `{"ph":"M",`, `{`, "event 0: it has no ph"},
		{"phase is a number", `{"ph":"M",`, `{"ph":1,`, "event 0: it has no ph"},
		{"no name", `"name":"cudaLaunchKernel",`, ``, "event 1: a span without name"},
		{"no cat", `"cat":"cuda_runtime",`, ``, "event 1: a span without cat"},
		{"no ts", `"ts":10.000,"dur"`, `"dur"`, "event 1: a span's ts"},
		{"ts is text", `"ts":10.000,"dur"`, `"ts":"10","dur"`, "event 1: a span's ts"},
		{"no dur", `"dur":5.500,`, ``, "event 1: a span's dur"},
		{"negative", `"dur":5.500`, `"dur":-5.500`, "event 1: a span's dur is -5.500"},
		{"too far", `"dur":5.500`, `"dur":99999999999999999999`, "out of range"},
		{"no tid", `"tid":1,"ts":10.000,"dur"`, `"ts":10.000,"dur"`, "event 1: a span without tid"},
		{"args", `"args":{}`, `"args":[]`, "event 5: its args are not an object"},
		{"twice in args", `"args":{}`, `"args":{"a":1,"b":2,"a":1}`, `event 5: it names "a" twice in args`},
		{"twice in event", `"args":{}`, `"args":{},"ph":"X"`, `event 5: it names "ph" twice`},
		{"twice, escaped", `"args":{}`, `"args":{"\u0061":1,"a":1}`, `event 5: it names "a" twice in args`},
		{"twice deep in event", `"args":{}`, `"args":{"a":[{"x":"a"},[1,{"k":"}]","j":{},"k":{}}]],"x":1}`, `event 5: it names "k" twice in args.a[1][1]`},
		{"twice after an object", `"args":{}`, `"args":{"o":{"a":{"b":1}},"o":1}`, `event 5: it names "o" twice in args`},
		{"twice in a member", `"traceName"`, `"deviceProperties":[{"id":0,"name":"a\"b"},{"id":1,"id":2}],"traceName"`, `deviceProperties[1] names "id" twice`},
		{"twice deep in a member", `"traceName"`, `"m":{"a":{"b":{"c":1,"c":1}}},"traceName"`, `m.a.b names "c" twice`},
		{"no binding", `,"bp":"e"`, ``, `event 4: an arrow's end without "bp": "e"`},
		{"other binding", `"bp":"e"`, `"bp":"x"`, `event 4: an arrow's end without "bp": "e"`},
		{"window begins late", `"ts":9.000,"dur":20.000`, `"ts":10.001,"dur":20.000`, "event 1: it begins before the recorded window, event 6"},
		{"window ends early", `"ts":9.000,"dur":20.000`, `"ts":9.000,"dur":14.000`, "event 3: it ends after the recorded window, event 6"},
		{"two decimals", `"ts":10.000,"dur":5.500`, `"ts":10.00,"dur":5.500`, "event 1: its ts is 10.00, which"},
		{"four decimals", `"dur":5.500`, `"dur":5.5000`, "event 1: its dur is 5.5000, which"},
		{"no decimals", `"dur":5.500`, `"dur":5`, "event 1: its dur is 5, which"},
		{"exponent", `"dur":5.500`, `"dur":0.5e1`, "event 1: its dur is 0.5e1, which"},
		{"no decimals in metadata", `"ts":0.000,"args":{"name"`, `"ts":0,"args":{"name"`, "event 0: its ts is 0, which"},
		{"twice in document", `"traceName"`, `"schemaVersion"`, `names "schemaVersion" twice`},
		{"overlap", `"ts":23.001,"dur":0.000`, `"ts":23.000,"dur":5.000`, "event 5: it overlaps event 3 on row pid 0 tid 7"},
		{"no end", `"ph":"f","id":7`, `"ph":"f","id":8`, "event 2: its arrow has 1 beginnings and 0 ends"},
		{"no beginning", `"ph":"f","id":7`, `"ph":"f","id":8`, "event 4: its arrow has 0 beginnings and 1 ends"},
		{"two beginnings", `"ph":"f"`, `"ph":"s"`, "event 2: its arrow has 2 beginnings and 0 ends"},
		{"no id", `"ph":"s","id":7`, `"ph":"s"`, "event 2: an arrow without id"},
		{"floating arrow", `"tid":7,"ts":20.001,"cat"`, `"tid":7,"ts":19.999,"cat"`, "event 4: its arrow is on no span"},
		{"arrow past a span", `"tid":1,"ts":10.000,"cat"`, `"tid":1,"ts":15.501,"cat"`, "event 2: its arrow is on no span"},
		{"not an object", `{"ph":"M","name":"process_name","pid":1,"tid":0,"ts":0.000,"args":{"name":"python"}}`, `3`, "event 0: it is not an object"},
		{"metadata", `"args":{"name":"python"}`, `"x":0`, "event 0: metadata without name or args"},
		{"UTF-8", `"name":"k"`, "\"name\":\"\xff\"", "event 3: it is not UTF-8"},
		{"UTF-8 outside", `"traceName": "x"`, "\"traceName\": \"\xff\"", `"traceName" is not UTF-8`},
		{"no events", `"traceEvents"`, `"events"`, "no traceEvents"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(good, c.old, c.new, 1)
			if text == good {
				t.Fatal("nothing was broken")
			}
			r, err := Read(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range r.Findings {
				if strings.Contains(f.String(), c.want) {
					return
				}
			}
			t.Errorf("found %v, want %q", r.Findings, c.want)
		})
	}
}

func TestNotJSON(t *testing.T) {
	for _, c := range []struct{ name, text string }{
		{"empty", ""},
		{"cut", good[:len(good)/2]},
		{"cut at the end", good[:len(good)-1]},
		{"comma", strings.Replace(good, `"dur":20.000}`, `"dur":20.000},`, 1)},
		{"NaN", strings.Replace(good, `"dur":0.000`, `"dur":NaN`, 1)},
		{"leading zero", strings.Replace(good, `"dur":0.000`, `"dur":00`, 1)},
		{"control character", strings.Replace(good, `"name":"k"`, "\"name\":\"\x01\"", 1)},
		{"events are no array", `{"traceEvents": {}}`},
		{"garbage behind", good + "}"},
	} {
		if _, err := Read(strings.NewReader(c.text)); !errors.Is(err, ErrNotJSON) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	r, err := Read(strings.NewReader(good + good))
	if err != nil || len(r.Findings) == 0 {
		t.Errorf("two documents: %v %v", r.Findings, err)
	}
	if r, err = Read(strings.NewReader("[]")); err != nil || len(r.Findings) != 1 {
		t.Errorf("an array: %v %v", r.Findings, err)
	}
}

// TestForeign: what other tools write need not be written to the nanosecond.
func TestForeign(t *testing.T) {
	text := strings.NewReplacer(`"flagosTrace": {}, `, ``, `20.000`, `20`, `5.500`, `5.5`).Replace(good)
	r, err := Read(strings.NewReader(text))
	if err != nil || len(r.Findings) != 0 {
		t.Errorf("%v %v", r.Findings, err)
	}
}

// TestManyKeys: an object with many keys is checked as one with few, each key
// that is there again is found, and the walk's memory of one text does not reach
// into the next.
func TestManyKeys(t *testing.T) {
	var b strings.Builder
	for i := range 3 * manyKeys {
		fmt.Fprintf(&b, `"k%d":{"k":[%d]},`, i, i)
	}
	text := `{` + b.String() + `"k3":1,"k90":{},"new":[],"new":0}`
	var w keyWalk
	for range 2 {
		var got []string
		w.walk([]byte(text), func(key []byte, place string) { got = append(got, string(key)+place) })
		if strings.Join(got, " ") != "k3 k90 new" {
			t.Errorf("found %v", got)
		}
	}
	w.walk([]byte(` [1, "a", "a", {"a": "a"}, {"a": "\\"}, null] `), func(key []byte, place string) {
		t.Errorf("found %s at %s", key, place)
	})
}

func TestManyFindings(t *testing.T) {
	r, err := Read(strings.NewReader(`{"traceEvents":[` + strings.Repeat("{},", 99) + `{}]}`))
	if err != nil || len(r.Findings) != MaxFindings || r.More != 100-MaxFindings {
		t.Errorf("%d findings, %d more, %v", len(r.Findings), r.More, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(good)
	f.Add(`{"traceEvents":[{"ph":"X","ts":1e300,"dur":-0,"pid":"a","tid":[]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Read(strings.NewReader(text))
		if r == nil {
			t.Fatal("no report")
		}
		if err != nil && !errors.Is(err, ErrNotJSON) {
			t.Errorf("an error that is not about the text: %v", err)
		}
	})
}
