package chrome

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strings"
	"testing"
	"testing/iotest"
)

// collector notes everything a scan hands out.
type collector struct {
	members []string
	events  []string
	offsets []int64
}

func (c *collector) Member(key string, v Value) error {
	c.members = append(c.members, key+"="+string(v))
	return nil
}

func (c *collector) Event(e *Event) error {
	c.events = append(c.events, string(e.Raw))
	c.offsets = append(c.offsets, e.Offset)
	return nil
}

func TestScanForms(t *testing.T) {
	const ev = `{"ph": "X", "name": "a\"}b", "args": {"x": [1, {"y": "]"}]}, "ts": 1.5}`
	for _, c := range []struct {
		name, in, members, events string
		err                       error
	}{
		{"object", `{"a": 1, "traceEvents": [` + ev + `], "b": {"c": [1, 2]}}`, `a=1|b={"c": [1, 2]}`, ev, nil},
		{"array", "[\n" + ev + "\n,\n" + ev + "]\n", "", ev + "|" + ev, nil},
		{"byte order mark", "\xef\xbb\xbf[" + ev + "]", "", ev, nil},
		{"no events", `{"traceEvents": []}`, "", "", nil},
		{"empty object", ` {} `, "", "", nil},
		{"events that are no list", `{"traceEvents": {"a": 1}}`, `traceEvents={"a": 1}`, "", nil},
		{"comma before the end", `[` + ev + `, ]`, "", ev, nil},
		{"empty event", `[{}]`, "", "{}", nil},
		{"Python's numbers", `[{"dur": NaN, "ts": -Infinity}]`, "", `{"dur": NaN, "ts": -Infinity}`, nil},
		{"list left open", `[` + ev + `,`, "", ev, ErrTruncated},
		{"nothing", "", "", "", ErrTruncated},
		{"not a trace", "hello", "", "", ErrSyntax},
		{"two documents", `[] []`, "", "", ErrSyntax},
		{"event that is none", `[1]`, "", "", ErrSyntax},
		{"no comma", `[` + ev + ev + `]`, "", ev, ErrSyntax},
		{"bad word", `{"a": trze}`, "", "", ErrSyntax},
		{"deep", `{"a": ` + strings.Repeat("[", 1000), "", "", ErrSyntax},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, r := range map[string]io.Reader{"whole": strings.NewReader(c.in), "bytewise": iotest.OneByteReader(strings.NewReader(c.in))} {
				var got collector
				err := Scan(r, &got)
				if !errors.Is(err, c.err) {
					t.Errorf("%s: error %v, want %v", name, err, c.err)
				}
				if m := strings.Join(got.members, "|"); m != c.members {
					t.Errorf("%s: members %s, want %s", name, m, c.members)
				}
				if e := strings.Join(got.events, "|"); e != c.events {
					t.Errorf("%s: events %s, want %s", name, e, c.events)
				}
				for i, off := range got.offsets {
					if !strings.HasPrefix(strings.TrimPrefix(c.in[off:], ""), got.events[i]) {
						t.Errorf("%s: event %d is not at byte %d", name, i, off)
					}
				}
			}
		})
	}
}

func TestScanErrorNamesOffset(t *testing.T) {
	err := Scan(strings.NewReader(`{"traceEvents": [{"a": 1}, {"b" 2}]}`), &collector{})
	if err == nil || !strings.Contains(err.Error(), "byte 32") {
		t.Errorf("error %v does not name byte 32", err)
	}
	stop := errors.New("enough")
	err = Scan(strings.NewReader(`[{"a": 1}]`), failing{stop})
	if !errors.Is(err, stop) || !strings.Contains(err.Error(), "byte 1") {
		t.Errorf("error %v does not wrap the handler's with its place", err)
	}
}

type failing struct{ error }

func (f failing) Member(string, Value) error { return f.error }
func (f failing) Event(*Event) error         { return f.error }

// TestScanTruncated cuts a document everywhere: an error, and every event before
// the cut is handed out.
func TestScanTruncated(t *testing.T) {
	doc := bytes.TrimRight(renderTrace(t, tinyTrace(), Options{}), "\n")
	var all collector
	if err := Scan(bytes.NewReader(doc), &all); err != nil {
		t.Fatal(err)
	}
	for n := range doc {
		var got collector
		err := Scan(bytes.NewReader(doc[:n]), &got)
		if !errors.Is(err, ErrTruncated) {
			t.Fatalf("%d bytes: error %v", n, err)
		}
		complete := 0
		for i, off := range all.offsets {
			if int(off)+len(all.events[i]) <= n {
				complete++
			}
		}
		if len(got.events) != complete {
			t.Fatalf("%d bytes: %d events, want %d", n, len(got.events), complete)
		}
	}
}

func TestScanTruncatedGzip(t *testing.T) {
	doc := renderTrace(t, tinyTrace(), Options{Gzip: true})
	if err := Scan(bytes.NewReader(doc), &collector{}); err != nil {
		t.Fatal(err)
	}
	for n := range doc {
		if err := Scan(bytes.NewReader(doc[:n]), &collector{}); err == nil {
			t.Fatalf("%d of %d bytes: no error", n, len(doc))
		}
	}
}

func TestScanLargerThanBuffer(t *testing.T) {
	big := `{"name": "` + strings.Repeat("x", 9*scanBuffer) + `"}`
	var got collector
	if err := Scan(strings.NewReader(`{"m": `+big+`, "traceEvents": [{}, `+big+`, {"ts": 1}]}`), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.events) != 3 || got.events[1] != big || got.members[0] != "m="+big {
		t.Error("a value larger than the buffer came out changed")
	}
}

func TestNanoseconds(t *testing.T) {
	for in, want := range map[string]int64{
		"0": 0, "1": 1000, "1.5": 1500, "5099078554644.602": 5099078554644602, `"1600000.001"`: 1600000001,
		"9007199254740993.125": 9007199254740993125, "-1.5": -1500, "0.0004": 0, "0.0005": 1, "1.0009999": 1001,
		"1e3": 1000000, "1.5E-3": 2, "0.00000000000000000000001": 0, "123e-2": 1230, "5e-4": 1, "4e-4": 0,
		"9223372036854775.807": math.MaxInt64, "0e900": 0, "00012.5": 12500, "1.": 1000, ".5": 500,
	} {
		if got, err := Value(in).Nanoseconds(); err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", "x", "1x", "1.2.3", "NaN", "9223372036854775.808", "1e300", "--1", "1e", `""`, "null", "1e5000"} {
		if got, err := Value(in).Nanoseconds(); !errors.Is(err, ErrTime) {
			t.Errorf("%q: %d, %v; want ErrTime", in, got, err)
		}
	}
}

func FuzzNanoseconds(f *testing.F) {
	for _, s := range []string{"1.5", "9223372036854775.807", "1e-3", "0.0005", "-12.3456"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := parseMicros([]byte(s))
		if err != nil || !strictScalar([]byte(s)) {
			return
		}
		exact, ok := new(big.Rat).SetString(s)
		if !ok {
			return
		}
		exact.Mul(exact, big.NewRat(1000, 1)).Sub(exact, new(big.Rat).SetInt64(got))
		if exact.Abs(exact).Cmp(big.NewRat(1, 2)) > 0 {
			t.Errorf("%s: %d is off by %s", s, got, exact.FloatString(6))
		}
	})
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		`"plain"`: "plain", `"a\n\t\"\\\/b"`: "a\n\t\"\\/b", `"\u0041\u77e9"`: "A矩", `"\ud83d\ude00"`: "😀",
		`"\ud83d"`: "\uFFFD", `"\ud83dx"`: "\uFFFDx", `"\ud83d\u0041"`: "\uFFFDA", `"\q"`: `\q`, `"\u12"`: `\u12`, `12`: "12", `""`: "",
	} {
		if got := string(Value(in).Text(nil)); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

func TestMembers(t *testing.T) {
	for _, c := range []struct {
		in, want string
		broken   bool
	}{
		{`"a": 1, "b": [1, "x"]`, `a=1|b=[1, "x"]`, false},
		{`{"a": 1,"b": {"c": 2}}`, `a=1|b={"c": 2}`, false},
		{``, ``, false},
		{`{}`, ``, false},
		{`"a": 12`, `a=12`, false},
		{`"a" 12`, ``, true},
		{`"a": 1 "b": 2`, `a=1`, true},
		{`"a": "x`, ``, true},
		{`"a": {"b`, ``, true},
	} {
		var got []string
		m := WalkMembers([]byte(c.in))
		for m.Next() {
			got = append(got, fmt.Sprintf("%s=%s", m.Key, m.Value))
			if s := c.in[m.Start:m.End]; !strings.HasPrefix(s, `"`) || !strings.HasSuffix(s, string(m.Value)) {
				t.Errorf("%s: member delimited as %q", c.in, s)
			}
		}
		if s := strings.Join(got, "|"); s != c.want || m.Broken() != c.broken {
			t.Errorf("%s: %s, broken %v", c.in, s, m.Broken())
		}
	}
}

// FuzzScan: no input makes it panic, and strict JSON documents are accepted.
func FuzzScan(f *testing.F) {
	f.Add([]byte(`{"a": 1, "traceEvents": [{"ph": "X", "name": "a\"", "ts": "1.5", "args": {"x": [1]}}]}`))
	f.Add([]byte("[{\"ph\": \"B\"},\n]"))
	f.Add([]byte("\x1f\x8b\x08"))
	f.Add([]byte("\xef\xbb\xbf[]"))
	f.Fuzz(func(t *testing.T, in []byte) {
		var got collector
		err := Scan(bytes.NewReader(in), &got)
		var doc struct{ TraceEvents []map[string]any }
		if err != nil && json.Unmarshal(in, &doc) == nil && bytes.HasPrefix(bytes.TrimSpace(in), []byte("{")) && shallow(in) {
			// Elements that are null unmarshal into a nil map.
			for _, e := range doc.TraceEvents {
				if e == nil {
					return
				}
			}
			t.Errorf("strict JSON refused: %v", err)
		}
		for _, e := range got.events {
			Value(e).Text(nil)
			for m := WalkMembers([]byte(e)); m.Next(); {
				m.Value.Int()
				m.Value.Text(nil)
			}
		}
	})
}

func shallow(b []byte) bool {
	return bytes.Count(b, []byte("["))+bytes.Count(b, []byte("{")) < maxDepth
}

func gunzip(t *testing.T, b []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	z.Multistream(false)
	out, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
